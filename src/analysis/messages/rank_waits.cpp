#include "analysis/messages/rank_waits.h"

#include <algorithm>
#include <unordered_map>

namespace attune::analysis {

using model::Collective;
using model::ElementId;
using model::kAbsent;
using model::Message;

void RankWaits::Reach(ElementId rank, ElementId thread, int64_t from_ns, int64_t until_ns) {
  if (!IsGraphTime(from_ns) || !IsGraphTime(until_ns)) return;
  Life& life = lives_[rank];
  if (life.thread == 0) life.thread = thread;
  life.first_ns = std::min(life.first_ns, from_ns);
  life.last_ns = std::max(life.last_ns, until_ns);
}

void RankWaits::AddWait(ElementId rank, int64_t start_ns, const Wait& wait) {
  if (!IsGraphTime(start_ns) || !IsGraphTime(wait.end_ns) || wait.released_ns <= start_ns || wait.end_ns <= start_ns)
    return;
  if (waits_.size() == kMaxGraphWaits) is_too_large_ = true;
  if (is_too_large_) return;
  const auto [known, is_new] = waits_.try_emplace({rank, start_ns}, wait);
  if (is_new) return;
  known->second.end_ns = std::max(known->second.end_ns, wait.end_ns);
  if (wait.released_ns <= known->second.released_ns) return;
  known->second.released_ns = wait.released_ns;
  known->second.late = wait.late;
}

void RankWaits::Add(const Message& sent, const Message& received, Carrier carrier) {
  Reach(sent.rank, sent.thread, sent.post_ns, sent.t_ns);
  Reach(received.rank, received.thread, received.post_ns, received.t_ns);
  if (LateSenderNs(sent, received, carrier) > 0)
    AddWait(received.rank, received.wait_ns,
            {received.t_ns, std::min(sent.post_ns, received.t_ns), sent.rank, received.wait_site});
  // Room in a channel is made when the sender goes on: what of it was received then, nobody says.
  const int64_t released_ns = carrier == Carrier::kChannel ? sent.t_ns : std::min(received.post_ns, sent.t_ns);
  if (LateReceiverNs(sent, received, carrier) > 0)
    AddWait(sent.rank, sent.wait_ns, {sent.t_ns, released_ns, received.rank, sent.wait_site});
}

void RankWaits::Add(std::span<const Collective> parts, std::span<const RankWait> waits) {
  for (size_t i = 0; i < parts.size(); ++i) {
    Reach(parts[i].rank, parts[i].thread, parts[i].post_ns, parts[i].t_ns);
    if (waits[i].late != nullptr)
      AddWait(parts[i].rank, waits[i].begin_ns, {parts[i].t_ns, waits[i].end_ns, waits[i].late->rank, parts[i].site});
  }
}

WaitGraph RankWaits::Finish(const model::Metadata& meta, int64_t now_ns) {
  WaitGraph graph;
  if (is_too_large_ || lives_.size() < 2) return graph;
  std::unordered_map<ElementId, uint32_t> index;
  graph.start_ns = INT64_MAX;
  for (const auto& [rank, life] : lives_) {
    if (life.first_ns > life.last_ns) continue;
    ThreadLife made{.thread = rank, .process = rank, .start_ns = life.first_ns, .end_ns = life.last_ns};
    const model::Element* thread = meta.FindElement(life.thread);
    const auto process = thread == nullptr ? meta.processes.end()
                                           : std::ranges::find(meta.processes, thread->parent, &model::Process::id);
    if (process != meta.processes.end()) {
      const int64_t end_ns = process->end_ns == kAbsent ? now_ns : process->end_ns;
      if (IsGraphTime(process->start_ns)) made.start_ns = std::min(made.start_ns, process->start_ns);
      if (IsGraphTime(end_ns)) made.end_ns = std::max(made.end_ns, end_ns);
    }
    index[rank] = static_cast<uint32_t>(graph.threads.size());
    graph.threads.push_back(made);
    graph.start_ns = std::min(graph.start_ns, made.start_ns);
    graph.end_ns = graph.threads.size() == 1 ? made.end_ns : std::max(graph.end_ns, made.end_ns);
  }
  if (graph.threads.size() < 2) return {};
  // Nobody starts a rank but the launcher, which starts all of them.
  for (ThreadLife& life : graph.threads) life.start_ns = graph.start_ns;
  graph.process = graph.threads.front().thread;
  for (const auto& [key, wait] : waits_) {
    const auto own = index.find(key.first), late = index.find(wait.late);
    if (own == index.end() || late == index.end() || own == late) continue;
    graph.waits.push_back({.start_ns = key.second,
                           .end_ns = wait.end_ns,
                           .released_ns = wait.released_ns,
                           .thread = own->second,
                           .releaser = static_cast<int32_t>(late->second),
                           .object = wait.late,
                           .site = wait.site,
                           .kind = wire::SyncKind::kMpi});
  }
  std::ranges::stable_sort(graph.waits, {}, &GraphWait::end_ns);
  for (uint32_t i = 0; i < graph.waits.size(); ++i) graph.releases.push_back(i);
  std::ranges::stable_sort(graph.releases, {}, [&](uint32_t i) { return graph.waits[i].released_ns; });
  return graph;
}

}  // namespace attune::analysis
