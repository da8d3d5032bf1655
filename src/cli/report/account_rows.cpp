#include "cli/report/account_rows.h"

#include <cmath>
#include <string_view>

#include "analysis/findings/judgement.h"

namespace attune::cli {

Result<std::vector<store::AccountRow>> AccountRows(model::Source& source) {
  ATTUNE_TRY(const analysis::Judgement judgement, analysis::JudgeProgram(source));
  const analysis::Account& account = judgement.account;
  std::vector<store::AccountRow> rows;
  const auto add = [&rows](const analysis::ThreadAccount& thread, std::string_view state, double ns) {
    if (ns > 0) rows.push_back({thread.thread, thread.process, state, std::llround(ns)});
  };
  for (const analysis::ThreadAccount& thread : account.threads) {
    for (const analysis::AccountLine& line : thread.lines) add(thread, line.name, line.ns);
    add(thread, "unknown", thread.unknown_ns);
  }
  if (account.threads.empty()) return rows;
  const analysis::CpuAccount& cpus = account.cpus;
  add({}, "program", cpus.program_ns);
  if (cpus.is_divided) {
    add({}, "others", cpus.others_ns);
    add({}, "idle", cpus.idle_ns);
    add({}, "unknown", cpus.unknown_ns);
  }
  return rows;
}

}  // namespace attune::cli
