#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <memory>

#include "base/text.h"
#include "cli/command.h"
#include "cli/report/account_rows.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "store/query.h"
#include "store/recording.h"

namespace attune::cli {
namespace {

using store::QueryValue;

struct Options {
  std::string file;
  std::string sql;
  bool json = false;
  bool csv = false;
};

/// Rows as they come: a result may be larger than memory.
class RowPrinter {
 public:
  virtual ~RowPrinter() = default;
  virtual void Columns(std::span<const std::string> names) = 0;
  virtual void Row(std::span<const QueryValue> values) = 0;
  virtual void Finish() {}
};

bool IsNumber(const QueryValue& value) {
  return std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value);
}

/// @param exact real numbers with all their digits; else six
std::string Text(const QueryValue& value, bool exact) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&value))
    return exact ? fmt::format("{}", *number) : fmt::format("{:.6g}", *number);
  if (const auto* text = std::get_if<std::string_view>(&value)) return std::string(*text);
  return "";
}

/// For people: the first rows decide how wide the columns are.
class TablePrinter final : public RowPrinter {
 public:
  void Columns(std::span<const std::string> names) override {
    for (const std::string& name : names) columns_.push_back({Printable(name), TextTable::Align::kLeft});
    is_number_.assign(names.size(), true);
  }
  void Row(std::span<const QueryValue> values) override {
    constexpr size_t kFirstRows = 1000;
    std::vector<std::string> cells;
    for (size_t i = 0; i < values.size(); ++i) {
      const bool absent = std::holds_alternative<std::monostate>(values[i]);
      cells.push_back(absent ? "-" : Printable(Text(values[i], false)));
      if (!decided_ && !absent && !IsNumber(values[i])) is_number_[i] = false;
    }
    if (!decided_) {
      first_rows_.push_back(std::move(cells));
      if (first_rows_.size() >= kFirstRows) PrintFirstRows();
    } else {
      PrintRow(std::move(cells));
    }
  }
  void Finish() override {
    if (!decided_) PrintFirstRows();
  }

 private:
  void PrintFirstRows() {
    decided_ = true;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (is_number_[i]) columns_[i].align = TextTable::Align::kRight;
    }
    TextTable table(columns_);
    for (auto& row : first_rows_) table.AddRow(row);
    widths_ = table.Fit(0, width_);
    const std::string text = table.ToString(0, width_);
    const size_t end = text.find('\n');
    std::printf("%s%s", Styled(stdout, Style::kDim, text.substr(0, end)).c_str(), text.substr(end).c_str());
    first_rows_.clear();
  }
  void PrintRow(std::vector<std::string> cells) {
    TextTable table(columns_);
    table.SetWidths(widths_);
    table.AddRow(std::move(cells));
    const std::string text = table.ToString(0, width_);
    std::fputs(text.c_str() + text.find('\n') + 1, stdout);
  }

  const size_t width_ = TerminalWidth(stdout);
  std::vector<TextTable::Column> columns_;
  std::vector<bool> is_number_;
  std::vector<std::vector<std::string>> first_rows_;
  std::vector<size_t> widths_;
  bool decided_ = false;
};

/// RFC 4180; NULL is an empty field.
class CsvPrinter final : public RowPrinter {
 public:
  void Columns(std::span<const std::string> names) override {
    std::string line;
    for (size_t i = 0; i < names.size(); ++i) line += (i > 0 ? "," : "") + CsvField(names[i]);
    std::printf("%s\r\n", line.c_str());
  }
  void Row(std::span<const QueryValue> values) override {
    std::string line;
    for (size_t i = 0; i < values.size(); ++i) line += (i > 0 ? "," : "") + CsvField(Text(values[i], true));
    line += "\r\n";
    std::fwrite(line.data(), 1, line.size(), stdout);
  }
};

/// An array with an object a row.
class JsonPrinter final : public RowPrinter {
 public:
  void Columns(std::span<const std::string> names) override {
    names_.assign(names.begin(), names.end());
    std::fputs("[", stdout);
  }
  void Row(std::span<const QueryValue> values) override {
    nlohmann::ordered_json row = nlohmann::ordered_json::object();
    for (size_t i = 0; i < values.size(); ++i) row[names_[i]] = Value(values[i]);
    const std::string text = row.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    std::printf("%s\n%s", first_ ? "" : ",", text.c_str());
    first_ = false;
  }
  void Finish() override { std::printf("%s]\n", first_ ? "" : "\n"); }

 private:
  static nlohmann::ordered_json Value(const QueryValue& value) {
    if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
    if (const auto* real = std::get_if<double>(&value)) return *real;
    if (const auto* text = std::get_if<std::string_view>(&value)) return std::string(*text);
    return nullptr;
  }

  std::vector<std::string> names_;
  bool first_ = true;
};

std::unique_ptr<RowPrinter> MakePrinter(const Options& options) {
  if (options.json) return std::make_unique<JsonPrinter>();
  if (options.csv) return std::make_unique<CsvPrinter>();
  return std::make_unique<TablePrinter>();
}

Result<int> Run(const Options& options) {
  if (options.json && options.csv)
    return Error{Errc::kInvalidArgument, "--json and --csv exclude each other", "give one of them"};
  ATTUNE_TRY(const auto source, store::OpenRecording(options.file));
  ATTUNE_TRY(store::Query query, store::Query::Open(*source, AccountRows));
  const std::unique_ptr<RowPrinter> printer = MakePrinter(options);
  store::QueryVisitor visitor;
  visitor.on_columns = [&](std::span<const std::string> names) { printer->Columns(names); };
  // A full disk or a closed pipe ends the query.
  visitor.on_row = [&](std::span<const QueryValue> values) {
    printer->Row(values);
    return std::ferror(stdout) == 0;
  };
  ATTUNE_TRY([[maybe_unused]] const store::QuerySummary summary, query.Run(options.sql, visitor));
  printer->Finish();
  PrintDamage(*source);
  return FinishOutput();
}

}  // namespace

Command MakeQueryCommand() {
  auto options = std::make_shared<Options>();
  Command command;
  command.name = "query";
  command.rank = 90;
  command.summary = "query a recording with SQL";
  command.description =
      "Runs one read-only statement in SQLite's SQL. Tables: elements, series, samples, events, sync, sites, "
      "labels, alarms, gaps, processes, account, info and more (docs/query.md). Conditions on series and t_ns use an "
      "index.";
  command.positionals = {{"FILE", "The recording", &options->file, true, Complete::kRecording},
                         {"SQL", "The statement, in quotes", &options->sql, true, Complete::kNothing}};
  command.options = {{"--json", "", "As a JSON array, an object a row", &options->json},
                     {"--csv", "", "As CSV (RFC 4180)", &options->csv}};
  command.examples = {
      {"attune query job.attune \"select command, exit_code from processes where exit_code != 0\"", "what failed"},
      {"attune query job.attune \"select sensor, signal, unit from series\" --csv", "what was recorded"},
  };
  command.run = [options] { return Run(*options); };
  return command;
}

}  // namespace attune::cli
