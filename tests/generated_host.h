#pragma once
/// Machines that nobody had at hand, made by tests/hosts/generate.py. The test's target defines GENERATE: the command
/// that makes one (attune_generated_hosts() in tests/CMakeLists.txt).

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "fake_host.h"

namespace attune::fakes {

/// The machine's tree, which is made once and only read. @param name one of `generate.py --list`
inline const FakeHost& GeneratedHost(const std::string& name) {
  static std::map<std::string, FakeHost> hosts;
  const auto [found, added] = hosts.try_emplace(name);
  if (added) {
    const std::string command = std::string(GENERATE) + " " + name + " " + found->second.Folder();
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    std::filesystem::permissions(found->second.Folder(), std::filesystem::perms(0755));
  }
  return found->second;
}

}  // namespace attune::fakes
