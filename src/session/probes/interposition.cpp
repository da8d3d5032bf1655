#include "session/probes/interposition.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/child_process.h"
#include "base/own_files.h"
#include "base/text.h"
#include "symbols/program_file.h"
#include "wire/preload.h"

namespace attune::session {

bool GainsRights(const std::string& path, uid_t uid, gid_t gid) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return false;
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != uid) return true;
  if ((status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0 && status.st_gid != gid) return true;
  return uid != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

namespace {

namespace fs = std::filesystem;
using symbols::ProgramFile;

constexpr std::string_view kLibraryName = ATTUNE_LIBRARY_NAME;
/// A script's interpreter may be a script, and so on; the kernel follows four.
constexpr int kMaxScripts = 4;

/// Whether somebody may read a file in folders that he may enter.
bool MayRead(const fs::path& file, uid_t uid) {
  if (uid == geteuid() || uid == 0) return access(file.c_str(), R_OK) == 0;
  for (fs::path path = file; path.has_relative_path(); path = path.parent_path()) {
    struct stat status{};
    if (stat(path.c_str(), &status) != 0) return false;
    const mode_t needed = path == file ? S_IROTH : S_IXOTH;
    if (status.st_uid != uid && (status.st_mode & needed) == 0) return false;
  }
  return true;
}

bool IsSanitizer(std::string_view library) { return wire::IsSanitizer(library.data(), library.size()); }

/// LLVM's OpenMP runtime, or Intel's: they tell a tool what their threads wait for, if it is the only one.
bool TellsATool(std::string_view library) { return library.starts_with("libomp.") || library.starts_with("libiomp"); }

/// The variable of the user's by which there is another tool, or none; nullptr: the probe is the tool.
const char* AnotherTool() {
  const char* libraries = std::getenv("OMP_TOOL_LIBRARIES");
  if (libraries != nullptr && *libraries != '\0') return "OMP_TOOL_LIBRARIES";
  const char* tool = std::getenv("OMP_TOOL");
  return tool != nullptr && std::string_view(tool) == "disabled" ? "OMP_TOOL" : nullptr;
}

/// A preloaded library must be for the program's processor; this program and the library share theirs.
const ProgramFile& Ourselves() {
  static const ProgramFile file = symbols::ReadProgramFile("/proc/self/exe").value_or(ProgramFile{});
  return file;
}

Interposition PlanFor(const std::string& path, const std::string& library, uid_t uid, gid_t gid, int scripts) {
  const auto left_alone = [&](std::string_view why) {
    return Interposition{"", fmt::format("locks and waits of {}: {}", path, why)};
  };
  if (GainsRights(path, uid, gid))
    return left_alone(
        "it runs with rights of its own (setuid, setgid or capabilities), and takes no library from others");
  const auto file = symbols::ReadProgramFile(path);
  if (!file.ok()) return {library, ""};  // the exec reports files that cannot run; a shell may run anything
  if (file->is_script) {
    if (scripts == 0) return {library, ""};
    return PlanFor(file->interpreter, library, uid, gid, scripts - 1);
  }
  if (file->bits != Ourselves().bits || file->machine != Ourselves().machine)
    return left_alone("it is for another kind of processor than attune");
  // Its children may be others.
  if (file->interpreter.empty() && file->has_hooks) return {library, ""};
  if (file->interpreter.empty())
    return {library,
            fmt::format("locks and waits of {}: it is linked statically, so that nothing can take their place; "
                        "link it with libattune_probe.a and @attune_wrap.txt",
                        path)};
  if (!wire::IsGlibcLoader(file->interpreter.data(), file->interpreter.size()))
    return left_alone(fmt::format("its C library is not glibc (its loader is {})", file->interpreter));
  if (std::any_of(file->needed.begin(), file->needed.end(), IsSanitizer))
    return left_alone("it is built with a sanitizer, which must be the first library");
  if (const char* variable = AnotherTool();
      variable != nullptr && std::any_of(file->needed.begin(), file->needed.end(), TellsATool))
    return {library, fmt::format("what OpenMP in {} waits for, but for its locks: {} leaves no room for attune", path,
                                 variable)};
  return {library, ""};
}

}  // namespace

Interposition PlanInterposition(const std::string& program, const std::string& library, const std::string& own,
                                uid_t uid, gid_t gid) {
  const std::string all = "locks and waits: ";
  if (library.empty()) return {"", fmt::format("{}{} was not found beside attune", all, kLibraryName)};
  if (library.find_first_of(": ") != std::string::npos)
    return {"", fmt::format("{}LD_PRELOAD cannot name {}, for its space or colon", all, library)};
  if (!MayRead(library, uid)) return {"", fmt::format("{}the program's user may not read {}", all, library)};
  const std::vector<std::string_view> others = Split(own, ": ");
  if (std::any_of(others.begin(), others.end(), IsSanitizer))
    return {"", all + "LD_PRELOAD names a sanitizer, which must be the first library"};
  if (wire::MemoryIsScarce()) return {"", all + "memory is limited (ulimit -v, -d), and the program is left all of it"};
  const bool is_path = program.find('/') != std::string::npos;
  const std::string path = is_path ? program : FindProgram(program, std::getenv("PATH"));
  if (path.empty()) return {library, ""};
  return PlanFor(path, library, uid, gid, kMaxScripts);
}

std::string PreloadValue(const std::string& library, const std::string& own) {
  if (own.empty()) return library;
  const std::vector<std::string_view> others = Split(own, ": ");
  return std::find(others.begin(), others.end(), library) != others.end() ? own : library + ":" + own;
}

std::string FindProbeLibrary() { return FindOwnLibrary(kLibraryName); }

}  // namespace attune::session
