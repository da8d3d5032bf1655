#include "cli/counters/event_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "counter/event_text.h"

namespace attune::cli {
namespace {

/// Bits of the registers of x86 that are no part of the event: in the program, in the kernel, pin, interrupt, enable.
constexpr uint64_t kControl = 0x5b0000;

/// A term of units of the cores of x86 and Arm, by its lowest bit.
struct Term {
  std::string_view name;
  unsigned bit;
};
constexpr std::array kTerms{Term{"umask", 8}, Term{"edge", 18}, Term{"any", 21}, Term{"inv", 23}, Term{"cmask", 24}};
constexpr std::array<std::string_view, 4> kSecond{"config1", "offcore_rsp", "ldlat", "frontend"};

/// @return false: there is no such term
bool AddTerm(std::string_view name, uint64_t value, EventCode& code) {
  if (std::ranges::find(kSecond, name) != kSecond.end()) {
    code.config1 = value;
    return true;
  }
  if (name == "config") {
    code.config |= value & ~kControl;
    return true;
  }
  if (name == "event") {
    code.config |= (value & 0xff) | value >> 8 << 32;
    return true;
  }
  const auto term = std::ranges::find(kTerms, name, &Term::name);
  if (term != kTerms.end()) code.config |= value << term->bit;
  return term != kTerms.end();
}

}  // namespace

std::optional<EventCode> ParseEventCode(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("r")) {
    const auto number = counter::EventNumber("0x" + std::string(text.substr(text.starts_with("r") ? 1 : 2)));
    return number ? std::optional(EventCode{.config = *number & ~kControl, .config1 = std::nullopt}) : std::nullopt;
  }
  if (text.find('=') == std::string_view::npos) return std::nullopt;
  if (text.ends_with('/')) text = text.substr(0, text.size() - 1);
  text.remove_prefix(std::min(text.size(), text.find('/') + 1));
  EventCode code;
  const auto terms = Split(text, ",");
  for (const std::string_view term : terms) {
    const size_t equals = term.find('=');
    const auto value =
        equals == std::string_view::npos ? std::optional<uint64_t>(1) : counter::EventNumber(term.substr(equals + 1));
    if (!value || !AddTerm(term.substr(0, equals), *value, code)) return std::nullopt;
  }
  return terms.empty() ? std::nullopt : std::optional(code);
}

bool HasCode(const EventCode& event, const EventCode& wanted) {
  return event.config == wanted.config && (!wanted.config1 || event.config1 == wanted.config1);
}

std::string CodeText(uint64_t code, std::optional<uint64_t> code1, bool is_core) {
  if (!code1) return fmt::format("{:#x}", code);
  const std::string terms = fmt::format("config={:#x},config1={:#x}", is_core ? code & ~kControl : code, *code1);
  return is_core ? "cpu/" + terms + "/" : terms;
}

}  // namespace attune::cli
