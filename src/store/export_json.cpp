/// One JSON object: the small tables as objects with the names of the SQL columns, samples and events as arrays.

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "store/export_encoder.h"
#include "store/sql_rows.h"

namespace attune::store {
namespace {

using Json = nlohmann::ordered_json;
using model::kAbsent;

Json Int(int64_t value) { return value == kAbsent ? Json(nullptr) : Json(value); }
Json Id(int64_t id) { return id == 0 ? Json(nullptr) : Json(id); }

Json Row(const model::Element& row) {
  return {{"id", row.id},
          {"parent", Id(row.parent)},
          {"kind", model::ToString(row.kind)},
          {"host", row.host},
          {"os_id", Int(row.os_id)},
          {"name", row.name},
          {"start_ns", Int(row.start_ns)},
          {"end_ns", Int(row.end_ns)}};
}

Json Row(const model::Series& row) {
  return {{"id", row.id},
          {"sensor", row.sensor},
          {"signal", row.signal},
          {"element", Id(row.element)},
          {"unit", row.unit},
          {"kind", model::ToString(row.kind)},
          {"scale", row.scale},
          {"max_per_second", Int(row.max_per_second)},
          {"sum", model::ToString(row.sum)}};
}

Json Row(const model::Stream& row) {
  return {{"id", row.id}, {"interval_ns", row.interval_ns}, {"series", row.series}};
}

Json Row(const model::Process& row) {
  return {{"id", row.id},
          {"parent", Id(row.parent)},
          {"host", row.host},
          {"pid", row.pid},
          {"start_ns", Int(row.start_ns)},
          {"end_ns", Int(row.end_ns)},
          {"exit_code", Int(row.exit_code)},
          {"exit_signal", Int(row.exit_signal)},
          {"command", row.command},
          {"user_ns", Int(row.user_ns)},
          {"system_ns", Int(row.system_ns)},
          {"minor_faults", Int(row.minor_faults)},
          {"major_faults", Int(row.major_faults)},
          {"voluntary_switches", Int(row.voluntary_switches)},
          {"involuntary_switches", Int(row.involuntary_switches)},
          {"max_rss_bytes", Int(row.max_rss_bytes)}};
}

Json Row(const model::Label& row) { return {{"t_ns", row.t_ns}, {"text", row.text}}; }

Json Row(const model::Alarm& row) {
  return {{"t_ns", row.t_ns},
          {"id", row.id},
          {"state", model::ToString(row.state)},
          {"alarm", row.alarm},
          {"severity", model::ToString(row.severity)},
          {"element", Id(row.element)},
          {"series", Id(row.series)},
          {"value", Int(row.value)},
          {"threshold", Int(row.threshold)},
          {"scale", row.scale},
          {"unit", row.unit},
          {"text", row.text},
          {"advice", row.advice}};
}

Json Row(const model::Gap& row) {
  return {{"stream", Id(row.stream)},
          {"t0_ns", row.t0_ns},
          {"t1_ns", row.t1_ns},
          {"count", row.count},
          {"reason", model::ToString(row.reason)}};
}

Json Row(const model::Site& row) {
  return {{"id", Id(row.id)},     {"frame", row.frame},          {"function", row.function},
          {"file", row.file},     {"line", Int(row.line)},       {"inlined", row.inlined ? 1 : 0},
          {"module", row.module}, {"address", Int(row.address)}, {"build_id", row.build_id}};
}

Json Row(const std::string& text) { return text; }

class JsonEncoder : public ExportEncoder {
 public:
  JsonEncoder(const model::Metadata& metadata, ExportOutput& output) : metadata_(metadata), output_(output) {}

  void Begin() override {
    output_.bytes() += "{\"info\":" + Text(Json(metadata_.info));
    output_.bytes() += fmt::format(",\n\"real_minus_monotonic_ns\":{}", metadata_.real_minus_monotonic_ns);
    Table("elements", metadata_.elements);
    Table("series", metadata_.series);
    Table("streams", metadata_.streams);
    Table("processes", metadata_.processes);
    Table("labels", metadata_.labels);
    Table("alarms", metadata_.alarms);
    Table("sites", metadata_.sites);
    Table("gaps", metadata_.gaps);
    Table("damage", metadata_.damage);
    output_.bytes() += ",\n\"samples\":[";
  }

  void BeginStream(const model::Stream& stream) override { stream_ = &stream; }

  bool Samples(const model::SampleBlock& block) override {
    for (size_t row = 0; row < block.t_ns.size(); ++row) {
      for (size_t column = 0; column < block.columns.size(); ++column) {
        Separate();
        Append("[{},{},", stream_->series[column], block.t_ns[row]);
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
    for (size_t row = 0; row < block.t_ns.size(); ++row) {
      Separate();
      Append("[{},", block.t_ns[row]);
      AppendId(block.thread[row]);
      Append(",\"{}\",", EventKindName(block.kind[row]));
      AppendId(block.object[row]);
      output_.bytes() += ',';
      AppendId(block.site[row]);
      output_.bytes() += ',';
      AppendInt(block.a[row]);
      output_.bytes() += ',';
      AppendInt(block.b[row]);
      output_.bytes() += ']';
      if (!output_.Drain()) return false;
    }
    return true;
  }

  bool BeginSync() override {
    output_.bytes() += "\n],\n\"sync\":[";
    first_ = true;
    return true;
  }

  bool Sync(std::span<const model::Sync> rows) override {
    for (const model::Sync& row : rows) {
      Separate();
      Append("[{},", row.t_ns);
      for (const model::ElementId id : {row.thread, row.object, row.site}) {
        AppendId(id);
        output_.bytes() += ',';
      }
      Append("\"{}\",{},{},{},{},{}]", model::ToString(row.kind), row.count, row.contended, row.wait_ns, row.hold_ns,
             row.holds);
      if (!output_.Drain()) return false;
    }
    return true;
  }

  bool BeginMessages() override {
    output_.bytes() += "\n],\n\"messages\":[";
    first_ = true;
    return true;
  }

  bool Messages(std::span<const model::Message> rows) override {
    for (const model::Message& row : rows) {
      Separate();
      Append("[{},", row.t_ns);
      AppendIds({row.thread, row.rank});
      Append("\"{}\",", model::ToString(row.kind));
      AppendIds({row.function, row.communicator, row.peer});
      AppendInt(row.tag);
      Append(",{},", row.bytes);
      AppendIds({row.site});
      Append("{},", row.post_ns);
      AppendInt(row.wait_ns);
      output_.bytes() += ',';
      AppendIds({row.wait_site});
      AppendInt(row.cpu);
      output_.bytes() += ']';
      if (!output_.Drain()) return false;
    }
    return true;
  }

  void BeginCollectives() override {
    output_.bytes() += "\n],\n\"collectives\":[";
    first_ = true;
  }

  bool Collectives(std::span<const model::Collective> rows) override {
    for (const model::Collective& row : rows) {
      Separate();
      Append("[{},", row.t_ns);
      AppendIds({row.thread, row.rank, row.function, row.communicator});
      Append("{},", row.sequence);
      AppendInt(row.root);
      Append(",{},{},", row.bytes_sent, row.bytes_received);
      AppendIds({row.site});
      Append("{},", row.post_ns);
      AppendInt(row.wait_ns);
      output_.bytes() += ',';
      AppendInt(row.cpu);
      output_.bytes() += ',';
      AppendInt(row.communicator_rank);
      output_.bytes() += ',';
      AppendInt(row.communicator_size);
      output_.bytes() += ']';
      if (!output_.Drain()) return false;
    }
    return true;
  }

  void End() override { output_.bytes() += "\n]}\n"; }

 private:
  static std::string Text(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

  template <class T>
  void Table(std::string_view name, const std::vector<T>& rows) {
    Append(",\n\"{}\":[", name);
    first_ = true;
    for (const T& row : rows) {
      Separate();
      output_.bytes() += Text(Row(row));
      if (!output_.Drain()) return;
    }
    output_.bytes() += "\n]";
    first_ = true;
  }

  void Separate() {
    output_.bytes() += first_ ? "\n" : ",\n";
    first_ = false;
  }
  template <class... Values>
  void Append(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(output_.bytes()), format, std::forward<Values>(values)...);
  }
  void AppendInt(int64_t value) {
    if (value == kAbsent) {
      output_.bytes() += "null";
    } else {
      Append("{}", value);
    }
  }
  void AppendId(int64_t id) { AppendInt(id == 0 ? kAbsent : id); }
  /// Each with a comma behind it.
  void AppendIds(std::initializer_list<model::ElementId> ids) {
    for (const model::ElementId id : ids) {
      AppendId(id);
      output_.bytes() += ',';
    }
  }

  const model::Metadata& metadata_;
  ExportOutput& output_;
  const model::Stream* stream_ = nullptr;
  bool first_ = true;
};

}  // namespace

std::unique_ptr<ExportEncoder> MakeJsonEncoder(const model::Metadata& metadata, ExportOutput& output) {
  return std::make_unique<JsonEncoder>(metadata, output);
}

}  // namespace attune::store
