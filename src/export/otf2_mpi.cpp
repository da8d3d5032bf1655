#include "export/otf2_mpi.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace attune::exports {
namespace {

/// "MPI_Ineighbor_alltoallv" is "alltoallv".
std::string OperationOf(std::string_view function) {
  constexpr std::string_view kPrefix = "MPI_";
  if (function.starts_with(kPrefix)) function.remove_prefix(kPrefix.size());
  std::string name;
  for (const char c : function) name += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  constexpr std::string_view kNeighbour = "neighbor_";
  if (const size_t at = name.find(kNeighbour); at != std::string::npos) name.erase(0, at + kNeighbour.size());
  return name;
}

struct NamedOp {
  std::string_view name;
  OTF2_CollectiveOp_enum op;
  OTF2_RegionRole_enum role;
};
constexpr std::array kOps{
    NamedOp{"barrier", OTF2_COLLECTIVE_OP_BARRIER, OTF2_REGION_ROLE_BARRIER},
    NamedOp{"bcast", OTF2_COLLECTIVE_OP_BCAST, OTF2_REGION_ROLE_COLL_ONE2ALL},
    NamedOp{"gather", OTF2_COLLECTIVE_OP_GATHER, OTF2_REGION_ROLE_COLL_ALL2ONE},
    NamedOp{"gatherv", OTF2_COLLECTIVE_OP_GATHERV, OTF2_REGION_ROLE_COLL_ALL2ONE},
    NamedOp{"scatter", OTF2_COLLECTIVE_OP_SCATTER, OTF2_REGION_ROLE_COLL_ONE2ALL},
    NamedOp{"scatterv", OTF2_COLLECTIVE_OP_SCATTERV, OTF2_REGION_ROLE_COLL_ONE2ALL},
    NamedOp{"allgather", OTF2_COLLECTIVE_OP_ALLGATHER, OTF2_REGION_ROLE_COLL_ALL2ALL},
    NamedOp{"allgatherv", OTF2_COLLECTIVE_OP_ALLGATHERV, OTF2_REGION_ROLE_COLL_ALL2ALL},
    NamedOp{"alltoall", OTF2_COLLECTIVE_OP_ALLTOALL, OTF2_REGION_ROLE_COLL_ALL2ALL},
    NamedOp{"alltoallv", OTF2_COLLECTIVE_OP_ALLTOALLV, OTF2_REGION_ROLE_COLL_ALL2ALL},
    NamedOp{"alltoallw", OTF2_COLLECTIVE_OP_ALLTOALLW, OTF2_REGION_ROLE_COLL_ALL2ALL},
    NamedOp{"allreduce", OTF2_COLLECTIVE_OP_ALLREDUCE, OTF2_REGION_ROLE_COLL_ALL2ALL},
    NamedOp{"reduce", OTF2_COLLECTIVE_OP_REDUCE, OTF2_REGION_ROLE_COLL_ALL2ONE},
    NamedOp{"reduce_scatter", OTF2_COLLECTIVE_OP_REDUCE_SCATTER, OTF2_REGION_ROLE_COLL_ALL2ALL},
    NamedOp{"reduce_scatter_block", OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK, OTF2_REGION_ROLE_COLL_ALL2ALL},
    NamedOp{"scan", OTF2_COLLECTIVE_OP_SCAN, OTF2_REGION_ROLE_COLL_OTHER},
    NamedOp{"exscan", OTF2_COLLECTIVE_OP_EXSCAN, OTF2_REGION_ROLE_COLL_OTHER},
};

const NamedOp* FindOp(std::string_view function) {
  const std::string name = OperationOf(function);
  const std::string_view blocking = name.starts_with('i') ? std::string_view(name).substr(1) : name;
  for (const NamedOp& op : kOps) {
    if (op.name == name || op.name == blocking) return &op;
  }
  return nullptr;
}

}  // namespace

OTF2_CollectiveOp CollectiveOpOf(std::string_view function) {
  const NamedOp* op = FindOp(function);
  if (op == nullptr) return OTF2_COLLECTIVE_OP_BARRIER;
  return op->op;
}

OTF2_RegionRole MpiRoleOf(std::string_view function) {
  const NamedOp* op = FindOp(function);
  if (op == nullptr) return OTF2_REGION_ROLE_POINT2POINT;
  return op->role;
}

void WriteMpiRecord(OTF2_EvtWriter* writer, OTF2_TimeStamp time, const Otf2Message& message, std::string_view function,
                    const Otf2Communicators& communicators) {
  using Kind = Otf2Message::Kind;
  const OTF2_CommRef ref = communicators.RefOf(message.communicator);
  const auto tag = static_cast<uint32_t>(message.tag);
  const auto bytes = static_cast<uint64_t>(message.bytes);
  const auto received = static_cast<uint64_t>(message.bytes_received);
  const auto peer = [&] { return communicators.RankIn(message.communicator, message.peer); };
  const auto root = [&] { return communicators.RootIn(message.communicator, message.tag); };
  switch (message.kind) {
    case Kind::kSend: OTF2_EvtWriter_MpiSend(writer, nullptr, time, peer(), ref, tag, bytes); break;
    case Kind::kIsend: OTF2_EvtWriter_MpiIsend(writer, nullptr, time, peer(), ref, tag, bytes, message.request); break;
    case Kind::kIsendComplete: OTF2_EvtWriter_MpiIsendComplete(writer, nullptr, time, message.request); break;
    case Kind::kReceive: OTF2_EvtWriter_MpiRecv(writer, nullptr, time, peer(), ref, tag, bytes); break;
    case Kind::kIreceiveRequest: OTF2_EvtWriter_MpiIrecvRequest(writer, nullptr, time, message.request); break;
    case Kind::kIreceive:
      OTF2_EvtWriter_MpiIrecv(writer, nullptr, time, peer(), ref, tag, bytes, message.request);
      break;
    case Kind::kCollectiveBegin: OTF2_EvtWriter_MpiCollectiveBegin(writer, nullptr, time); break;
    case Kind::kCollectiveEnd:
      OTF2_EvtWriter_MpiCollectiveEnd(writer, nullptr, time, CollectiveOpOf(function), ref, root(), bytes, received);
      break;
    case Kind::kCollectiveRequest:
      OTF2_EvtWriter_NonBlockingCollectiveRequest(writer, nullptr, time, message.request);
      break;
    case Kind::kCollectiveComplete:
      OTF2_EvtWriter_NonBlockingCollectiveComplete(writer, nullptr, time, CollectiveOpOf(function), ref, root(), bytes,
                                                   received, message.request);
      break;
  }
}

void WriteMpiDefinitions(OTF2_GlobalDefWriter* definitions, const model::Metadata& meta,
                         const Otf2Communicators& communicators,
                         const std::function<OTF2_StringRef(const std::string&)>& text) {
  if (communicators.ranks().empty()) return;
  const OTF2_StringRef none = text("");
  std::vector<uint64_t> members;
  for (const Otf2Communicators::Rank& rank : communicators.ranks()) members.push_back(rank.location);
  OTF2_GroupRef group = 0;
  OTF2_GlobalDefWriter_WriteGroup(definitions, group, text("ranks"), OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                  OTF2_GROUP_FLAG_NONE, static_cast<uint32_t>(members.size()), members.data());
  for (OTF2_CommRef ref = 0; const Otf2Communicators::Communicator& communicator : communicators.communicators()) {
    members.clear();
    for (const model::ElementId rank : communicator.ranks) members.push_back(communicators.NumberOf(rank));
    OTF2_GlobalDefWriter_WriteGroup(definitions, ++group, none, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, static_cast<uint32_t>(members.size()), members.data());
    const model::Element* element = meta.FindElement(communicator.element);
    OTF2_GlobalDefWriter_WriteComm(definitions, ref++, text(element != nullptr ? element->name : "communicator"), group,
                                   OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
  }
}

}  // namespace attune::exports
