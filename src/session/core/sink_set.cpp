#include "session/core/sink_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

#include "base/units.h"
#include "model/info_keys.h"

namespace attune::session {
namespace {

void AddTo(sink::SinkTotals& sum, sink::SinkTotals more) {
  sum.written += more.written;
  sum.pending += more.pending;
  sum.dropped += more.dropped;
  sum.restarts += more.restarts;
  sum.problem = std::move(more.problem);
}

}  // namespace

SinkSet::SinkSet(Pipeline& pipeline, model::Source& source, std::string folder, sink::SinkReport report)
    : pipeline_(pipeline), source_(source), folder_(std::move(folder)), report_(std::move(report)) {}

SinkSet::~SinkSet() { static_cast<void>(Stop("")); }

Status SinkSet::Start(const sink::SinkChoice& choice) {
  sink::SinkOptions options;
  options.choice = choice;
  options.folder = folder_;
  options.metadata = [this] { return source_.Meta(); };
  options.report = report_;
  ATTUNE_TRY(std::unique_ptr<sink::PluginSink> sink, sink::PluginSink::Start(std::move(options)));
  static_cast<void>(Stop(choice.name));  // there may be none
  pipeline_.Exchange([&](std::vector<model::Sink*>& sinks) { sinks.push_back(sink.get()); });
  const MutexLock lock(mutex_);
  sinks_.push_back(std::move(sink));
  return {};
}

Status SinkSet::Stop(const std::string& name) {
  Sinks ending;
  std::vector<std::string> names;
  {
    const MutexLock lock(mutex_);
    for (auto& sink : sinks_) {
      names.push_back(sink->name());
      if (name.empty() || sink->name() == name) ending.push_back(std::move(sink));
    }
    std::erase(sinks_, nullptr);
  }
  if (ending.empty() && !name.empty())
    return Error{Errc::kNotFound, fmt::format("no sink '{}' is in use", name), DidYouMean(name, names)};
  FinishAll(std::move(ending));
  return {};
}

/// All at the same time, since each may take some seconds.
void SinkSet::FinishAll(Sinks sinks) {
  if (sinks.empty()) return;
  pipeline_.Exchange([&](std::vector<model::Sink*>& known) {
    for (const auto& sink : sinks) std::erase(known, sink.get());
  });
  std::vector<std::thread> threads;
  for (const auto& sink : sinks) threads.emplace_back([&sink] { sink->Finish(); });
  for (std::thread& thread : threads) thread.join();
  const MutexLock lock(mutex_);
  for (const auto& sink : sinks) AddTo(ended_[sink->name()], sink->Totals());
}

std::map<std::string, sink::SinkTotals> SinkSet::Totals() const {
  const MutexLock lock(mutex_);
  auto totals = ended_;
  for (const auto& sink : sinks_) AddTo(totals[sink->name()], sink->Totals());
  return totals;
}

std::vector<std::pair<std::string, std::string>> SinkSet::InfoRows() const {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const auto& entry : Totals()) {
    const sink::SinkTotals& totals = entry.second;
    const auto add = [&](std::string_view key, std::string value) {
      rows.emplace_back(fmt::format("{}{}.{}", model::info::kSinkPrefix, entry.first, key), std::move(value));
    };
    add(model::info::kSinkWritten, std::to_string(totals.written));
    add(model::info::kSinkDropped, std::to_string(totals.dropped));
    add(model::info::kSinkRestarts, std::to_string(totals.restarts));
    add(model::info::kSinkProblem, totals.problem);
  }
  return rows;
}

}  // namespace attune::session
