#pragma once
/// Events by the names of libpfm4, which knows those of 386 models.

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attune::counter {

/// An event of this machine's models: "INST_RETIRED:ANY_P", "skl::INST_RETIRED:ANY_P". nullopt: none has it.
/// @cost the first call 2 ms
std::optional<perf_event_attr> FindLibpfmEvent(const std::string& name);

/// Models with an event of that name, whatever this machine is: "skl, skx". Empty: none has it. @cost 10 ms
std::string LibpfmModelsWith(const std::string& name);

/// All names of events of this machine's models, but for those that are perf's own.
std::vector<std::string> LibpfmNamesHere();

/// A model of processors or of another unit.
struct LibpfmModel {
  std::string name;         ///< "skl"
  std::string description;  ///< "Intel Skylake"
  bool is_here = false;
  bool is_core = false;
  int events = 0;
};
std::vector<LibpfmModel> LibpfmModels();

struct LibpfmEvent {
  std::string name;  ///< "INST_RETIRED:ANY_P"
  std::string description;
  uint64_t code = 0;
  std::optional<uint64_t> code1;  ///< of a second register, which offcore events need: perf's config1
};
/// Events of a model, also of one that this machine is not. Empty: there is no such model.
std::vector<LibpfmEvent> LibpfmEvents(const std::string& model);

}  // namespace attune::counter
