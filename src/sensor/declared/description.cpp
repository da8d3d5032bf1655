#include "sensor/declared/description.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/text.h"
#include "base/toml_table.h"
#include "base/units.h"

namespace attune::sensor {
namespace {

using model::ElementKind;
using model::SeriesKind;
using model::SumRule;

constexpr int64_t kMaxBlockBytes = 1 << 20;
constexpr int64_t kMaxElements = 4096;
constexpr size_t kMaxSignals = 4096;
constexpr int64_t kMaxAddress = int64_t{1} << 56;
constexpr int64_t kMaxHz = 1'000'000'000'000;

constexpr std::array<std::pair<std::string_view, SeriesKind>, 4> kKinds{{{"counter", SeriesKind::kCounter},
                                                                         {"up-down", SeriesKind::kUpDown},
                                                                         {"gauge", SeriesKind::kGauge},
                                                                         {"state", SeriesKind::kState}}};
constexpr std::array<std::pair<std::string_view, SumRule>, 4> kSums{
    {{"sum", SumRule::kSum}, {"mean", SumRule::kMean}, {"max", SumRule::kMax}, {"none", SumRule::kNone}}};
constexpr std::array<std::pair<std::string_view, ElementKind>, 7> kElements{{{"machine", ElementKind::kMachine},
                                                                             {"board", ElementKind::kBoard},
                                                                             {"package", ElementKind::kPackage},
                                                                             {"node", ElementKind::kNode},
                                                                             {"core", ElementKind::kCore},
                                                                             {"cpu", ElementKind::kCpu},
                                                                             {"device", ElementKind::kDevice}}};
constexpr std::array<std::pair<std::string_view, bool>, 2> kEndians{{{"little", false}, {"big", true}}};

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  });
}

/// Builds a Description from the file's tables; mistakes go where the tables send them.
class Builder {
 public:
  Builder(std::string_view file, TomlMistakes& mistakes) : mistakes_(mistakes) { out_.file = file; }

  Description Build(const toml::table& root) {
    TomlTable file(root, "the file", mistakes_);
    if (const toml::table* table = RequiredTable(file, "sensor")) ReadSensor(*table);
    for (const toml::table* table : file.Tables("present")) ReadPresence(*table);
    const bool has_registers = file.Has("registers");
    if (has_registers == file.Has("files"))
      file.Fail(has_registers ? "files" : "registers", "or 'files' must be there, one of the two");
    if (const toml::table* table = file.Table("registers")) ReadRegisters(*table);
    if (const toml::table* table = file.Table("files")) ReadFiles(*table);
    if (const toml::table* table = file.Table("elements")) ReadElements(*table);
    if (const toml::table* table = RegistersOnly(file, "identity")) ReadIdentity(*table);
    if (const toml::table* table = RegistersOnly(file, "freeze")) ReadFreeze(*table);
    const toml::table* defaults = file.Table("defaults");
    const std::vector<const toml::table*> signals = file.Tables("signal");
    if (signals.empty()) file.Fail("signal", "is missing: a sensor has at least one [[signal]]");
    if (signals.size() > kMaxSignals) file.Fail("signal", fmt::format("is there more than {} times", kMaxSignals));
    for (const toml::table* table : signals) {
      if (!mistakes_.any()) ReadSignal(*table, defaults);
    }
    if (defaults != nullptr) CheckDefaults(*defaults);
    if (const toml::table* table = RegistersOnly(file, "clock")) ReadClock(*table);
    file.Finish();
    return std::move(out_);
  }

 private:
  const toml::table* RequiredTable(TomlTable& file, std::string_view key) {
    if (!file.Has(key)) file.Fail(key, "is missing");
    return file.Table(key);
  }

  const toml::table* RegistersOnly(TomlTable& file, std::string_view key) {
    if (file.Has(key) && !out_.registers) file.Fail(key, "needs [registers]");
    return out_.registers ? file.Table(key) : nullptr;
  }

  void ReadSensor(const toml::table& source) {
    TomlTable table(source, "[sensor]", mistakes_);
    out_.name = table.RequiredText("name");
    out_.text = CleanText(table.RequiredText("description"));
    out_.cost = CleanText(table.Text("cost", "not measured"));
    const std::string interval = table.Text("default_interval", "100ms");
    const auto interval_ns = ParseIntervalNs(interval, "default_interval", 100'000, 3'600'000'000'000);
    if (interval_ns.ok()) {
      out_.default_interval_ns = *interval_ns;
    } else {
      table.Fail("default_interval", "is no interval: " + interval_ns.error().message, interval_ns.error().hint);
    }
    const std::string stem = std::filesystem::path(out_.file).stem().string();
    if (!IsName(out_.name)) {
      table.Fail("name", fmt::format("'{}' is no name: letters, digits, _ and -", CleanText(out_.name)));
    } else if (out_.name != stem) {
      table.Fail("name", fmt::format("is '{}', but the file is called '{}'", out_.name, CleanText(stem)),
                 fmt::format("call the file {}.toml", out_.name));
    }
    table.Finish();
  }

  void ReadPresence(const toml::table& source) {
    TomlTable table(source, "[[present]]", mistakes_);
    Presence presence;
    presence.file = table.Text("file", "");
    presence.pci = table.Text("pci", "");
    presence.offset = table.Integer("offset", 0, 1 << 20, 0);
    presence.text = table.Text("text", "");
    presence.absent = CleanText(table.RequiredText("absent"));
    if (presence.file.empty() == presence.pci.empty()) table.Fail("file", "or 'pci' must be there, one of the two");
    if (!presence.file.empty() && !presence.file.starts_with('/')) table.Fail("file", "does not begin with /");
    if (!presence.pci.empty() && (presence.pci.size() != 9 || presence.pci[4] != ':'))
      table.Fail("pci", "is not VENDOR:DEVICE in hexadecimal, like 1b47:0700");
    if (presence.text.size() > 256) table.Fail("text", "is longer than 256 characters");
    out_.presence.push_back(std::move(presence));
    table.Finish();
  }

  void ReadRegisters(const toml::table& source) {
    TomlTable table(source, "[registers]", mistakes_);
    RegisterFile registers;
    registers.path = table.RequiredText("path");
    if (!registers.path.empty() && !registers.path.starts_with('/')) table.Fail("path", "does not begin with /");
    registers.size = table.RequiredInteger("size", 1, kMaxBlockBytes);
    registers.big_endian = table.Choice<bool>("endian", kEndians, false);
    registers.access_bytes = Width(table, "access", 64);
    out_.registers = std::move(registers);
    table.Finish();
  }

  void ReadFiles(const toml::table& source) {
    TomlTable table(source, "[files]", mistakes_);
    out_.folder = table.RequiredText("folder");
    if (!out_.folder.starts_with('/')) table.Fail("folder", "does not begin with /");
    table.Finish();
  }

  void ReadElements(const toml::table& source) {
    TomlTable table(source, "[elements]", mistakes_);
    ElementRule& rule = out_.elements;
    rule.kind = table.Choice<ElementKind>("kind", kElements, ElementKind::kDevice);
    rule.name = CleanText(table.RequiredText("name"));
    if (rule.kind == ElementKind::kMachine) table.Fail("kind", "must be something that a machine can have several of");
    rule.first_number = table.Integer("first_number", 0, kMaxElements, 0);
    if (out_.registers) {
      rule.count = table.Integer("count", 1, kMaxElements, 1);
      rule.base = table.Integer("base", 0, kMaxAddress, 0);
      rule.stride = table.Integer("stride", 0, kMaxAddress, out_.registers->size);
      if (rule.count > 1 && rule.stride < out_.registers->size)
        table.Fail("stride", "is smaller than a block: the blocks would overlap");
      if (const toml::table* chain = table.Table("chain")) {
        if (table.Has("count")) table.Fail("count", "and 'chain' exclude each other: a chain has its own end");
        ReadChain(*chain);
      }
    }
    table.Finish();
  }

  void ReadChain(const toml::table& source) {
    TomlTable table(source, "[elements.chain]", mistakes_);
    Chain chain;
    chain.at = table.RequiredInteger("at", 0, kMaxAddress);
    chain.head = RequiredField(table, "head");
    chain.next = RequiredField(table, "next");
    chain.end = table.RequiredInteger("end", 0, kMaxAddress);
    const std::vector<const toml::table*> terms = table.Tables("address");
    if (terms.empty() || terms.size() > 16) table.Fail("address", "needs 1 to 16 terms");
    for (const toml::table* term : terms) chain.address.push_back(ReadTerm(*term));
    out_.elements.chain = std::move(chain);
    table.Finish();
  }

  AddressTerm ReadTerm(const toml::table& source) {
    TomlTable table(source, "a term of 'address'", mistakes_);
    AddressTerm term;
    term.value = table.Integer("value", -kMaxAddress, kMaxAddress, 0);
    term.shift = static_cast<int>(table.Integer("shift", 0, 55, 0));
    term.is_position = table.Flag("position", false);
    if (const toml::table* field = table.Table("field")) term.field = ReadField(*field, "field");
    table.Finish();
    return term;
  }

  void ReadIdentity(const toml::table& source) {
    TomlTable table(source, "[identity]", mistakes_);
    Identity identity;
    identity.field = FieldOf(table);
    identity.value = static_cast<uint64_t>(table.RequiredInteger("value", INT64_MIN, INT64_MAX));
    out_.identity = identity;
    table.Finish();
  }

  void ReadFreeze(const toml::table& source) {
    TomlTable table(source, "[freeze]", mistakes_);
    Freeze freeze;
    const BitField field = FieldOf(table, /*whole=*/true);
    freeze.offset = field.offset;
    freeze.bytes = field.bytes;
    freeze.hold = static_cast<uint64_t>(table.RequiredInteger("hold", 0, INT64_MAX));
    freeze.run = static_cast<uint64_t>(table.RequiredInteger("run", 0, INT64_MAX));
    if (freeze.hold == freeze.run) table.Fail("run", "is the same as 'hold'");
    if (freeze.bytes > out_.registers->access_bytes) table.Fail("width", "is more than the 'access' of [registers]");
    for (const char* key : {"hold", "run"}) {
      const uint64_t value = key[0] == 'h' ? freeze.hold : freeze.run;
      if (freeze.bytes < 8 && value >> (8 * freeze.bytes) != 0) table.Fail(key, "does not fit into the register");
    }
    out_.freeze = freeze;
    table.Finish();
  }

  void ReadClock(const toml::table& source) {
    TomlTable table(source, "[clock]", mistakes_);
    const std::string name = table.RequiredText("signal");
    ElementClock clock;
    clock.hz = table.RequiredInteger("hz", 1, kMaxHz);
    const auto found = std::find_if(out_.signals.begin(), out_.signals.end(),
                                    [&](const DeclaredSignal& signal) { return signal.name == name; });
    if (found == out_.signals.end()) {
      table.Fail("signal", fmt::format("names '{}', which is no signal of this file", CleanText(name)),
                 "the clock register is a [[signal]] of its own");
    } else if (found->kind != SeriesKind::kCounter) {
      table.Fail("signal", "must name a counter");
    } else {
      clock.signal = static_cast<size_t>(found - out_.signals.begin());
      out_.clock = clock;
    }
    table.Finish();
  }

  void ReadSignal(const toml::table& source, const toml::table* defaults) {
    const auto name = source.get_as<std::string>("name");
    TomlTable table(source, fmt::format("[[signal]] '{}'", name != nullptr ? CleanText(name->get()) : "?"), mistakes_);
    table.SetFallback(defaults);
    DeclaredSignal signal;
    signal.name = table.RequiredText("name");
    signal.mnemonic = CleanText(table.Text("mnemonic", ""));
    signal.description = CleanText(table.RequiredText("description"));
    signal.unit = CleanText(table.RequiredText("unit"));
    if (!table.Has("kind")) table.Fail("kind", "is missing: counter, up-down, gauge or state");
    signal.kind = table.Choice<SeriesKind>("kind", kKinds, SeriesKind::kGauge);
    const SumRule usual = signal.kind == SeriesKind::kState ? SumRule::kNone : SumRule::kSum;
    signal.sum = table.Choice<SumRule>("sum", kSums, usual);
    signal.scale = static_cast<int>(table.Integer("scale", -18, 18, 0));
    signal.max_per_second = table.Integer("max_per_second", 1, INT64_MAX, model::kAbsent);
    if (out_.registers) {
      signal.field = FieldOf(table);
      signal.is_signed = table.Flag("signed", false);
    } else {
      signal.file = table.RequiredText("file");
    }
    CheckSignal(table, signal);
    table.Finish();
    out_.signals.push_back(std::move(signal));
  }

  void CheckSignal(TomlTable& table, const DeclaredSignal& signal) {
    if (!IsName(signal.name)) table.Fail("name", "is no name: letters, digits, _ and -");
    const bool taken = std::any_of(out_.signals.begin(), out_.signals.end(),
                                   [&](const DeclaredSignal& other) { return other.name == signal.name; });
    if (taken) table.Fail("name", "is there twice");
    const bool averages = signal.sum == SumRule::kMean || signal.sum == SumRule::kMax;
    if (averages && signal.kind == SeriesKind::kCounter) table.Fail("sum", "of a counter can only be sum or none");
    if (signal.kind == SeriesKind::kState && signal.sum != SumRule::kNone)
      table.Fail("sum", "of a state can only be none");
    if (signal.is_signed && signal.kind == SeriesKind::kCounter) table.Fail("signed", "makes no sense for a counter");
  }

  /// A key in [defaults] must be one that a signal can have.
  void CheckDefaults(const toml::table& source) {
    TomlTable table(source, "[defaults]", mistakes_);
    for (const char* key : {"unit", "kind", "sum", "scale", "max_per_second"}) table.Has(key);
    if (out_.registers) {
      for (const char* key : {"width", "low_bit", "bits", "signed"}) table.Has(key);
    }
    table.Finish();
  }

  /// A width in bits, as bytes.
  int Width(TomlTable& table, std::string_view key, int64_t otherwise) {
    const int64_t bits = table.Integer(key, 8, 64, otherwise);
    if (bits != 8 && bits != 16 && bits != 32 && bits != 64) table.Fail(key, "is none of 8, 16, 32, 64");
    return static_cast<int>(bits / 8);
  }

  /// The keys offset, width, low_bit and bits of a table. @param whole all bits of the register
  BitField FieldOf(TomlTable& table, bool whole = false) {
    BitField field;
    field.offset = table.RequiredInteger("offset", 0, kMaxBlockBytes);
    field.bytes = Width(table, "width", 32);
    field.low_bit = whole ? 0 : static_cast<int>(table.Integer("low_bit", 0, field.bytes * 8 - 1, 0));
    const int rest = std::max(1, field.bytes * 8 - field.low_bit);
    field.bits = whole ? rest : static_cast<int>(table.Integer("bits", 1, rest, rest));
    if (out_.registers && field.offset + field.bytes > out_.registers->size) {
      table.Fail("offset", fmt::format("lies outside of the block, which has {} bytes", out_.registers->size),
                 "[registers] size says how large a block is");
    }
    if (field.offset % field.bytes != 0)
      table.Fail("offset", fmt::format("is no multiple of the register's {} bytes", field.bytes));
    return field;
  }

  BitField ReadField(const toml::table& source, std::string_view key) {
    TomlTable table(source, fmt::format("'{}'", key), mistakes_);
    const BitField field = FieldOf(table);
    table.Finish();
    return field;
  }

  BitField RequiredField(TomlTable& parent, std::string_view key) {
    const toml::table* table = RequiredTable(parent, key);
    return table != nullptr ? ReadField(*table, key) : BitField{};
  }

  TomlMistakes& mistakes_;
  Description out_;
};

}  // namespace

Result<Description> ParseDescription(std::string_view text, std::string_view file) {
  return ReadToml(text, file, "docs/declarative-sensors.md",
                  [&](const toml::table& root, TomlMistakes& mistakes) { return Builder(file, mistakes).Build(root); });
}

model::SignalSpec MakeSpec(const DeclaredSignal& signal, model::ElementKey element) {
  model::SignalSpec spec;
  spec.element = std::move(element);
  spec.kind = signal.kind;
  spec.scale = signal.scale;
  spec.max_per_second = signal.max_per_second;
  spec.signal = signal.name;
  spec.unit = signal.unit;
  spec.description = signal.description;
  spec.sum = signal.sum;
  spec.mnemonic = signal.mnemonic;
  return spec;
}

}  // namespace attune::sensor
