#include "merge/merge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <span>

#include "merge/cross_host.h"
#include "merge/merged_elements.h"
#include "merge/merged_info.h"
#include "merge/merged_rows.h"
#include "merge/table_reader.h"
#include "model/info_keys.h"
#include "model/job_keys.h"
#include "store/log_writer.h"
#include "store/recording.h"

namespace attune::merge {
namespace {

using merge::HostClock;
using model::Table;

/// A recording that is read.
struct Input {
  std::string path;
  std::unique_ptr<model::Source> source;
  std::shared_ptr<const model::Metadata> meta;

  std::string Host() const {
    const auto host = meta->info.find(std::string(model::info::kHost));
    return host == meta->info.end() ? "" : host->second;
  }
  /// Identifiers of its MPI jobs.
  std::set<std::string> Jobs() const {
    std::set<std::string> jobs;
    for (const auto& [key, value] : meta->info) {
      if (key.starts_with(model::info::kMpiWorldPrefix)) jobs.insert(value);
    }
    return jobs;
  }
};

constexpr std::string_view kOneAHost = "give one recording a host, all of one run";

Result<std::vector<Input>> Open(const MergeOptions& options) {
  std::vector<Input> inputs;
  for (const std::string& path : options.inputs) {
    std::error_code ignored;
    if (std::filesystem::equivalent(path, options.output, ignored))
      return Error{Errc::kInvalidArgument, fmt::format("-o {} is one of the recordings", path), "choose another name"};
    Input input{.path = path, .source = nullptr, .meta = nullptr};
    ATTUNE_TRY(input.source, store::OpenRecording(path));
    if (input.source->Growing())
      return Error{Errc::kUnavailable, fmt::format("{} is still being recorded", path),
                   "wait until its program has ended"};
    input.meta = input.source->Meta();
    inputs.push_back(std::move(input));
  }
  return inputs;
}

Status CheckHosts(const std::vector<Input>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].meta->info.contains(std::string(model::info::kMergedHosts)))
      return Error{Errc::kInvalidArgument, fmt::format("{} is merged already", inputs[i].path),
                   "give the recordings that it was made of, all at once"};
    for (size_t k = 0; k < i; ++k) {
      if (!inputs[i].Host().empty() && inputs[i].Host() == inputs[k].Host())
        return Error{Errc::kInvalidArgument,
                     fmt::format("{} and {} are both of the host {}", inputs[k].path, inputs[i].path, inputs[i].Host()),
                     std::string(kOneAHost)};
    }
  }
  return {};
}

/// One may have a job in common with the others only by way of a third.
Status CheckJobs(const std::vector<Input>& inputs) {
  for (const Input& input : inputs) {
    if (input.Jobs().empty())
      return Error{Errc::kInvalidArgument, fmt::format("{} has no rank of an MPI job", input.path),
                   "merge joins what was recorded of one MPI job on several hosts"};
  }
  std::set<std::string> jobs = inputs.front().Jobs();
  std::vector<bool> joined(inputs.size());
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::set<std::string> own = inputs[i].Jobs();
      if (joined[i] || std::ranges::none_of(own, [&](const std::string& job) { return jobs.contains(job); })) continue;
      jobs.insert(own.begin(), own.end());
      joined[i] = is_new = true;
    }
  }
  const auto alone = std::ranges::find(joined, false);
  if (alone == joined.end()) return {};
  const Input& other = inputs[static_cast<size_t>(alone - joined.begin())];
  return Error{Errc::kInvalidArgument,
               fmt::format("{} is not of the same MPI job as {}", other.path, inputs.front().path),
               std::string(kOneAHost)};
}

/// The recording that is written. Its writer drops what comes faster than it can write: it is flushed each million of
/// values, so that nothing is.
class Output {
 public:
  explicit Output(std::unique_ptr<store::LogWriter> writer) : writer_(std::move(writer)) {}

  Status Put(model::Batch batch) {
    if (batch.rows == 0) return {};
    constexpr size_t kCellsAtOnce = 1u << 20;
    batch.dropped_before = 0;  // the gaps say it
    cells_ += batch.rows * (batch.ints.size() + batch.texts.size());
    writer_->Consume(std::make_shared<const model::Batch>(std::move(batch)));
    if (cells_ < kCellsAtOnce) return {};
    cells_ = 0;
    return writer_->Flush();
  }
  Status PutRows(const std::vector<model::Element>& rows) {
    return PutInOrder(*model::FindSchema(model::Element::kTable), std::vector{model::ToBatch(rows)});
  }
  /// All rows, by time where the table has one.
  Status PutInOrder(const model::TableSchema& schema, const std::vector<model::Batch>& parts) {
    constexpr size_t kRowsAtOnce = 4096;
    struct Ref {
      int64_t t_ns;
      const model::Batch* part;
      size_t row;
    };
    std::vector<Ref> refs;
    for (const model::Batch& part : parts) {
      for (size_t row = 0; row < part.rows; ++row)
        refs.push_back(
            {schema.time_column < 0 ? 0 : part.ints[static_cast<size_t>(schema.time_column)][row], &part, row});
    }
    std::ranges::stable_sort(refs, {}, &Ref::t_ns);
    for (size_t at = 0; at < refs.size(); at += kRowsAtOnce) {
      model::Batch piece;
      piece.table = schema.table;
      piece.ints.resize(parts.front().ints.size());
      piece.texts.resize(parts.front().texts.size());
      for (const Ref& ref : std::span(refs).subspan(at, std::min(kRowsAtOnce, refs.size() - at))) {
        for (size_t i = 0; i < piece.ints.size(); ++i) piece.ints[i].push_back(ref.part->ints[i][ref.row]);
        for (size_t i = 0; i < piece.texts.size(); ++i) piece.texts[i].push_back(ref.part->texts[i][ref.row]);
        ++piece.rows;
      }
      ATTUNE_CHECK_OK(Put(std::move(piece)));
    }
    return {};
  }
  void Discard() { writer_->Discard(); }
  Status Close() {
    ATTUNE_CHECK_OK(writer_->Close());
    if (writer_->LostRows() > 0)
      return Error{Errc::kIo, fmt::format("{} rows could not be written", writer_->LostRows()), ""};
    return {};
  }

 private:
  std::unique_ptr<store::LogWriter> writer_;
  size_t cells_ = 0;
};

/// Whether its rows come recording after recording.
bool IsCopied(const model::TableSchema& schema) {
  const bool is_read = schema.text.storage == model::Storage::kTimed || schema.text.storage == model::Storage::kPlain;
  return is_read && !schema.text.is_merged_apart;
}

class Merge {
 public:
  explicit Merge(std::vector<Input> inputs) : inputs_(std::move(inputs)) {
    for (const Input& input : inputs_) sources_.push_back(input.source.get());
  }

  /// Everything that may be wrong with the recordings shows here.
  Status Prepare() {
    for (const Input& input : inputs_) {
      ATTUNE_CHECK_OK(elements_.Add(input.path, *input.meta));
      int64_t most = 0;
      for (const model::Alarm& alarm : input.meta->alarms) most = std::max(most, alarm.id);
      ATTUNE_CHECK_OK(input.source->ReadTable(model::Stack::kTable, [&](const model::Batch& batch) {
        for (const model::Stack& stack : model::RowsFrom<model::Stack>(batch)) most = std::max(most, stack.id);
        return true;
      }));
      numbers_.NextRecording(most);
    }
    return FitClocks();
  }

  Status Write(Output& output) {
    ATTUNE_CHECK_OK(WriteMetadata(output));
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const MergedRows rows = RowsOf(i);
      for (const model::TableSchema& schema : model::AllSchemas()) {
        if (IsCopied(schema)) ATTUNE_CHECK_OK(Copy(output, i, schema.table, rows));
      }
    }
    // Keeps only the first host's clock rows.
    ATTUNE_CHECK_OK(Copy(output, 0, model::ClockReading::kTable, RowsOf(0)));
    // Side by side, for who reads them waits only so long for the other side of a message.
    CrossHostMessages between(elements_,
                              [this](size_t, size_t, const model::Message& sent, const model::Message& received) {
                                ++messages_;
                                if (received.t_ns < sent.post_ns) ++backward_;
                              });
    ATTUNE_CHECK_OK(ReadInOrder(model::Message::kTable, [&](const model::Batch& batch) {
      for (const model::Message& row : model::RowsFrom<model::Message>(batch)) between.Add(row);
      return output.Put(batch);
    }));
    between.Finish();
    ATTUNE_CHECK_OK(
        ReadInOrder(model::Collective::kTable, [&](const model::Batch& batch) { return output.Put(batch); }));
    return output.Put(model::InfoBatch(InfoRows()));
  }

  MergeResult Result() const {
    MergeResult result;
    result.messages = messages_;
    result.backward = backward_;
    result.contradiction_ns = contradiction_ns_;
    result.hosts = Hosts();
    for (const Input& input : inputs_) {
      const auto meta = input.source->Meta();
      for (const std::string& damage : meta->damage) result.damage.push_back(input.path + ": " + damage);
    }
    return result;
  }

 private:
  MergedRows RowsOf(size_t i) { return {i, elements_, numbers_, clocks_[i]}; }

  std::vector<MergedHost> Hosts() const {
    std::vector<MergedHost> hosts;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const int64_t first_ns = inputs_[i].source->Extent().t0_ns;
      int64_t offset_ns = 0;
      if (__builtin_sub_overflow(clocks_[i].ToCommon(first_ns), first_ns, &offset_ns)) offset_ns = 0;
      hosts.push_back({.file = inputs_[i].path,
                       .host = inputs_[i].Host(),
                       .ranks = elements_.RanksOf(i),
                       .clock = clocks_[i],
                       .offset_ns = offset_ns});
    }
    return hosts;
  }

  std::vector<std::pair<std::string, std::string>> InfoRows() const {
    std::vector<const model::Metadata*> metas;
    for (const Input& input : inputs_) metas.push_back(input.meta.get());
    auto rows = MergedInfo(metas, Hosts(), backward_);
    for (auto& row : elements_.JobRows()) rows.push_back(std::move(row));
    return rows;
  }

  /// Batches of all recordings with the elements of the result, by the clocks as they are known.
  Status ReadInOrder(Table table, const std::function<Status(const model::Batch& batch)>& visit) {
    std::vector<MergedRows> rows;
    for (size_t i = 0; i < inputs_.size(); ++i) rows.push_back(RowsOf(i));
    return ReadSideBySide(
        sources_, table, [this](size_t i, int64_t t_ns) { return clocks_[i].ToCommon(t_ns); },
        [&](size_t i, model::Batch batch) { return visit(rows[i].Convert(std::move(batch))); });
  }

  /// By the wall clocks; where these are not known, or wrong, as if all began at once.
  std::vector<merge::ClockOffsets::Host> Bases() const {
    std::vector<merge::ClockOffsets::Host> hosts;
    const auto first = inputs_.front().source->Extent();
    const int64_t first_real = inputs_.front().meta->real_minus_monotonic_ns;
    for (const Input& input : inputs_) {
      const model::TimeRange own = input.source->Extent();
      int64_t base = 0, begin = 0, end = 0;
      const bool is_known = first_real != 0 && input.meta->real_minus_monotonic_ns != 0 &&
                            !__builtin_sub_overflow(input.meta->real_minus_monotonic_ns, first_real, &base) &&
                            !__builtin_add_overflow(own.t0_ns, base, &begin) &&
                            !__builtin_add_overflow(own.t1_ns, base, &end);
      // Wall clocks by which they never ran together are wrong.
      if (!is_known || begin >= first.t1_ns || end <= first.t0_ns) {
        if (__builtin_sub_overflow(first.t0_ns, own.t0_ns, &base)) base = 0;
      }
      hosts.push_back({own, &input == &inputs_.front() ? 0 : base});
    }
    return hosts;
  }

  Status FitClocks() {
    const std::vector<merge::ClockOffsets::Host> hosts = Bases();
    clocks_.clear();
    for (const auto& host : hosts) clocks_.push_back({.knots = {{host.extent.t0_ns, host.base_ns}}});
    merge::ClockOffsets offsets(hosts);
    const auto add = [&](size_t from, size_t to, int64_t sent_ns, int64_t received_ns) {
      // By the bases, which is undone.
      int64_t sent = 0, received = 0;
      if (!__builtin_sub_overflow(sent_ns, hosts[from].base_ns, &sent) &&
          !__builtin_sub_overflow(received_ns, hosts[to].base_ns, &received))
        offsets.Add(from, to, sent, received);
    };
    model::Metadata known;
    known.elements = elements_.Elements(clocks_);
    std::set<model::ElementId> synchronous;  // sends that end only when they are received
    for (const model::Element& element : known.elements) {
      if (element.kind == model::ElementKind::kFunction && element.name == "MPI_Ssend") synchronous.insert(element.id);
    }
    CrossHostMessages messages(elements_,
                               [&](size_t from, size_t to, const model::Message& sent, const model::Message& received) {
                                 add(from, to, sent.post_ns, received.t_ns);
                                 if (synchronous.contains(sent.function)) add(to, from, received.post_ns, sent.t_ns);
                               });
    ATTUNE_CHECK_OK(ReadInOrder(model::Message::kTable, [&](const model::Batch& batch) -> Status {
      for (const model::Message& row : model::RowsFrom<model::Message>(batch)) messages.Add(row);
      return {};
    }));
    messages.Finish();
    CrossHostCollectives collectives(elements_, known, add);
    ATTUNE_CHECK_OK(ReadInOrder(model::Collective::kTable, [&](const model::Batch& batch) -> Status {
      for (const model::Collective& row : model::RowsFrom<model::Collective>(batch)) collectives.Add(row);
      return {};
    }));
    collectives.Finish();
    merge::ClockOffsets::Fit fit = offsets.Solve();
    clocks_ = std::move(fit.clocks);
    contradiction_ns_ = fit.contradiction_ns;
    return {};
  }

  Status WriteMetadata(Output& output) {
    ATTUNE_CHECK_OK(output.Put(model::InfoBatch(InfoRows())));
    ATTUNE_CHECK_OK(output.PutRows(elements_.Elements(clocks_)));
    for (const model::TableSchema& schema : model::AllSchemas()) {
      if (!schema.IsKept() || schema.text.is_merged_apart) continue;
      std::vector<model::Batch> parts;
      for (size_t i = 0; i < inputs_.size(); ++i)
        parts.push_back(RowsOf(i).Convert(model::KeptRows(*inputs_[i].meta, schema.table)));
      ATTUNE_CHECK_OK(output.PutInOrder(schema, parts));
    }
    return {};
  }

  Status Copy(Output& output, size_t i, Table table, const MergedRows& rows) {
    Status status;
    ATTUNE_CHECK_OK(sources_[i]->ReadTable(table, [&](const model::Batch& batch) {
      status = output.Put(rows.Convert(batch));
      return status.ok();
    }));
    return status;
  }

  std::vector<Input> inputs_;
  std::vector<model::Source*> sources_;
  MergedElements elements_;
  MergedNumbers numbers_;
  std::vector<HostClock> clocks_;
  int64_t contradiction_ns_ = 0;
  int64_t messages_ = 0;
  int64_t backward_ = 0;
};

}  // namespace

Result<MergeResult> MergeRecordings(const MergeOptions& options) {
  if (options.inputs.size() < 2)
    return Error{Errc::kInvalidArgument, "one recording is nothing to merge", std::string(kOneAHost)};
  ATTUNE_TRY(std::vector<Input> inputs, Open(options));
  ATTUNE_CHECK_OK(CheckHosts(inputs));
  ATTUNE_CHECK_OK(CheckJobs(inputs));
  Merge merge(std::move(inputs));
  ATTUNE_CHECK_OK(merge.Prepare());
  store::LogOptions log;
  log.path = options.output;
  if (options.overwrite) log.if_there = store::IfThere::kReplace;
  ATTUNE_TRY(auto writer, store::LogWriter::Create(log));
  Output output(std::move(writer));
  Status status = merge.Write(output);
  if (status.ok()) status = output.Close();
  if (!status.ok()) {
    output.Discard();  // a part of it would look like all of it
    return status.error();
  }
  return merge.Result();
}

}  // namespace attune::merge
