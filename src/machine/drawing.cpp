#include "machine/drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/units.h"

namespace attune::machine {
namespace {

using model::ElementKind;

struct Frame {
  std::string_view top_left, top_right, bottom_left, bottom_right, across, down;
};
constexpr Frame kUnicode{"┌", "┐", "└", "┘", "─", "│"};
constexpr Frame kAscii{"+", "+", "+", "+", "-", "|"};
/// How many parts that are alike are drawn one by one: right in the machine, and within other parts.
struct Folding {
  size_t outside, inside;
};
constexpr Folding kFoldings[] = {{64, 64}, {8, 8}, {8, 1}, {4, 4}, {4, 1}, {2, 2}, {1, 1}};
constexpr double kAlikeMemory = 0.05;  // the kernel keeps some of the first node's

/// Characters of UTF-8.
size_t Width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string Repeat(std::string_view text, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

/// A rectangle of text; each line has `width` characters.
struct Block {
  std::vector<std::string> lines;
  size_t width = 0;
};

Block Pad(Block block, size_t width) {
  for (std::string& line : block.lines) line += std::string(width - Width(line), ' ');
  block.width = width;
  return block;
}

Block FromLines(std::vector<std::string> lines) {
  size_t width = 0;
  for (const std::string& line : lines) width = std::max(width, Width(line));
  return Pad({std::move(lines), 0}, width);
}

Block Beside(Block left, const Block& right) {
  const size_t height = std::max(left.lines.size(), right.lines.size());
  left.lines.resize(height, std::string(left.width, ' '));
  for (size_t i = 0; i < height; ++i)
    left.lines[i] += " " + (i < right.lines.size() ? right.lines[i] : std::string(right.width, ' '));
  left.width += 1 + right.width;
  return left;
}

/// Blocks in rows, as many side by side as fit.
Block Flow(const std::vector<Block>& blocks, size_t width) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < blocks.size();) {
    Block row = blocks[i++];
    while (i < blocks.size() && row.width + 1 + blocks[i].width <= width) row = Beside(std::move(row), blocks[i++]);
    lines.insert(lines.end(), row.lines.begin(), row.lines.end());
  }
  return FromLines(std::move(lines));
}

/// "32 GB", "1.5 MB"
std::string Size(uint64_t bytes) {
  std::string text = FormatBytes(bytes);
  if (const size_t at = text.find(".0 "); at != std::string::npos) text.erase(at, 2);
  return text;
}

/// Whether two parts look the same but for their numbers.
bool Alike(const Object& a, const Object& b) {
  if (a.kind != b.kind || a.cpus.size() != b.cpus.size() || a.processor != b.processor ||
      a.children.size() != b.children.size() || a.memory_bytes.has_value() != b.memory_bytes.has_value())
    return false;
  if (a.memory_bytes) {
    const auto more = static_cast<double>(std::max(*a.memory_bytes, *b.memory_bytes));
    const auto less = static_cast<double>(std::min(*a.memory_bytes, *b.memory_bytes));
    if (more - less > kAlikeMemory * more) return false;
  }
  return std::equal(a.children.begin(), a.children.end(), b.children.begin(), Alike);
}

/// Whether all CPUs of the set are the object's. Caches and objects nest, so mostly the first CPU tells.
bool IsWithin(const CpuSet& cpus, const Object& object) {
  return !cpus.empty() && object.cpus.Contains(*cpus.begin()) && cpus.Common(object.cpus).size() == cpus.size();
}

class Drawer {
 public:
  Drawer(const Topology& topology, const DrawingOptions& options, Folding folding)
      : topology_(topology),
        options_(options),
        frame_(options.unicode ? kUnicode : kAscii),
        folding_(folding),
        all_allowed_(options.allowed.Common(topology.machine.cpus).size() == topology.machine.cpus.size()) {}

  Block Machine() const { return Boxed({&topology_.machine}, options_.width); }

 private:
  /// A part that holds one other part and nothing else: both stand in one box.
  static const Object* Only(const Object& object) {
    const bool only = object.kind != ElementKind::kMachine && object.children.size() == 1 &&
                      object.children[0].kind != ElementKind::kCore;
    return only ? &object.children[0] : nullptr;
  }

  /// The box of objects that are alike.
  Block Boxed(const std::vector<const Object*>& same, size_t width) const {
    const size_t room = width - std::min<size_t>(width, 4);
    std::vector<CpuId> ids;
    for (const Object* object : same) ids.insert(ids.end(), object->cpus.begin(), object->cpus.end());
    const CpuSet cpus(std::move(ids));
    std::string title = Title(*same.front(), *same.back());
    std::vector<std::string> lines = Lines(*same.front(), cpus, same.size());
    const Object *first = same.front(), *last = same.back();
    while (Only(*first) != nullptr) {
      first = Only(*first);
      last = Only(*last);
      title += ", " + Title(*first, *last);
      for (std::string& line : Lines(*first, cpus, same.size())) lines.push_back(std::move(line));
    }
    if (same.size() > 1) title += fmt::format(": {} alike", same.size());
    Block inside = FromLines(Wrapped(lines, room));
    const std::vector<Block> parts = Children(*first, room);
    if (!parts.empty()) {
      const Block below = Flow(parts, room);
      inside.lines.insert(inside.lines.end(), below.lines.begin(), below.lines.end());
      const size_t width_of_both = std::max(inside.width, below.width);
      inside = Pad(std::move(inside), width_of_both);
    }
    return Framed(title, inside);
  }

  Block Framed(const std::string& title, Block inside) const {
    const size_t least = std::max(inside.width, Width(title) + 2);
    inside = Pad(std::move(inside), least);
    Block box;
    box.width = inside.width + 4;
    box.lines.push_back(fmt::format("{}{} {} {}{}", frame_.top_left, frame_.across, title,
                                    Repeat(frame_.across, inside.width - Width(title) - 1), frame_.top_right));
    for (const std::string& line : inside.lines) box.lines.push_back(fmt::format("{0} {1} {0}", frame_.down, line));
    box.lines.push_back(
        fmt::format("{}{}{}", frame_.bottom_left, Repeat(frame_.across, inside.width + 2), frame_.bottom_right));
    return box;
  }

  std::string Title(const Object& first, const Object& last) const {
    if (first.kind == ElementKind::kMachine) return first.name + ": " + Count(topology_);
    return &first == &last ? first.name : fmt::format("{} to {}", first.name, last.name);
  }

  /// Children that are boxes themselves: all but cores.
  std::vector<Block> Children(const Object& object, size_t width) const {
    std::vector<Block> blocks;
    const std::vector<Object>& children = object.children;
    for (size_t i = 0; i < children.size();) {
      if (children[i].kind == ElementKind::kCore) {
        ++i;
        continue;
      }
      size_t end = i + 1;
      while (end < children.size() && Alike(children[i], children[end])) ++end;
      if (end - i > (object.kind == ElementKind::kMachine ? folding_.outside : folding_.inside)) {
        std::vector<const Object*> same;
        for (size_t j = i; j < end; ++j) same.push_back(&children[j]);
        blocks.push_back(Boxed(same, width));
      } else {
        for (size_t j = i; j < end; ++j) blocks.push_back(Boxed({&children[j]}, width));
      }
      i = end;
    }
    return blocks;
  }

  /// Known properties of an object (one of `count` that are alike), without its parts.
  std::vector<std::string> Lines(const Object& object, const CpuSet& cpus, size_t count) const {
    std::vector<std::string> lines;
    if (!object.processor.empty()) lines.push_back(object.processor);
    std::string facts;
    const auto add = [&facts](const std::string& fact) { facts += (facts.empty() ? "" : ", ") + fact; };
    if (object.memory_bytes) add(Size(*object.memory_bytes) + (count > 1 ? " each" : ""));
    if (const std::string shared = SharedCaches(object); !shared.empty()) add(shared);
    if (!facts.empty()) lines.push_back(facts);
    if (const std::string cores = Cores(object, count); !cores.empty()) lines.push_back(cores);
    if (object.children.empty() || HasCores(object)) {
      if (!cpus.empty()) lines.push_back("CPU " + cpus.ToString());
      if (!all_allowed_ && !cpus.empty()) {
        const CpuSet allowed = cpus.Common(options_.allowed);
        lines.push_back(allowed.empty() ? "none of them allowed" : "allowed: " + allowed.ToString());
      }
    }
    if (object.kind == ElementKind::kMachine && !topology_.devices.empty()) lines.push_back(Devices());
    return lines;
  }

  static bool HasCores(const Object& object) {
    return std::any_of(object.children.begin(), object.children.end(),
                       [](const Object& child) { return child.kind == ElementKind::kCore; });
  }

  /// "8 cores of 2 CPUs, each L2 1 MB, L1d 32 kB, L1i 32 kB"
  std::string Cores(const Object& object, size_t count) const {
    size_t cores = 0, cpus = 0;
    const Object* first = nullptr;
    for (const Object& child : object.children) {
      if (child.kind != ElementKind::kCore) continue;
      if (first == nullptr) first = &child;
      ++cores;
      cpus += child.cpus.size();
    }
    if (first == nullptr) return "";
    std::string text = fmt::format("{} {}", cores, cores == 1 ? "core" : "cores");
    if (count > 1) text = fmt::format("{} x {}", count, text);
    if (cpus != cores)
      text += cpus % cores == 0 ? fmt::format(" of {} CPUs", cpus / cores) : fmt::format(", {} CPUs", cpus);
    const std::string own = CachesOf(first->cpus);
    if (!own.empty()) text += (cores == 1 && count == 1 ? ": " : ", each ") + own;
    return text;
  }

  /// "L2 1 MB, L1d 32 kB": the caches that exactly these CPUs share.
  std::string CachesOf(const CpuSet& cpus) const {
    std::string text;
    for (auto group = topology_.caches.rbegin(); group != topology_.caches.rend(); ++group) {
      const auto same = [&](const CpuSet& shared) { return shared.ToString() == cpus.ToString(); };
      if (std::any_of(group->shared_by.begin(), group->shared_by.end(), same))
        text += (text.empty() ? "" : ", ") + Named(*group);
    }
    return text;
  }

  /// Caches of several cores within an object and not within one of its parts: "2 x L3 32 MB".
  std::string SharedCaches(const Object& object) const {
    std::string text;
    for (auto group = topology_.caches.rbegin(); group != topology_.caches.rend(); ++group) {
      size_t here = 0;
      for (const CpuSet& shared : group->shared_by) {
        if (!IsWithin(shared, object)) continue;
        const bool deeper = std::any_of(object.children.begin(), object.children.end(),
                                        [&](const Object& child) { return IsWithin(shared, child); });
        here += deeper ? 0 : 1;
      }
      if (here == 0) continue;
      text += (text.empty() ? "" : ", ") + (here > 1 ? fmt::format("{} x ", here) : "") + Named(*group);
    }
    return text;
  }

  static std::string Named(const CacheGroup& group) {
    const std::string_view suffix = group.type == "data" ? "d" : group.type == "instruction" ? "i" : "";
    return fmt::format("L{}{} {}", group.level, suffix, Size(group.bytes));
  }

  /// "devices: eth0 (node1), sda"
  std::string Devices() const {
    const bool several = ObjectsOf(topology_, ElementKind::kNode).size() > 1;
    std::string text;
    for (const Device& device : topology_.devices) {
      text += (text.empty() ? "" : ", ") + device.name;
      if (several && device.node) text += fmt::format(" (node{})", *device.node);
    }
    return "devices: " + text;
  }

  /// Breaks lines at spaces and commas; what is one word stays whole.
  static std::vector<std::string> Wrapped(const std::vector<std::string>& lines, size_t width) {
    std::vector<std::string> wrapped;
    for (std::string rest : lines) {
      while (Width(rest) > width) {
        size_t at = rest.find_last_of(" ,", width - 1);
        if (at == std::string::npos || at < width / 4) break;
        wrapped.push_back(rest.substr(0, at + (rest[at] == ',' ? 1 : 0)));
        rest = "  " + rest.substr(at + 1);
      }
      wrapped.push_back(rest);
    }
    return wrapped;
  }

  const Topology& topology_;
  const DrawingOptions& options_;
  const Frame& frame_;
  const Folding folding_;
  const bool all_allowed_;
};

}  // namespace

std::string Draw(const Topology& topology, const DrawingOptions& options) {
  Block drawn;
  for (const Folding folding : kFoldings) {
    drawn = Drawer(topology, options, folding).Machine();
    if (drawn.lines.size() <= options.max_lines) break;
  }
  std::string text;
  for (const std::string& line : drawn.lines) text += line + "\n";
  return text;
}

}  // namespace attune::machine
