#include "console/inherited.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <sstream>

#include "base/cpu_set.h"

namespace attune::console {

Inherited Inherited::Now() {
  Inherited now;
  now.file_mask = umask(0077);
  umask(now.file_mask);
  now.cpus = CpuSet::Allowed().ToString();
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  now.open_files = limit.rlim_cur;
  return now;
}

std::string Inherited::ToText() const { return fmt::format("{} {} {}", file_mask, cpus, open_files); }

Result<Inherited> Inherited::Parse(const std::string& text) {
  Inherited parsed;
  std::istringstream words(text);
  if (!(words >> parsed.file_mask >> parsed.cpus >> parsed.open_files) || parsed.file_mask > 0777)
    return Error{Errc::kInvalidArgument, "'" + text + "' is not what a program inherits", "as in \"18 0-3 1024\""};
  return parsed;
}

void Inherited::Restore() const {
  umask(file_mask);
  if (const auto set = CpuSet::Parse(cpus); set.ok()) static_cast<void>(set->PinThisThread().ok());
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = open_files;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace attune::console
