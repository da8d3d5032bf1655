#include "session/host/sink_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace attune::session {
namespace {

using model::kAbsent;

/// How far the streams may be apart in what the sink is told. Frames hold half a second: few are read twice.
constexpr int64_t kPartNs = 10'000'000'000;

Error Gone(const sink::PluginSink& sink) {
  return {Errc::kUnavailable, fmt::format("sink {} {}", sink.name(), sink.Totals().problem), ""};
}

class Replay {
 public:
  Replay(model::Source& source, const model::Metadata& metadata, sink::PluginSink& sink)
      : source_(source), metadata_(metadata), sink_(sink) {}

  Status Run(const std::function<void(double done)>& progress) {
    const model::TimeRange all = source_.Extent();
    int64_t t0_ns = all.t0_ns;
    // The first part includes all before the first sample, and the last part all after the last one.
    for (bool first = true, last = false; !last; first = false) {
      int64_t t1_ns = 0;
      last = __builtin_add_overflow(t0_ns, kPartNs, &t1_ns) || t1_ns >= all.t1_ns;
      if (last) t1_ns = all.t1_ns;
      ATTUNE_CHECK_OK(Part({t0_ns, t1_ns}, {first ? INT64_MIN : t0_ns, last ? INT64_MAX : t1_ns}));
      if (progress) progress(Share(all, t1_ns));
      t0_ns = t1_ns;
    }
    return {};
  }

 private:
  static double Share(model::TimeRange all, int64_t t_ns) {
    const double length = static_cast<double>(all.t1_ns) - static_cast<double>(all.t0_ns);
    return std::clamp((static_cast<double>(t_ns) - static_cast<double>(all.t0_ns)) / std::max(length, 1.0), 0.0, 1.0);
  }

  /// @param wide the same for what is no sample
  Status Part(model::TimeRange range, model::TimeRange wide) {
    const auto in_part = [&](int64_t t_ns) { return t_ns >= wide.t0_ns && t_ns < wide.t1_ns; };
    ATTUNE_CHECK_OK(HandProcesses([&](const model::Process& process) { return in_part(process.start_ns); }, false));
    ATTUNE_CHECK_OK(HandRows(metadata_.labels, [&](const auto& row) { return in_part(row.t_ns); }));
    ATTUNE_CHECK_OK(HandRows(metadata_.alarms, [&](const auto& row) { return in_part(row.t_ns); }));
    ATTUNE_CHECK_OK(HandRows(metadata_.gaps, [&](const auto& row) { return in_part(row.t0_ns); }));
    for (const model::Stream& stream : metadata_.streams) ATTUNE_CHECK_OK(HandSamples(stream, range));
    return HandProcesses([&](const model::Process& process) { return in_part(process.end_ns); }, true);
  }

  /// @param ended with what is known of their end
  template <class Chosen>
  Status HandProcesses(const Chosen& chosen, bool ended) {
    std::vector<model::Process> rows;
    for (const model::Process& process : metadata_.processes) {
      if ((ended && process.end_ns == kAbsent) || !chosen(process)) continue;
      rows.push_back(process);
      if (!ended) rows.back().end_ns = kAbsent;
    }
    return Hand(rows);
  }

  template <class Row, class Chosen>
  Status HandRows(const std::vector<Row>& all, const Chosen& chosen) {
    std::vector<Row> rows;
    std::copy_if(all.begin(), all.end(), std::back_inserter(rows), chosen);
    return Hand(rows);
  }

  template <class Row>
  Status Hand(const std::vector<Row>& rows) {
    constexpr size_t kRowsABatch = 16'384;
    for (size_t at = 0; at < rows.size(); at += kRowsABatch) {
      const auto part = std::span(rows).subspan(at, std::min(kRowsABatch, rows.size() - at));
      if (!sink_.ConsumePatiently(std::make_shared<const model::Batch>(model::ToBatch(part)))) return Gone(sink_);
    }
    return {};
  }

  Status HandSamples(const model::Stream& stream, model::TimeRange range) {
    std::vector<uint32_t> columns(stream.series.size());
    std::iota(columns.begin(), columns.end(), 0u);
    bool taken = true;
    ATTUNE_CHECK_OK(source_.ReadSamples(stream.id, columns, range, [&](const model::SampleBlock& block) {
      auto batch = std::make_shared<model::Batch>();
      batch->table = model::Sample::kTable;
      batch->stream = stream.id;
      batch->rows = block.t_ns.size();
      batch->ints.emplace_back(block.t_ns.begin(), block.t_ns.end());
      batch->ints.insert(batch->ints.end(), block.columns.begin(), block.columns.end());
      taken = sink_.ConsumePatiently(batch);
      return taken;
    }));
    return taken ? Status() : Gone(sink_);
  }

  model::Source& source_;
  const model::Metadata& metadata_;
  sink::PluginSink& sink_;
};

}  // namespace

Result<sink::SinkTotals> ReplayInto(model::Source& source, sink::SinkOptions options,
                                    const std::function<void(double done)>& progress) {
  const auto metadata = source.Meta();
  // Processes and alarms are told when they come in time, not all at the beginning.
  auto first = std::make_shared<model::Metadata>(*metadata);
  first->processes.clear();
  first->alarms.clear();
  options.metadata = [first] { return first; };
  options.max_restarts = 0;
  options.drain_ns = INT64_MAX / 2;  // values that were read are not given up, however slow the sink is
  ATTUNE_TRY(const auto sink, sink::PluginSink::Start(std::move(options)));
  ATTUNE_CHECK_OK(Replay(source, *metadata, *sink).Run(progress));
  const sink::SinkTotals totals = sink->Finish();
  if (!totals.problem.empty() || totals.dropped > 0) {
    return Error{Errc::kIo,
                 fmt::format("sink {}: {} of {} values were not delivered{}{}", sink->name(), totals.dropped,
                             totals.dropped + totals.written, totals.problem.empty() ? "" : ": ", totals.problem),
                 ""};
  }
  return totals;
}

}  // namespace attune::session
