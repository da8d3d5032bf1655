#pragma once
/// A host made of files: builds a tree that a HostRoot reads in place of /proc and /sys.

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/host_root.h"

namespace attune::fakes {

/// A folder under the temporary directory, removed at the end. Paths are the host's: "/proc/stat".
class FakeHost {
 public:
  FakeHost() {
    std::string name = (std::filesystem::temp_directory_path() / "attune-host-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
    folder_ = name;
  }
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;
  ~FakeHost() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  HostRoot Root() const { return HostRoot(folder_.string()); }
  /// Where the tree lies.
  std::string Folder() const { return folder_.string(); }

  /// Writes a file in place (descriptors that are open see the new text), with its folders.
  FakeHost& Write(std::string_view path, std::string_view text) {
    const std::filesystem::path file = Path(path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
    return *this;
  }
  FakeHost& MakeFolder(std::string_view path) {
    std::filesystem::create_directories(Path(path));
    return *this;
  }
  FakeHost& Link(std::string_view path, std::string_view target) {
    std::filesystem::create_directories(Path(path).parent_path());
    std::filesystem::create_symlink(target, Path(path));
    return *this;
  }
  /// A file, or a folder with everything in it.
  FakeHost& Remove(std::string_view path) {
    std::filesystem::remove_all(Path(path));
    return *this;
  }
  /// Where it really is.
  std::filesystem::path Path(std::string_view path) const {
    return folder_ / std::string(path.substr(path.front() == '/' ? 1 : 0));
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace attune::fakes
