#pragma once
/// Real processes, and captured trees, to turn knobs of.

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actuator/actuators.h"
#include "model/knob_file.h"

namespace attune::actuator {

/// A child that waits to be killed, after it has done something.
class Child {
 public:
  explicit Child(const std::function<void()>& first = [] {}) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      first();
      (void)!write(ready[1], "r", 1);
      while (true) pause();
    }
    close(ready[1]);
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  model::KnobTarget Target() const { return {pid_, 1}; }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

class ActuatorTest : public ::testing::Test {
 protected:
  const model::Knob& Knob(std::string_view name) {
    const auto found = model::FindKnob(knobs_, name);
    EXPECT_TRUE(found.ok()) << name;
    return **found;
  }
  std::unique_ptr<model::Actuator> Of(const model::Knob& knob, const HostRoot& host = HostRoot()) {
    auto made = MakeActuator(knob.actuator, {.host = host});
    EXPECT_TRUE(made.ok()) << knob.actuator;
    return *std::move(made);
  }
  /// Sets all settings to a value, looks, and sets them back.
  void GoThere(const model::Knob& knob, const model::KnobTarget& target, const std::string& value) {
    const auto actuator = Of(knob);
    const auto before = actuator->Read(knob, target);
    ASSERT_TRUE(before.ok()) << before.error().message;
    ASSERT_THAT(*before, ::testing::Not(::testing::IsEmpty()));
    for (const model::KnobSetting& setting : *before) {
      const auto written = actuator->Write(knob, target, {setting.place, value});
      ASSERT_TRUE(written.ok()) << written.error().message;
      EXPECT_EQ(*written, value);
    }
    const auto changed = actuator->Read(knob, target);
    ASSERT_TRUE(changed.ok());
    for (const model::KnobSetting& setting : *changed) EXPECT_EQ(setting.value, value);
    for (const model::KnobSetting& setting : *before)
      EXPECT_TRUE(actuator->Write(knob, target, setting).ok()) << setting.place << " " << setting.value;
    const auto after = actuator->Read(knob, target);
    ASSERT_TRUE(after.ok());
    EXPECT_EQ(*after, *before);
  }

  const std::vector<model::Knob> knobs_ = *model::AllKnobs();
};

/// A captured tree of a host's files. Goes with its end.
class CapturedTree {
 public:
  CapturedTree() : root_(std::filesystem::temp_directory_path() / ("attune-knobs-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
  }
  ~CapturedTree() { std::filesystem::remove_all(root_); }
  CapturedTree(const CapturedTree&) = delete;
  CapturedTree& operator=(const CapturedTree&) = delete;

  void Put(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ / path.substr(1);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string Get(const std::string& path) const {
    std::ifstream file(root_ / path.substr(1));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool Has(const std::string& path) const { return std::filesystem::exists(root_ / path.substr(1)); }
  HostRoot Host() const { return HostRoot(root_.string()); }

 private:
  const std::filesystem::path root_;
};

}  // namespace attune::actuator
