#pragma once
/// Call paths of CPU samples as paths of the program's own functions, and the function that covers most of them.

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/places/code_place.h"
#include "analysis/profile/cpu_profile.h"

namespace attune::analysis {

/// A function within a call path, inlined ones too.
struct PathFrame {
  int function = 0;
  int caller = 0;  ///< own function that called it; 0: a library did, or nobody
  CodePlace place;
};

/// The frames of stacks that are the program's own: not of libraries of the system. Where no frame is, the innermost
/// that has a name.
class OwnPaths {
 public:
  /// @param samples and names must outlive this
  OwnPaths(const SampleSums& samples, const SiteNames& names) : samples_(samples), names_(names) {}

  /// Outermost first; a function that calls itself once; at most kMaxDepth, the innermost. @cost the first time 1 us
  /// a frame
  const std::vector<PathFrame>& Of(int64_t stack);

  static constexpr size_t kMaxDepth = 128;

 private:
  int FunctionOf(const CodePlace& place);

  const SampleSums& samples_;
  const SiteNames& names_;
  std::map<std::pair<std::string, std::string>, int> functions_;  ///< by module and name; from 1
  std::unordered_map<int64_t, std::vector<PathFrame>> paths_;
};

/// Sums of samples by own call path.
class CodeTree {
 public:
  struct Part {
    CodePlace place;  ///< the line in it with most
    double weight_ns = 0;
  };

  void Add(const std::vector<PathFrame>& path, double weight_ns);
  double weight_ns() const { return nodes_.front().weight_ns; }
  /// The functions that cover it: the innermost that has nearly all of it; where the outermost function calls several
  /// with much of it each, these. Most first; empty: nothing was added.
  std::vector<Part> Parts() const;

 private:
  struct Line {
    CodePlace place;
    double weight_ns = 0;
  };
  struct Node {
    double weight_ns = 0;
    std::map<std::pair<std::string, int64_t>, Line> lines;  ///< lines of its function, by file and number
    std::map<int, size_t> callees;                          ///< by function
  };

  /// Down to the innermost node that has most of it.
  size_t Innermost(size_t node) const;
  Part PartAt(size_t node) const;

  std::vector<Node> nodes_ = std::vector<Node>(1);
};

}  // namespace attune::analysis
