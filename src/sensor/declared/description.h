#pragma once
/// A sensor that is described, not programmed: a TOML file that names registers or files. docs/declarative-sensors.md
/// is its reference; this is what is read from it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/sensor.h"

namespace attune::sensor {

/// Something that must hold for the hardware to be there.
struct Presence {
  std::string file;  ///< must exist; may have stars. Empty: pci counts
  int64_t offset = 0;
  std::string text;    ///< must stand at `offset` of the file; empty: existing is enough
  std::string pci;     ///< "1b47:0700": vendor and device of a PCI function
  std::string absent;  ///< message if the condition does not hold
};

/// Some bits of a register.
struct BitField {
  int64_t offset = 0;
  int bytes = 4;
  int low_bit = 0;
  int bits = 32;
};

/// One part of the address of a block; the parts are added.
struct AddressTerm {
  int64_t value = 0;              ///< a constant
  bool is_position = false;       ///< the position of the block in its chain
  std::optional<BitField> field;  ///< read from the block at Chain::at
  int shift = 0;                  ///< left shift of the sum of `value` and the position or field
};

/// Blocks of which each names the next.
struct Chain {
  int64_t at = 0;  ///< address of the block that names the first
  BitField head;
  BitField next;
  int64_t end = 0;  ///< the position that ends the chain
  std::vector<AddressTerm> address;
};

/// The blocks of registers: of one layout, one for each element, at addresses of one file.
struct RegisterFile {
  std::string path;  ///< "/dev/mem"; with stars: one block in each file that fits
  int64_t size = 0;  ///< bytes of a block
  bool big_endian = false;
  int access_bytes = 8;  ///< the widest load that the hardware answers
};

struct ElementRule {
  model::ElementKind kind = model::ElementKind::kMachine;
  std::string name;          ///< {number} and {match} are replaced
  int64_t first_number = 0;  ///< number of the first element
  int64_t count = 1;
  int64_t base = 0;    ///< address of the first block
  int64_t stride = 0;  ///< from block to block
  std::optional<Chain> chain;
};

/// A register that tells whether a block is what it should be.
struct Identity {
  BitField field;
  uint64_t value = 0;
};

/// A register that stops the counters while it holds one value and lets them count while it holds another.
struct Freeze {
  int64_t offset = 0;
  int bytes = 4;
  uint64_t hold = 0;
  uint64_t run = 0;
};

/// The counter that measures for how long the other counters of its element counted.
struct ElementClock {
  size_t signal = 0;  ///< index of it
  int64_t hz = 0;
};

struct DeclaredSignal {
  std::string name;
  std::string mnemonic;
  std::string description;
  std::string unit;
  model::SeriesKind kind = model::SeriesKind::kGauge;
  model::SumRule sum = model::SumRule::kSum;
  int scale = 0;
  int64_t max_per_second = model::kAbsent;
  BitField field;  ///< registers: where it is; a counter wraps at its number of bits
  bool is_signed = false;
  std::string file;  ///< files: below the element's folder, or absolute
};

struct Description {
  std::string file;  ///< that it was read from
  std::string name;
  std::string text;  ///< description of the sensor
  std::string cost;
  int64_t default_interval_ns = 0;
  std::vector<Presence> presence;
  std::optional<RegisterFile> registers;
  std::string folder;  ///< files: the folder of an element; with stars: one element each. Empty: registers
  ElementRule elements;
  std::optional<Identity> identity;
  std::optional<Freeze> freeze;
  std::optional<ElementClock> clock;
  std::vector<DeclaredSignal> signals;
};

/// Reads a description. @param file its name, for messages; the sensor must be called like it, without folder and
/// ending  @return kInvalidArgument: the first mistake, as "FILE:LINE: what", with a hint
Result<Description> ParseDescription(std::string_view text, std::string_view file);

/// The descriptor of one signal of one element.
model::SignalSpec MakeSpec(const DeclaredSignal& signal, model::ElementKey element);

}  // namespace attune::sensor
