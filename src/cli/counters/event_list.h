#pragma once
/// The events that can be counted, as rows of a list.

#include <string>
#include <vector>

#include "base/result.h"

namespace attune::cli {

struct EventRow {
  std::string name;
  std::string kind;  ///< "software", "hardware", "cache", a unit, a model
  std::string code;  ///< number of the event, or its terms
  std::string about;
};

/// @param where empty: the events of this machine; a unit ("cpu"): its events; a model of libpfm4 ("skl"): its events,
/// also
///   where that is not this machine; "models": the models that are known
/// Error: kNotFound: neither a unit nor a model, with the nearest names
Result<std::vector<EventRow>> EventRows(const std::string& where);

/// "r5101c4", "0x5101c4", "cpu/event=0xc4/"
bool IsEventCode(const std::string& text);

/// The events whose code it is: "r5101c4", "0x5101c4", "cpu/event=0xc4,umask=1/".
/// @param where as EventRows; empty: the cores of this machine. Error: kNotFound: none has it, or as EventRows
Result<std::vector<EventRow>> EventsWithCode(const std::string& code, const std::string& where);

}  // namespace attune::cli
