#include "dataflow/runtime/nodes.h"

#include <charconv>
#include <fstream>

namespace attune::flow::detail {
namespace {

bool ReadCpu(std::string_view text, int* cpu) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *cpu);
  return error == std::errc{} && end == text.data() + text.size() && *cpu >= 0 && *cpu < CPU_SETSIZE;
}

/// The part in front of `mark`, which is taken off.
std::string_view Next(std::string_view* text, char mark) {
  const size_t end = text->find(mark);
  const std::string_view part = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return part;
}

}  // namespace

bool ParseCpus(std::string_view text, cpu_set_t* cpus) {
  CPU_ZERO(cpus);
  while (!text.empty()) {
    std::string_view range = Next(&text, ',');
    int first = 0, last = 0;
    const bool is_range = range.find('-') != std::string_view::npos;
    if (!ReadCpu(Next(&range, '-'), &first) || (is_range && !ReadCpu(range, &last))) return false;
    for (int cpu = first; cpu <= (is_range ? last : first); ++cpu) CPU_SET(cpu, cpus);
  }
  return true;
}

bool ParseNodes(std::string_view text, const cpu_set_t& allowed, std::vector<cpu_set_t>* nodes, std::string* problem) {
  nodes->clear();
  while (!text.empty()) {
    const std::string group(Next(&text, ';'));
    cpu_set_t cpus, usable;
    if (!ParseCpus(group, &cpus) || CPU_COUNT(&cpus) == 0) {
      *problem = "nodes: '" + group + "' is no group of CPUs: groups are as in 0-3;4-7";
      return false;
    }
    CPU_AND(&usable, &cpus, &allowed);
    if (!CPU_EQUAL(&usable, &cpus)) {
      *problem = "nodes: the process may not use all of the CPUs " + group;
      return false;
    }
    nodes->push_back(cpus);
  }
  return true;
}

std::vector<cpu_set_t> NodesIn(const std::string& folder, const cpu_set_t& allowed) {
  const auto read = [&](const std::string& name, cpu_set_t* list) {
    std::ifstream file(folder + "/" + name);
    std::string text;
    return std::getline(file, text) && ParseCpus(text, list);
  };
  std::vector<cpu_set_t> nodes;
  cpu_set_t online;
  if (!read("online", &online) || CPU_COUNT(&online) < 2) return {};
  for (int node = 0; node < CPU_SETSIZE; ++node) {
    cpu_set_t cpus;
    if (!CPU_ISSET(node, &online) || !read("node" + std::to_string(node) + "/cpulist", &cpus)) continue;
    CPU_AND(&cpus, &cpus, &allowed);
    if (CPU_COUNT(&cpus) > 0) nodes.push_back(cpus);
  }
  if (nodes.size() < 2) nodes.clear();
  return nodes;
}

}  // namespace attune::flow::detail
