#include "symbols/kernel_symbols.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/privilege.h"

namespace attune::symbols {
namespace {

/// The kernel's and its modules' symbols take some 6 MB.
constexpr size_t kMaxBytes = 64u << 20;

bool IsCode(char type) { return type == 't' || type == 'T' || type == 'w' || type == 'W'; }

}  // namespace

KernelSymbols KernelSymbols::Parse(std::string_view text) {
  KernelSymbols symbols;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    // "ffffffff81000000 T _stext", and behind it a tab and the module
    uint64_t address = 0;
    const auto [behind, error] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
    const auto at = static_cast<size_t>(behind - line.data());
    if (error != std::errc() || address == 0 || line.size() < at + 4 || line[at] != ' ' || line[at + 2] != ' ' ||
        !IsCode(line[at + 1]))
      continue;
    line.remove_prefix(at + 3);
    const std::string_view name = line.substr(0, line.find('\t'));
    if (name.empty() || symbols.names_.size() + name.size() > UINT32_MAX) continue;
    symbols.functions_.push_back(
        {address, static_cast<uint32_t>(symbols.names_.size()), static_cast<uint32_t>(name.size())});
    symbols.names_ += name;
  }
  // The kernel lists itself in order, then its modules.
  std::ranges::stable_sort(symbols.functions_, {}, &Function::begin);
  const auto again = std::ranges::unique(symbols.functions_, {}, &Function::begin);
  symbols.functions_.erase(again.begin(), again.end());
  return symbols;
}

Result<KernelSymbols> KernelSymbols::Read(const HostRoot& host) {
  std::string text;
  {
    const KernelFileRights rights;
    ATTUNE_TRY(text, host.ReadFile("/proc/kallsyms", kMaxBytes));
  }
  KernelSymbols symbols = Parse(text);
  if (symbols.empty())
    return Error{Errc::kPermission, "the kernel hides the addresses of its functions",
                 "as root: sysctl kernel.kptr_restrict=0"};
  return symbols;
}

std::string_view KernelSymbols::FunctionAt(uint64_t address) const {
  const auto after = std::ranges::upper_bound(functions_, address, {}, &Function::begin);
  if (after == functions_.begin()) return {};
  const Function& function = *std::prev(after);
  return std::string_view(names_).substr(function.name_at, function.name_bytes);
}

}  // namespace attune::symbols
