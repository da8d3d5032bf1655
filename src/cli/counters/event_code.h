#pragma once
/// Numbers of events of the cores, however they are written.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attune::cli {

/// Numbers of an event in the registers of the cores, without the bits that say when and how it is counted.
struct EventCode {
  uint64_t config = 0;
  std::optional<uint64_t> config1;  ///< of a second register
};
/// "r5101c4", "0x5101c4", "event=0xc4,umask=0x1,cmask=2", "cpu/config=0x1b7,config1=0x10001/"; nullopt: it is none
std::optional<EventCode> ParseEventCode(std::string_view text);

/// Whether an event has a code; one without a second register stands for all that differ in it alone.
bool HasCode(const EventCode& event, const EventCode& wanted);

/// As `attune counters -e` takes it: "0x5101c4", and with a second register "cpu/config=0x1b7,config1=0x10001/".
/// @param is_core of the cores; others have no unit in front
std::string CodeText(uint64_t code, std::optional<uint64_t> code1, bool is_core);

}  // namespace attune::cli
