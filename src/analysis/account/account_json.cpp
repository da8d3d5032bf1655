#include "analysis/account/account_json.h"

#include "analysis/documents/json_rows.h"

namespace attune::analysis {
namespace {

Json ThreadAccountJson(const ThreadAccount& row, bool is_exact) {
  Json lines = Json::object();
  for (const AccountLine& line : row.lines) lines[line.name] = line.ns * 1e-9;
  return {{"id", row.thread},
          {"pid", Known(row.pid)},
          {"tid", Known(row.tid)},
          {"name", row.name},
          {"life_seconds", row.life_ns * 1e-9},
          {"seconds", std::move(lines)},
          {"unknown_seconds", row.unknown_ns * 1e-9},
          {"alone_seconds", is_exact ? Json(row.alone_ns * 1e-9) : Json(nullptr)},
          {"idle_cpu_seconds", is_exact ? Json(row.idle_ns * 1e-9) : Json(nullptr)}};
}

}  // namespace

Json ToJson(const Account& account) {
  if (account.threads.empty()) return nullptr;
  const CpuAccount& all = account.cpus;
  const auto thread = [&account](const ThreadAccount& row) { return ThreadAccountJson(row, account.is_exact); };
  const auto exact = [&account](double ns) { return account.is_exact ? Json(ns * 1e-9) : Json(nullptr); };
  const auto divided = [&all](double ns) { return all.is_divided ? Json(ns * 1e-9) : Json(nullptr); };
  return {{"exact", account.is_exact},
          {"cpus", all.cpus},
          {"wall_seconds", all.wall_ns * 1e-9},
          {"program_seconds", all.program_ns * 1e-9},
          {"others_seconds", divided(all.others_ns)},
          {"idle_seconds", divided(all.idle_ns)},
          {"unknown_seconds", divided(all.unknown_ns)},
          {"no_thread_seconds", exact(all.no_thread_ns)},
          {"threads", JsonRows(account.threads, thread)}};
}

}  // namespace attune::analysis
