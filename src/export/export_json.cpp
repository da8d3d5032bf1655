/// One JSON object with all tables: rows of what happened as arrays, others as objects, in the order of the SQL columns
/// and with their names.

#include <nlohmann/json.hpp>

#include "export/export_encoder.h"

namespace attune::exports {
namespace {

using Json = nlohmann::ordered_json;
using model::kAbsent;
using model::Role;
using model::TableSchema;

bool IsId(Role role) {
  return role == Role::kElement || role == Role::kElementName || role == Role::kSeries || role == Role::kStream;
}

class JsonEncoder : public ExportEncoder {
 public:
  JsonEncoder(const model::Metadata& metadata, ExportOutput& output) : metadata_(metadata), output_(output) {}

  void Begin() override {
    output_.bytes() += "{\"info\":" + Text(Json(metadata_.info));
    output_.bytes() += fmt::format(",\n\"real_minus_monotonic_ns\":{}", metadata_.real_minus_monotonic_ns);
    for (const TableSchema& schema : model::AllSchemas()) {
      if (!schema.IsKept() || schema.table == model::InfoRow::kTable) continue;
      schema.table == model::StreamColumn::kTable ? Streams() : Kept(schema);
    }
    output_.bytes() += ",\n\"damage\":" + Text(Json(metadata_.damage));
    output_.bytes() += ",\n\"samples\":[";
  }

  void BeginStream(const model::Stream& stream) override { stream_ = &stream; }

  bool Samples(const model::SampleBlock& block) override {
    for (size_t row = 0; row < block.t_ns.size(); ++row) {
      for (size_t column = 0; column < block.columns.size(); ++column) {
        Separate();
        output_.Append("[{},{},", stream_->series[column], block.t_ns[row]);
        AppendInt(block.columns[column][row]);
        output_.bytes() += ']';
      }
      if (!output_.Drain()) return false;
    }
    return true;
  }

  bool BeginEvents() override {
    output_.bytes() += "\n],\n\"events\":[";
    first_ = true;
    return true;
  }

  bool Events(const model::EventBlock& block) override {
    const TableSchema& schema = *model::FindSchema(model::Event::kTable);
    for (size_t row = 0; row < block.t_ns.size(); ++row) {
      Separate();
      size_t column = 0;
      for (const int64_t value : {block.t_ns[row], block.thread[row], block.kind[row], block.object[row],
                                  block.site[row], block.a[row], block.b[row]}) {
        output_.bytes() += column == 0 ? '[' : ',';
        AppendCell(schema.columns[column++], value);
      }
      output_.bytes() += ']';
      if (!output_.Drain()) return false;
    }
    return true;
  }

  bool BeginTable(const TableSchema& schema) override {
    output_.Append("\n],\n\"{}\":[", schema.text.name);
    first_ = true;
    return true;
  }

  bool Rows(const TableSchema& schema, const model::Batch& batch) override {
    const model::Batch rows = schema.checked != nullptr ? schema.checked(batch) : batch;
    for (size_t row = 0; row < rows.rows; ++row) {
      Separate();
      AppendRow(schema, rows, row, schema.text.storage != model::Storage::kTimed);
      if (!output_.Drain()) return false;
    }
    return true;
  }

  void End() override { output_.bytes() += "\n]}\n"; }

 private:
  static std::string Text(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

  void Kept(const TableSchema& schema) {
    output_.Append(",\n\"{}\":[", schema.text.name);
    first_ = true;
    Rows(schema, model::KeptRows(metadata_, schema.table));
    output_.bytes() += "\n]";
    first_ = true;
  }

  /// A stream with its columns is one object.
  void Streams() {
    Json streams = Json::array();
    for (const model::Stream& row : metadata_.streams)
      streams.push_back({{"id", row.id}, {"interval_ns", row.interval_ns}, {"series", row.series}});
    output_.bytes() += ",\n\"streams\":" + Text(streams);
  }

  /// @param is_object {"name": value, ...}; else [value, ...]
  void AppendRow(const TableSchema& schema, const model::Batch& rows, size_t row, bool is_object) {
    output_.bytes() += is_object ? '{' : '[';
    for (size_t i = 0; i < schema.columns.size(); ++i) {
      if (i > 0) output_.bytes() += ',';
      if (is_object) output_.Append("\"{}\":", schema.columns[i].name);
      const size_t place = schema.places[i];
      if (schema.IsText(i)) {
        output_.bytes() += Text(rows.texts[place][row]);
      } else {
        AppendCell(schema.columns[i], rows.ints[place][row]);
      }
    }
    output_.bytes() += is_object ? '}' : ']';
  }
  void AppendCell(const model::ColumnSchema& column, int64_t value) {
    if (column.role == Role::kCode || column.role == Role::kLateCode) {
      const auto code = static_cast<size_t>(value);
      output_.Append("\"{}\"", code < column.words.size() ? column.words[code] : "?");
    } else if (IsId(column.role)) {
      AppendId(value);
    } else {
      AppendInt(value);
    }
  }

  void Separate() {
    output_.bytes() += first_ ? "\n" : ",\n";
    first_ = false;
  }
  void AppendInt(int64_t value) {
    if (value == kAbsent) {
      output_.bytes() += "null";
    } else {
      output_.Append("{}", value);
    }
  }
  void AppendId(int64_t id) { AppendInt(id == 0 ? kAbsent : id); }

  const model::Metadata& metadata_;
  ExportOutput& output_;
  const model::Stream* stream_ = nullptr;
  bool first_ = true;
};

}  // namespace

constinit const ExportFormat ExportFormat::kJson{MakeEncoder<JsonEncoder>};

}  // namespace attune::exports
