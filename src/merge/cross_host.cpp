#include "merge/cross_host.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace attune::merge {

using analysis::CollectivePattern;
using model::Collective;
using model::kAbsent;
using model::Message;
using model::MessageKind;

namespace {

/// So that to the matcher nothing seems to be received before it was sent: what clocks say is not known yet.
constexpr int64_t kLongAgoNs = int64_t{1} << 62;

int64_t LongAgo(int64_t t_ns) { return t_ns < INT64_MIN + kLongAgoNs ? INT64_MIN : t_ns - kLongAgoNs; }

/// Operations that end for nobody before all have come whom they wait for. Of those with a length for each rank
/// (MPI_Alltoallv), some may have none.
bool IsStrict(std::string_view function) {
  constexpr std::array<std::string_view, 9> kStrict{
      "barrier", "bcast", "scatter", "gather", "reduce", "allreduce", "allgather", "alltoall", "reduce_scatter_block"};
  constexpr std::string_view kPrefix = "MPI_";
  if (function.starts_with(kPrefix)) function.remove_prefix(kPrefix.size());
  std::string name;
  for (const char c : function) name += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return std::ranges::any_of(kStrict, [&](std::string_view each) {
    return name == each || (name.size() == each.size() + 1 && name[0] == 'i' && name.ends_with(each));
  });
}

bool IsBarrier(std::string_view function) { return function == "MPI_Barrier" || function == "MPI_Ibarrier"; }

}  // namespace

// ---- messages

CrossHostMessages::CrossHostMessages(const MergedElements& elements, Visitor visit)
    : elements_(elements),
      visit_(std::move(visit)),
      matcher_([this](const analysis::CompletedMessage& sent, const analysis::CompletedMessage& received) {
        Message true_sent = static_cast<const Message&>(sent);
        true_sent.post_ns = sent.post_ns + kLongAgoNs;
        visit_(elements_.RecordingOfRank(sent.rank), elements_.RecordingOfRank(received.rank), true_sent, received);
      }) {}

void CrossHostMessages::Add(const Message& row) {
  const size_t own = elements_.RecordingOfRank(row.rank), other = elements_.RecordingOfRank(row.peer);
  if (own == other || own == MergedElements::kElsewhere || other == MergedElements::kElsewhere) return;
  if (row.kind == MessageKind::kReceived) {
    matcher_.Add(row);
    return;
  }
  Message shifted = row;
  shifted.post_ns = LongAgo(row.post_ns);
  matcher_.Add(shifted);
}

// ---- collective operations

CrossHostCollectives::CrossHostCollectives(const MergedElements& elements, const model::Metadata& functions,
                                           Visitor visit)
    : elements_(elements),
      visit_(std::move(visit)),
      matcher_([this](std::span<const Collective> parts) { Gathered(parts); }) {
  for (const model::Element& element : functions.elements) {
    if (element.kind == model::ElementKind::kFunction) functions_[element.id] = element.name;
  }
}

void CrossHostCollectives::Add(const Collective& row) { matcher_.Add(row); }

/// A communicator between two groups has each number twice: what waits for what there is another matter.
bool CrossHostCollectives::IsBetweenGroups(std::span<const Collective> parts) {
  const model::ElementId communicator = parts.front().communicator;
  for (const Collective& part : parts) {
    const auto [known, is_new] = rank_at_.try_emplace({communicator, part.communicator_rank}, part.rank);
    if (!is_new && known->second != part.rank) between_groups_.insert(communicator);
  }
  return between_groups_.contains(communicator);
}

void CrossHostCollectives::Visit(size_t from, size_t to, int64_t sent_ns, int64_t received_ns) {
  if (from != to && from != MergedElements::kElsewhere && to != MergedElements::kElsewhere)
    visit_(from, to, sent_ns, received_ns);
}

void CrossHostCollectives::Gathered(std::span<const Collective> parts) {
  const auto function = functions_.find(parts.front().function);
  if (function == functions_.end() || !IsStrict(function->second) || IsBetweenGroups(parts)) return;
  const CollectivePattern pattern = analysis::PatternOf(function->second);
  const Collective* root = nullptr;
  std::map<size_t, OnHost> hosts;
  for (const Collective& part : parts) {
    // Without data nobody may have waited for anybody.
    if (!IsBarrier(function->second) && part.bytes_sent <= 0 && part.bytes_received <= 0) return;
    if (part.root != kAbsent && part.communicator_rank == part.root) root = &part;
    OnHost& host = hosts[elements_.RecordingOfRank(part.rank)];
    host.last_post_ns = std::max(host.last_post_ns, part.post_ns);
    host.first_end_ns = std::min(host.first_end_ns, part.t_ns);
  }
  if (pattern != CollectivePattern::kAll && root == nullptr) return;
  const size_t root_host = root == nullptr ? 0 : elements_.RecordingOfRank(root->rank);
  // All pairs of many hosts say hardly more than each with the next one and with the first.
  constexpr size_t kFewHosts = 16;
  for (auto from = hosts.begin(); from != hosts.end(); ++from) {
    if (pattern == CollectivePattern::kFromRoot)
      Visit(root_host, from->first, root->post_ns, from->second.first_end_ns);
    if (pattern == CollectivePattern::kToRoot) Visit(from->first, root_host, from->second.last_post_ns, root->t_ns);
    if (pattern != CollectivePattern::kAll) continue;
    const auto both = [&](const auto& other) {
      Visit(from->first, other->first, from->second.last_post_ns, other->second.first_end_ns);
      Visit(other->first, from->first, other->second.last_post_ns, from->second.first_end_ns);
    };
    if (hosts.size() > kFewHosts) both(hosts.begin());
    auto next = std::next(from);
    for (size_t i = 0; next != hosts.end() && (i == 0 || hosts.size() <= kFewHosts); ++i, ++next) both(next);
  }
}

}  // namespace attune::merge
