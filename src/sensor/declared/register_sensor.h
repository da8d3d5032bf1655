#pragma once
/// A described sensor whose signals are registers.

#include <memory>
#include <string>
#include <vector>

#include "sensor/declared/counter_track.h"
#include "sensor/declared/description.h"
#include "sensor/declared/register_block.h"

namespace attune::sensor {

/// One sample: every block is frozen, all are read, all run on. Counters that are measured against a clock register
/// are stored as what they would have counted had the clock run all the time, at its nominal rate: the time that they
/// were frozen, and a clock that is a little fast or slow, are then not seen. The clock register itself is stored as it
/// is.
class RegisterSensor final : public model::Sensor {
 public:
  /// @param path instead of the description's; then what says whether the hardware is there is not asked. "": none
  RegisterSensor(std::shared_ptr<const Description> description, std::string path);
  const model::SensorInfo& Info() const override { return info_; }
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;

 private:
  struct Element {
    explicit Element(RegisterBlock b) : block(std::move(b)) {}
    RegisterBlock block;
    std::string match;          // text for the stars of the path, or the position in the chain
    bool here = false;          // in the sample that is being taken
    int64_t latched_ns = 0;     // when `raw` was read
    int64_t before_ns = 0;      // the same of the sample before; 0: there was none
    bool stopped = false;       // its clock register stands still
    std::vector<uint64_t> raw;  // one a signal, as the tracks
    std::vector<CounterTrack> tracks;
  };

  Status OpenElements(const HostRoot& host, const std::string& path);
  Status AddBlock(int64_t address, const std::string& match);
  Status FollowChain(const Chain& chain);
  Result<RegisterBlock> OpenChecked(int64_t address);
  RegisterLayout Layout() const;
  bool IsItself(RegisterBlock& block) const;
  void Latch(Element& element) const;
  bool Evaluate(Element& element, std::span<int64_t> out) const;
  void Forget(Element& element) const;

  const std::shared_ptr<const Description> description_;
  const std::string path_;
  model::SensorInfo info_;
  std::vector<RegisterSource> sources_;
  std::vector<Element> elements_;
  int64_t low_ = 0, high_ = 0;  // the bytes of a block that are read
};

}  // namespace attune::sensor
