#include "session/tuning/remembered.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>

#include "base/user_file.h"
#include "base/whole_file.h"
#include "session/tuning/settings_file.h"
#include "symbols/symbolizer.h"

namespace attune::session {
namespace {

namespace fs = std::filesystem;

/// "lmp-5f3a….toml", by the build-id, or where it has none by its path. Empty: there is no such folder or program.
std::string FileOf(const std::string& program) {
  const std::string folder = StateFolder("tuned");
  std::error_code error;
  const fs::path path = fs::canonical(program, error);
  if (folder.empty() || error) return "";
  const auto id = symbols::ReadBuildId(path.string());
  const std::string key = id.ok() && !id->empty() ? *id : path.string();
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{}/{}-{:016x}.toml", folder, path.filename().string(), hash);
}

}  // namespace

std::vector<KnobChoice> Remembered(const std::string& program) {
  const std::string file = FileOf(program);
  std::error_code error;
  if (file.empty() || !fs::exists(file, error)) return {};
  const auto settings = ReadSettings(file);
  return settings.ok() ? *settings : std::vector<KnobChoice>();
}

Status Remember(const std::string& program, std::span<const KnobChoice> kept) {
  const std::string file = FileOf(program);
  if (file.empty()) return {};
  std::error_code error;
  fs::create_directories(fs::path(file).parent_path(), error);
  if (error) return Error{Errc::kIo, fmt::format("{}: {}", file, error.message()), ""};
  return ReplaceFile(file, SettingsText(kept, program));
}

}  // namespace attune::session
