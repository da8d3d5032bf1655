#include "base/whole_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>

namespace attune {

Status WriteFile(const std::string& path, std::string_view text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return {};
  return ErrnoError("writing " + path, errno != 0 ? errno : EIO);
}

Status ReplaceFile(const std::string& path, std::string_view text) {
  const std::string fresh = path + ".new";
  Status written = WriteFile(fresh, text);
  if (written.ok() && rename(fresh.c_str(), path.c_str()) != 0) written = ErrnoError("writing " + path);
  if (!written.ok()) unlink(fresh.c_str());
  return written;
}

}  // namespace attune
