#pragma once
/// One sentence about the whole program: what it does most of the time, where, on how many CPUs, and what more of them
/// could bring (docs/report.md).

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "analysis/account/account.h"
#include "analysis/places/code_place.h"
#include "analysis/profile/cpu_profile.h"

namespace attune::analysis {

/// A program's main activity.
enum class Doing : uint8_t {
  kComputes = 1,  ///< some thread of it runs, or could run
  kWaits,
  kIdles,  ///< it waits, and what it waits for hardly ever comes
};

/// The program's own function in which, with what it calls, most CPU time is spent. Of a program without symbols, the
/// function of a library that it spends most of that in; without one, and where none has much, a program or library as
/// a whole.
struct HotSpot {
  CodePlace place;   ///< in it, where most of that is; without a name: too few samples
  double share = 0;  ///< share of the sampled CPU time
};
/// @cost a look-up of each place of each call path, or two
HotSpot FindHotSpot(const SampleSums& samples, const SiteNames& names);

struct Verdict {
  /// Reads like a class of findings where all that can be said is where a program computes.
  static constexpr std::string_view kComputeBound = "compute-bound";

  Doing doing{};     ///< 0: too little is known, and there is no verdict
  std::string text;  ///< the sentence
  HotSpot hot_spot;
  double wall_ns = 0;        ///< from the first thread's start to the end of the last one
  double cpu_ns = 0;         ///< CPU time of all threads
  double cpus_used = 0;      ///< on average
  std::string waits_for;     ///< a line of the account: "sleep"; "" where it computes
  double waits_share = 0;    ///< share of all threads' lives
  double alone_ns = -1;      ///< one thread could run, and no other one; < 0: not known
  double speedup_limit = 0;  ///< Amdahl: times as fast on any number of CPUs, at most; 0: not known

  bool IsComputeBound() const { return doing == Doing::kComputes; }
};

/// @param cpu_ns of all processes by the kernel's sums; < 0: not known
Verdict FindVerdict(const Account& account, HotSpot hot_spot, double cpu_ns);

/// As `attune report --json` shows it; null: there is none.
nlohmann::ordered_json ToJson(const Verdict& verdict);

}  // namespace attune::analysis
