#pragma once
/// Accounts of how the program's threads spent their time and of who had the CPUs; each balances (docs/account.md).

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/operators/operator.h"
#include "analysis/waits/thread_lives.h"
#include "analysis/waits/thread_times.h"
#include "model/source.h"
#include "wire/sync.h"

namespace attune::analysis {

struct AccountLine {
  std::string_view name;  ///< a word of model::TimeState, or what was waited for by futex: "lock", "barrier", "join"
  double ns = 0;

  /// Running or queued, not asleep.
  bool IsActive() const { return name == "running" || name.starts_with("queued"); }
};

/// life = sum of the lines + unknown.
struct ThreadAccount {
  model::ElementId thread = 0;
  model::ElementId process = 0;
  int64_t pid = model::kAbsent;
  int64_t tid = model::kAbsent;
  std::string name;
  double life_ns = 0;
  double running_ns = 0;
  double queued_ns = 0;            ///< it could have run, but had no CPU
  std::vector<AccountLine> lines;  ///< running and queued first, then what it slept for, most first; a name once
  double unknown_ns = 0;           ///< time for which nothing was recorded
  double alone_ns = 0;             ///< it was running or queued, and no other observed thread was
  double idle_ns = 0;              ///< its part of idle CPU time while it was among the few threads that could run
};

/// capacity = program + others + idle + unknown.
struct CpuAccount {
  int64_t cpus = 0;
  double wall_ns = 0;  ///< from the first thread's start to the last one's end
  double program_ns = 0;
  double others_ns = 0;
  double idle_ns = 0;
  double no_thread_ns = 0;  ///< wall time in which all observed threads slept
  double unknown_ns = 0;
  bool is_divided = false;  ///< others and idle are known

  double CapacityNs() const { return static_cast<double>(cpus) * wall_ns; }
};

struct Account {
  bool is_exact = false;  ///< all switches of threads were seen; else from the kernel's sums and the waits of hooks
  CpuAccount cpus;
  std::vector<ThreadAccount> threads;  ///< longest life first
};

/// Time of a thread, in ns; 0: the account has no such line.
double LineNs(const ThreadAccount& account, std::string_view name);
/// Time that all threads queued for a CPU that another program had; 0: switches were not seen.
double QueuedForOthersNs(const Account& account);

/// Whether the rows of state_times are of the program's whole time: they end sooner where a program switches too often.
bool IsWhole(const model::Metadata& meta);

/// The account's name for what is waited for at a hook.
std::string_view AccountName(wire::SyncKind kind);

/// Adds up the tables state_times and sync. @cost memory for each thread
class AccountOperator final : public Operator {
 public:
  std::vector<model::Table> Tables() const override { return {model::StateTime::kTable, model::Sync::kTable}; }
  void AddRows(const model::Batch& batch) override;

  /// @param cpus that the program may use; 0: not known
  Account Snapshot(const model::Metadata& meta, const std::vector<ThreadLife>& lives, const ThreadTimes& times,
                   int64_t cpus) const;

 private:
  struct Sums {
    std::array<int64_t, model::Words<model::TimeState>::kAll.size()> by_state{};
    int64_t alone_ns = 0;
    int64_t idle_cpus_ns = 0;

    double Of(model::TimeState state) const { return static_cast<double>(by_state[static_cast<size_t>(state)]); }
  };

  /// Wait time at hooks in ns.
  using Waits = std::map<wire::SyncKind, double>;

  static void AddStates(const Sums& sums, const Waits& waits, ThreadAccount& account);
  static void AddWaits(const Waits& waits, ThreadAccount& account);
  static void AddSums(const ThreadTime& time, const Waits& waits, ThreadAccount& account);
  CpuAccount Cpus(const model::Metadata& meta) const;

  std::unordered_map<model::ElementId, Sums> sums_;
  std::unordered_map<model::ElementId, Waits> waits_;
};

}  // namespace attune::analysis
