#include "machine/topology_json.h"

#include <nlohmann/json.hpp>

namespace attune::machine {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kVersion = 1;

template <class T>
void PutIfKnown(Json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}

Json ObjectJson(const Object& object) {
  Json json{{"kind", ToString(object.kind)}};
  if (object.number != model::kAbsent) json["id"] = object.number;
  json["name"] = object.name;
  json["cpus"] = object.cpus.ToString();
  PutIfKnown(json, "core_id", object.core_id);
  PutIfKnown(json, "memory_bytes", object.memory_bytes);
  if (!object.processor.empty()) json["model"] = object.processor;
  if (object.kind == model::ElementKind::kCore) return json;
  json["children"] = Json::array();
  for (const Object& child : object.children) json["children"].push_back(ObjectJson(child));
  return json;
}

Json CacheJson(const CacheGroup& group) {
  Json json{{"level", group.level}, {"type", group.type}, {"bytes", group.bytes}};
  PutIfKnown(json, "line_bytes", group.line_bytes);
  json["cpus"] = Json::array();
  for (const CpuSet& cpus : group.shared_by) json["cpus"].push_back(cpus.ToString());
  return json;
}

Json DeviceJson(const Device& device) {
  Json json{{"kind", device.kind}, {"name", device.name}};
  if (!device.pci.empty()) json["pci"] = device.pci;
  PutIfKnown(json, "node", device.node);
  if (!device.what.empty()) json["what"] = device.what;
  return json;
}

}  // namespace

Json ToJson(const Topology& topology) {
  Json json{{"version", kVersion}, {"from", topology.from}, {"machine", ObjectJson(topology.machine)}};
  json["caches"] = Json::array();
  for (const CacheGroup& group : topology.caches) json["caches"].push_back(CacheJson(group));
  const Distances& distances = topology.distances;
  if (!distances.nodes.empty()) json["distances"] = {{"nodes", distances.nodes}, {"relative", distances.relative}};
  json["devices"] = Json::array();
  for (const Device& device : topology.devices) json["devices"].push_back(DeviceJson(device));
  if (!topology.offline.empty()) json["offline"] = topology.offline.ToString();
  return json;
}

}  // namespace attune::machine
