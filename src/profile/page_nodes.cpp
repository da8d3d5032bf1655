#include "profile/page_nodes.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>

#include "base/cpu_set.h"

namespace attune::profile {
namespace {

constexpr int64_t kRememberedNs = 1'000'000'000;
constexpr size_t kMaxKnown = 65'536;

}  // namespace

std::vector<int> ReadCpuNodes(const HostRoot& host) {
  constexpr std::string_view kFolder = "/sys/devices/system/node";
  std::vector<int> nodes;
  int count = 0;
  const auto names = host.List(kFolder);
  if (!names.ok()) return {};
  for (const std::string& name : *names) {
    int node = 0;
    if (!name.starts_with("node") ||
        std::from_chars(name.data() + 4, name.data() + name.size(), node).ec != std::errc())
      continue;
    const auto text = host.ReadFile(fmt::format("{}/{}/cpulist", kFolder, name));
    if (!text.ok()) continue;
    ++count;
    const auto cpus = CpuSet::Parse(std::string_view(*text).substr(0, text->find('\n')));
    if (!cpus.ok()) continue;
    for (const CpuId cpu : *cpus) {
      const auto at = static_cast<size_t>(cpu);
      if (nodes.size() <= at) nodes.resize(at + 1, PageNodes::kUnknown);
      nodes[at] = node;
    }
  }
  // A node may have memory alone: what lies there is far from every CPU.
  return count > 1 ? nodes : std::vector<int>();
}

int PageNodes::NodeNear(pid_t pid, uint64_t page) const {
  constexpr uint64_t kNearBytes = 2u << 20;
  const auto is_near = [&](const auto& known) {
    return known != known_.end() && known->first.first == pid && known->second.node != kUnknown &&
           std::max(known->first.second, page) - std::min(known->first.second, page) < kNearBytes;
  };
  const auto behind = known_.upper_bound({pid, page});
  const auto before = behind == known_.begin() ? known_.end() : std::prev(behind);
  if (is_near(before)) return before->second.node;  // it may be the page itself
  return is_near(behind) ? behind->second.node : kUnknown;
}

std::vector<int> PageNodes::Find(pid_t pid, std::span<const uint64_t> addresses, int64_t now_ns) {
  static const auto page_bytes = static_cast<uint64_t>(getpagesize());
  if (known_.size() > kMaxKnown) known_.clear();
  std::vector<void*> pages;
  for (const uint64_t address : addresses) {
    const uint64_t page = address / page_bytes * page_bytes;
    if (known_[{pid, page}].until_ns <= now_ns) pages.push_back(reinterpret_cast<void*>(page));
  }
  std::sort(pages.begin(), pages.end());
  pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
  std::vector<int> status(pages.size(), kUnknown);
  // Without nodes to move them to it says where they are.
  const bool is_told =
      !pages.empty() && syscall(SYS_move_pages, pid, pages.size(), pages.data(), nullptr, status.data(), 0) == 0;
  for (size_t i = 0; i < pages.size() && !is_told; ++i) status[i] = NodeNear(pid, reinterpret_cast<uint64_t>(pages[i]));
  for (size_t i = 0; i < pages.size(); ++i) {
    known_[{pid, reinterpret_cast<uint64_t>(pages[i])}] = {std::max(status[i], kUnknown), now_ns + kRememberedNs};
  }
  std::vector<int> nodes;
  nodes.reserve(addresses.size());
  for (const uint64_t address : addresses) nodes.push_back(known_[{pid, address / page_bytes * page_bytes}].node);
  return nodes;
}

}  // namespace attune::profile
