#pragma once
/// A prepared sensor whose values are found by name.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/host_root.h"
#include "model/sensor.h"

namespace attune::fakes {

/// Values by "cpu0/user" (element and signal), and by "/load1" for those of the machine.
template <class S>
class SensorReader {
 public:
  template <class... Args>
  explicit SensorReader(const HostRoot& root, Args&&... args) : sensor_(std::forward<Args>(args)...) {
    auto specs = sensor_.Prepare(root);
    EXPECT_TRUE(specs.ok()) << specs.error().message;
    if (specs.ok()) specs_ = *std::move(specs);
  }
  /// Empty where the source is gone: see alive().
  std::map<std::string, int64_t> Sample() {
    std::vector<int64_t> values(specs_.size(), -7);
    alive_ = sensor_.Sample(values);
    std::map<std::string, int64_t> named;
    for (size_t i = 0; i < values.size(); ++i) named[Name(specs_[i])] = values[i];
    EXPECT_EQ(named.size(), specs_.size()) << "two signals of one name";
    return named;
  }
  /// A signal that does not exist ends the test.
  const model::SignalSpec& Spec(const std::string& name) const {
    for (const model::SignalSpec& spec : specs_) {
      if (Name(spec) == name) return spec;
    }
    throw std::runtime_error("no signal " + name);
  }
  bool alive() const { return alive_; }
  const std::vector<model::SignalSpec>& specs() const { return specs_; }
  S& sensor() { return sensor_; }

 private:
  static std::string Name(const model::SignalSpec& spec) { return spec.element.name + "/" + spec.signal; }
  S sensor_;
  std::vector<model::SignalSpec> specs_;
  bool alive_ = false;
};

}  // namespace attune::fakes
