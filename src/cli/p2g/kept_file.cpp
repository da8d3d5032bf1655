#include "cli/p2g/kept_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <optional>
#include <tuple>

#include "base/text.h"
#include "base/units.h"
#include "base/user_file.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "dataflow/kept/reader.h"

namespace attune::cli {
namespace {

namespace kept = flow::kept;
using flow::ElementKind;
using Json = nlohmann::ordered_json;

constexpr int64_t kValuesALine = 10;

struct OpenFile {
  std::string path;
  UniqueFd descriptor;
  kept::File file;

  const kept::FieldDescription& Field(int number) const { return file.program().fields[static_cast<size_t>(number)]; }
};

Result<OpenFile> Open(const std::string& path) {
  OpenFile open;
  open.path = path;
  ATTUNE_TRY(open.descriptor, OpenUserFile(path));
  std::string problem;
  if (!open.file.Open(open.descriptor.get(), &problem))
    return Error{Errc::kCorrupt, fmt::format("{} {}", path, problem),
                 "attune p2g run PROGRAM.p2g --keep FILE writes one"};
  if (!open.file.damage().empty())
    std::fprintf(stderr, "attune: %s\n",
                 Printable(fmt::format("{} is {}: what is behind that is left out", path, open.file.damage())).c_str());
  return open;
}

Result<int> FindField(const OpenFile& open, const std::string& name) {
  const int number = open.file.Field(name);
  if (number >= 0) return number;
  std::vector<std::string> names;
  for (const kept::FieldDescription& field : open.file.program().fields) names.push_back(field.name);
  const std::string meant = DidYouMean(name, names);
  return Error{Errc::kNotFound, fmt::format("{} has no field '{}'", open.path, name),
               meant.empty() ? fmt::format("fields are {}", fmt::join(names, ", ")) : meant};
}

Result<kept::AgeContents> Read(const OpenFile& open, const kept::AgeEntry& age) {
  kept::AgeContents contents;
  std::string problem;
  if (!open.file.Read(age, &contents, &problem))
    return Error{Errc::kCorrupt, fmt::format("{}: {}", open.path, problem), ""};
  return contents;
}

std::vector<kept::AgeEntry> AgesOf(const OpenFile& open, int field) {
  std::vector<kept::AgeEntry> ages;
  std::copy_if(open.file.ages().begin(), open.file.ages().end(), std::back_inserter(ages),
               [field](const kept::AgeEntry& age) { return age.field == field; });
  return ages;
}

std::vector<int64_t> ExtentsOf(const kept::FieldDescription& field, const kept::AgeEntry& age) {
  return {age.extent, age.extent + field.rank};
}

std::string ExtentText(const kept::FieldDescription& field, const kept::AgeEntry& age) {
  return fmt::format("{}", fmt::join(ExtentsOf(field, age), " x "));
}

std::string ElementsText(int64_t count) { return fmt::format("{} element{}", count, count == 1 ? "" : "s"); }

/// A number or a truth value; of what JSON has no number for, and of bytes, the text.
Json ValueJson(const kept::FieldDescription& field, const std::byte* value) {
  std::string text = kept::ValueText(field, value);
  if (field.kind == ElementKind::kBytes) return text;
  Json number = Json::parse(text, nullptr, false);
  return number.is_discarded() ? Json(text) : number;
}

// ---- dump

std::string OutcomeText(const OpenFile& open) {
  return open.file.end().empty() ? "the run has not ended: it goes on, or was killed" : open.file.end();
}

Result<int> DumpFields(const OpenFile& open, bool json) {
  Json rows = Json::array();
  TextTable table({{"field"},
                   {"type"},
                   {"dimensions", TextTable::Align::kRight},
                   {"ages", TextTable::Align::kRight},
                   {"first", TextTable::Align::kRight},
                   {"last", TextTable::Align::kRight},
                   {"elements", TextTable::Align::kRight}});
  for (size_t f = 0; f < open.file.program().fields.size(); ++f) {
    const kept::FieldDescription& field = open.file.program().fields[f];
    const std::vector<kept::AgeEntry> ages = AgesOf(open, static_cast<int>(f));
    int64_t stored = 0;
    for (const kept::AgeEntry& age : ages) stored += age.stored;
    const bool has_range = field.aged && !ages.empty();
    table.AddRow({Printable(field.name), kept::TypeText(field), std::to_string(field.rank), std::to_string(ages.size()),
                  has_range ? std::to_string(ages.front().age) : "-", has_range ? std::to_string(ages.back().age) : "-",
                  std::to_string(stored)});
    rows.push_back({{"name", field.name},
                    {"type", kept::TypeText(field)},
                    {"dimensions", field.rank},
                    {"aged", field.aged},
                    {"sparse", field.sparse},
                    {"ages", ages.size()},
                    {"first", has_range ? Json(ages.front().age) : Json()},
                    {"last", has_range ? Json(ages.back().age) : Json()},
                    {"elements", stored}});
  }
  if (json) {
    return PrintJson({{"program", open.file.program().executable},
                      {"outcome", open.file.end().empty() ? Json() : Json(open.file.end())},
                      {"fields", std::move(rows)}});
  }
  std::printf("%s%s\n", table.ToString(0, 0).c_str(), Printable(OutcomeText(open)).c_str());
  return FinishOutput();
}

Result<int> DumpAges(const OpenFile& open, int number, bool json) {
  const kept::FieldDescription& field = open.Field(number);
  Json rows = Json::array();
  for (const kept::AgeEntry& age : AgesOf(open, number)) {
    rows.push_back({{"age", age.age}, {"extents", ExtentsOf(field, age)}, {"elements", age.stored}});
    if (!json)
      std::printf("%s: extent %s, %s\n", Printable(kept::AgeName(field, age.age)).c_str(),
                  ExtentText(field, age).c_str(), ElementsText(age.stored).c_str());
  }
  return json ? PrintJson(rows) : FinishOutput();
}

void PrintElements(const kept::FieldDescription& field, const kept::AgeEntry& age, const kept::AgeContents& contents) {
  const int64_t row = age.extent[field.rank - 1];
  for (int64_t first = 0; first < age.elements; first += row) {
    for (int64_t begin = 0; begin < row; begin += kValuesALine) {
      const std::string name = kept::ElementName(field, age, first + begin);
      std::string line = "  " + name.substr(kept::AgeName(field, age.age).size()) + " ";
      for (int64_t i = first + begin; i < first + std::min(row, begin + kValuesALine); ++i)
        line +=
            " " + (contents.Has(i) ? kept::ValueText(field, contents.values.data() + i * field.element_bytes) : "-");
      std::puts(line.c_str());
    }
  }
}

Result<int> DumpElements(const OpenFile& open, const kept::AgeEntry& age, bool json) {
  const kept::FieldDescription& field = open.Field(age.field);
  ATTUNE_TRY(const kept::AgeContents contents, Read(open, age));
  if (!json) {
    std::printf("%s: %s, extent %s, %s\n", Printable(kept::AgeName(field, age.age)).c_str(),
                kept::TypeText(field).c_str(), ExtentText(field, age).c_str(), ElementsText(age.stored).c_str());
    PrintElements(field, age, contents);
    return FinishOutput();
  }
  Json elements = Json::array();
  for (int64_t i = 0; i < age.elements; ++i)
    elements.push_back(contents.Has(i) ? ValueJson(field, contents.values.data() + i * field.element_bytes) : Json());
  return PrintJson({{"field", field.name},
                    {"age", field.aged ? Json(age.age) : Json()},
                    {"type", kept::TypeText(field)},
                    {"extents", ExtentsOf(field, age)},
                    {"elements", std::move(elements)}});
}

// ---- diff

/// An age of a field that one file has, or both.
struct Pair {
  int64_t age;
  int field;
  const kept::AgeEntry* one;
  const kept::AgeEntry* other;
};

/// Ages of both files, by age and field.
std::vector<Pair> PairsOf(const OpenFile& one, const OpenFile& other, const std::vector<int>& fields_of_other) {
  std::vector<Pair> pairs;
  for (const kept::AgeEntry& age : one.file.ages())
    pairs.push_back(
        {age.age, age.field, &age, other.file.Find(fields_of_other[static_cast<size_t>(age.field)], age.age)});
  for (const kept::AgeEntry& age : other.file.ages()) {
    const auto field = std::find(fields_of_other.begin(), fields_of_other.end(), age.field) - fields_of_other.begin();
    if (one.file.Find(static_cast<int>(field), age.age) == nullptr)
      pairs.push_back({age.age, static_cast<int>(field), nullptr, &age});
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return std::tie(a.age, a.field) < std::tie(b.age, b.field); });
  return pairs;
}

/// Numbers of the fields in the other file. Error: the files do not have the same fields
Result<std::vector<int>> MatchFields(const OpenFile& one, const OpenFile& other) {
  std::vector<int> matched;
  const auto& fields = one.file.program().fields;
  for (const kept::FieldDescription& field : fields) {
    const int number = other.file.Field(field.name);
    const auto same = [&](const kept::FieldDescription& there) {
      return there.kind == field.kind && there.rank == field.rank && there.aged == field.aged &&
             there.element_bytes == field.element_bytes;
    };
    if (number < 0 || !same(other.Field(number)))
      return Error{Errc::kInvalidArgument,
                   fmt::format("field '{}' of {} is {} in {}", field.name, one.path,
                               number < 0 ? "not" : "of another type", other.path),
                   "compare runs of one program"};
    matched.push_back(number);
  }
  if (fields.size() == other.file.program().fields.size()) return matched;
  return Error{Errc::kInvalidArgument, fmt::format("{} has more fields than {}", other.path, one.path),
               "compare runs of one program"};
}

/// First element that two ages of a field do not have the same. As texts, for people and for JSON.
struct Difference {
  std::string where;
  std::vector<int64_t> index;  ///< empty: it is about the extents
  Json one, other;
};

std::vector<int64_t> IndexOf(const kept::FieldDescription& field, const kept::AgeEntry& age, int64_t position) {
  std::vector<int64_t> index(static_cast<size_t>(field.rank));
  for (int dim = field.rank - 1; dim >= 0; --dim) {
    index[static_cast<size_t>(dim)] = position % age.extent[dim];
    position /= age.extent[dim];
  }
  return index;
}

Result<std::optional<Difference>> Compare(const OpenFile& one, const OpenFile& other, const Pair& pair) {
  const kept::FieldDescription& field = one.Field(pair.field);
  const std::vector<int64_t> extents = ExtentsOf(field, *pair.one), other_extents = ExtentsOf(field, *pair.other);
  if (extents != other_extents)
    return std::optional(Difference{kept::AgeName(field, pair.age) + ": extent", {}, extents, other_extents});
  ATTUNE_TRY(const kept::AgeContents contents, Read(one, *pair.one));
  ATTUNE_TRY(const kept::AgeContents other_contents, Read(other, *pair.other));
  if (contents.values == other_contents.values && contents.written == other_contents.written)
    return std::optional<Difference>();
  const auto bytes = static_cast<size_t>(field.element_bytes);
  for (int64_t i = 0; i < pair.one->elements; ++i) {
    const std::byte* value = contents.values.data() + i * field.element_bytes;
    const std::byte* other_value = other_contents.values.data() + i * field.element_bytes;
    const bool has = contents.Has(i), other_has = other_contents.Has(i);
    if (has == other_has && (!has || std::memcmp(value, other_value, bytes) == 0)) continue;
    return std::optional(Difference{kept::ElementName(field, *pair.one, i) + ":", IndexOf(field, *pair.one, i),
                                    has ? ValueJson(field, value) : Json(),
                                    other_has ? ValueJson(field, other_value) : Json()});
  }
  return std::optional<Difference>();
}

std::string Shown(const Json& value) {
  if (value.is_null()) return "nothing";
  if (value.is_array()) return fmt::format("{}", fmt::join(value.get<std::vector<int64_t>>(), " x "));
  return value.is_string() ? value.get<std::string>() : value.dump();
}

Result<int> PrintDifference(const OpenFile& one, const OpenFile& other, const Pair& pair, const Difference& difference,
                            bool json) {
  const kept::FieldDescription& field = one.Field(pair.field);
  std::vector<std::string> kernels;
  for (const kept::KernelDescription& kernel : one.file.program().kernels) {
    if (std::count(kernel.stores.begin(), kernel.stores.end(), static_cast<uint32_t>(pair.field)) > 0)
      kernels.push_back(kernel.name);
  }
  if (json) {
    ATTUNE_TRY(const int code, PrintJson({{"same", false},
                                          {"field", field.name},
                                          {"age", field.aged ? Json(pair.age) : Json()},
                                          {"index", difference.index.empty() ? Json() : Json(difference.index)},
                                          {"first", difference.one},
                                          {"second", difference.other},
                                          {"kernels", kernels}}));
    return code == 0 ? 1 : code;
  }
  const std::string text = fmt::format("{} {} in {}, {} in {}\n  stored by {}", difference.where, Shown(difference.one),
                                       one.path, Shown(difference.other), other.path, fmt::join(kernels, ", "));
  for (const std::string_view line : Split(text, "\n")) std::puts(Printable(std::string(line)).c_str());
  ATTUNE_TRY(const int code, FinishOutput());
  return code == 0 ? 1 : code;
}

}  // namespace

Result<int> DumpKept(const std::string& path, const std::vector<std::string>& which, bool json) {
  ATTUNE_TRY(const OpenFile open, Open(path));
  if (which.empty()) return DumpFields(open, json);
  ATTUNE_TRY(const int number, FindField(open, which[0]));
  const kept::FieldDescription& field = open.Field(number);
  if (which.size() == 1 && field.aged) return DumpAges(open, number, json);
  int64_t age = 0;
  const std::string text = which.size() > 1 ? which[1] : "0";
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), age);
  if (error != std::errc() || end != text.data() + text.size() || age < 0)
    return Error{Errc::kInvalidArgument, fmt::format("'{}' is no age", text), "ages are numbers from 0 on"};
  const kept::AgeEntry* entry = open.file.Find(number, age);
  const kept::SingleElement* element = entry == nullptr ? open.file.FindElement(number, age) : nullptr;
  if (element != nullptr)
    return Error{
        Errc::kNotFound,
        fmt::format("{} has one element of {}, which was not complete: [{}] {}", path, kept::AgeName(field, age),
                    element->index, kept::ValueText(field, reinterpret_cast<const std::byte*>(element->value.data()))),
        "it is what the instance that failed had fetched, for attune p2g replay"};
  if (entry == nullptr)
    return Error{Errc::kNotFound, fmt::format("{} has no {}", path, kept::AgeName(field, age)),
                 fmt::format("attune p2g dump {} {} lists what there is", path, field.name)};
  return DumpElements(open, *entry, json);
}

Result<int> DiffKept(const std::string& path, const std::string& other_path, bool json) {
  ATTUNE_TRY(const OpenFile one, Open(path));
  ATTUNE_TRY(const OpenFile other, Open(other_path));
  ATTUNE_TRY(const std::vector<int> fields, MatchFields(one, other));
  const std::vector<Pair> pairs = PairsOf(one, other, fields);
  for (const Pair& pair : pairs) {
    if (pair.one == nullptr || pair.other == nullptr) continue;
    ATTUNE_TRY(const std::optional<Difference> difference, Compare(one, other, pair));
    if (difference) return PrintDifference(one, other, pair, *difference, json);
  }
  for (const Pair& pair : pairs) {
    if (pair.one != nullptr && pair.other != nullptr) continue;
    const auto shown = [](const kept::AgeEntry* age) {
      return age == nullptr ? Json() : Json(ElementsText(age->stored));
    };
    const std::string name = kept::AgeName(one.Field(pair.field), pair.age) + ":";
    return PrintDifference(one, other, pair, {name, {}, shown(pair.one), shown(pair.other)}, json);
  }
  if (json) return PrintJson({{"same", true}, {"ages", pairs.size()}});
  std::printf("the same: %zu ages of %zu fields\n", pairs.size(), fields.size());
  return FinishOutput();
}

Result<std::string> ProgramOfKept(const std::string& path) {
  ATTUNE_TRY(const OpenFile open, Open(path));
  return open.file.program().executable;
}

}  // namespace attune::cli
