#include "export/otf2_communicators.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace attune::exports {

using model::ElementId;
using model::kAbsent;

Otf2Communicators::Otf2Communicators(const model::Metadata& meta, const Otf2Events& events) {
  AddRanks(meta, events);
  std::map<ElementId, std::map<ElementId, int64_t>> members;
  for (const auto& [member, number] : events.members()) members[member.communicator][member.rank] = number;
  for (const auto& [element, ranks] : members) AddCommunicator(meta, element, ranks);
}

void Otf2Communicators::AddRanks(const model::Metadata& meta, const Otf2Events& events) {
  std::map<ElementId, ElementId> location_of;
  for (const auto& [member, number] : events.members()) location_of.try_emplace(member.rank, 0);
  for (const auto& [id, thread] : events.threads()) {
    if (thread.rank == 0) continue;
    ElementId& location = location_of[thread.rank];
    if (location == 0) location = id;  // the first thread: mostly the one that called MPI_Init
  }
  for (const auto& [rank, location] : location_of)
    ranks_.push_back({rank, location != 0 ? location : rank, location != 0});
  const auto order = [&meta](const Rank& rank) {
    const model::Element* element = meta.FindElement(rank.rank);
    return std::pair(element != nullptr ? element->os_id : kAbsent, rank.rank);
  };
  std::ranges::sort(ranks_, {}, order);
  for (uint32_t number = 0; const Rank& rank : ranks_) number_of_[rank.rank] = number++;
}

void Otf2Communicators::AddCommunicator(const model::Metadata& meta, ElementId element,
                                        const std::map<ElementId, int64_t>& members) {
  const model::Element* found = meta.FindElement(element);
  const bool is_world = found != nullptr && found->name == "MPI_COMM_WORLD";
  struct Place {
    int64_t number;
    ElementId rank;
  };
  std::vector<Place> places;
  for (const auto& [rank, number] : members) {
    const model::Element* known = meta.FindElement(rank);
    places.push_back({is_world && known != nullptr ? known->os_id : number, rank});
  }
  std::ranges::sort(places, {}, [this](const Place& place) {
    return std::tuple(place.number == kAbsent, place.number, NumberOf(place.rank));
  });
  const auto ref = static_cast<uint32_t>(communicators_.size());
  ref_of_[element] = ref;
  Communicator& communicator = communicators_.emplace_back();
  communicator.element = element;
  for (const Place& place : places) {
    const auto number = static_cast<uint32_t>(communicator.ranks.size());
    rank_in_[{element, place.rank}] = number;
    if (place.number != kAbsent) root_in_.try_emplace({element, place.number}, number);
    communicator.ranks.push_back(place.rank);
  }
}

uint32_t Otf2Communicators::NumberOf(ElementId rank) const {
  const auto found = number_of_.find(rank);
  return found != number_of_.end() ? found->second : kUnknown;
}

uint32_t Otf2Communicators::RefOf(ElementId communicator) const {
  const auto found = ref_of_.find(communicator);
  return found != ref_of_.end() ? found->second : kUnknown;
}

uint32_t Otf2Communicators::RankIn(ElementId communicator, ElementId rank) const {
  const auto found = rank_in_.find({communicator, rank});
  return found != rank_in_.end() ? found->second : kUnknown;
}

uint32_t Otf2Communicators::RootIn(ElementId communicator, int64_t root) const {
  const auto found = root == kAbsent ? root_in_.end() : root_in_.find({communicator, root});
  return found != root_in_.end() ? found->second : kUnknown;
}

}  // namespace attune::exports
