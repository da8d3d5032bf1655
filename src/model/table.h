#pragma once
/// Tables: their numbers in frames, names and columns. Each table is described once, by the type of its rows
/// in a file of model/tables/; frames, SQL, exports, merging, the readers in other languages and docs/tables.md follow
/// that description.

#include <array>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace attune::model {

/// The value of a cell that has none (SQL shows NULL). Reserved: no signal may take it.
inline constexpr int64_t kAbsent = INT64_MIN;

using ElementId = uint32_t;  ///< dense from 1; 0: none
using SeriesId = uint32_t;   ///< dense from 1; 0: none
using StreamId = uint32_t;   ///< dense from 1; 0: tables without streams

/// The number of a table in frames: `kTable` of the type of its rows.
enum class Table : uint16_t {};

/// Meaning of a column's values: how foreign ones are checked, and what they become where recordings are merged.
enum class Role : uint8_t {
  kInteger,
  kAmount,       ///< not negative
  kTime,         ///< ns of CLOCK_MONOTONIC
  kElement,      ///< id of an element; 0: none
  kElementName,  ///< id of an element, of which SQL shows the name
  kSeries,       ///< id of a series; 0: none
  kStream,       ///< id of a stream; 0: none
  kCounted,      ///< number that is counted from 1 on in each recording; 0: none
  kScale,        ///< power of ten
  kFlag,         ///< 0 or 1
  kCode,         ///< index in `words`; SQL shows the word. A row of an unknown code is left out
  kLateCode,     ///< as kCode; what older recordings lack is the code 0
  kText,
};

struct ColumnSchema {
  std::string_view name;
  Role role = Role::kInteger;
  std::string_view unit;                         ///< "ns", "bytes"; "": a number of things, or none
  std::string_view about;                        ///< meaning of the column
  std::span<const std::string_view> words = {};  ///< words of codes; "?": there is no such code
};

/// How the rows of a table are kept.
enum class Storage : uint8_t {
  kTimed,     ///< events in time: make up a recording's extent, and the oldest go where it must stay small
  kReplaced,  ///< in Metadata; a later row replaces one of the same key
  kAppended,  ///< in Metadata
  kPlain,     ///< read as they were written
  kFile,      ///< the recording's own structure
  kPage,      ///< sent to pages, in no file
};

struct TableText {
  std::string_view name;
  std::string_view about;  ///< meaning of a row
  Storage storage = Storage::kPlain;
  std::string_view time;  ///< column by which frames are ordered; "": none
  std::string_view key;   ///< column that queries look up; "": none
  bool key_is_unique = false;
  bool is_revised = false;          ///< the last row of a key (a text) holds: queries show only that one
  bool is_on_page = true;           ///< for rows in Metadata: pages are sent them
  bool has_own_reader = false;      ///< Source reads its rows by a function of their own (ReadSamples, ReadEvents)
  bool has_series_columns = false;  ///< in frames a column a series follows those that are described
  bool is_outdated = false;         ///< the oldest go where a recording must stay small, as those of kTimed do
  bool is_merged_apart = false;     ///< merging makes its rows of those of all recordings, and copies none
};

/// The words of a code, by its value.
template <class Code>
struct Words;

template <class Code>
concept HasWords = requires { Words<Code>::kAll; };

/// @return "?" for a code that does not exist
template <HasWords Code>
constexpr std::string_view WordOf(int64_t code) {
  constexpr auto& words = Words<Code>::kAll;
  return code >= 0 && code < static_cast<int64_t>(words.size()) ? words[static_cast<size_t>(code)] : "?";
}

template <HasWords Code>
constexpr std::string_view ToString(Code code) {
  return WordOf<Code>(static_cast<int64_t>(code));
}

/// A column and where a row has it.
template <class Row, class Value>
struct Column {
  Value Row::* member;
  ColumnSchema schema;
};

template <class Row, class Value>
constexpr Column<Row, Value> Col(Value Row::* member, std::string_view name, Role role, std::string_view unit,
                                 std::string_view about) {
  Column<Row, Value> column{member, {name, role, unit, about}};
  if constexpr (HasWords<Value>) column.schema.words = Words<Value>::kAll;
  return column;
}

/// A visitor of columns that does nothing.
struct IgnoreColumns {
  constexpr void operator()(const auto&... /*column*/) const {}
};

/// The type of a table's rows: `kTable`, `kText` (a TableText) and `Columns(visit)`, which calls `visit` with a Column
/// for each in the order in which SQL shows them (a template, so that who only needs the type does not pay for them);
/// frames have the integers first, then the texts, both in this order. A column at the end of either can be added:
/// readers fill what older recordings lack with kAbsent or "". A type may have `bool Check()`, which corrects a foreign
/// row or says that it is none, and `Key()`, where rows of one id do not replace each other.
template <class Row>
concept TableRow = requires {
  { Row::kTable } -> std::convertible_to<Table>;
  Row::kText;
  Row::Columns(IgnoreColumns());
};

}  // namespace attune::model
