#pragma once

#include <map>
#include <string>

#include "model/info_keys.h"
#include "tests/analysis/fake_source.h"

namespace attune::cli {

/// A shell script that ran a solver with regions, and forty short processes, on two CPUs.
inline analysis::FakeSource ScriptRun() {
  using analysis::FakeSource;
  using model::ElementKind;
  using model::SeriesKind;
  constexpr int64_t kMs = 1'000'000;
  constexpr int64_t kS = 1'000 * kMs;
  FakeSource source;
  source.extent = {100 * kS, 112 * kS};
  source.meta.real_minus_monotonic_ns = 1'769'868'189 * kS;
  for (const auto& [key, value] : std::map<std::string_view, std::string>{{model::info::kProgram, "sh job.sh"},
                                                                          {model::info::kHost, "box"},
                                                                          {model::info::kKernel, "Linux 6.1.0"},
                                                                          {model::info::kCpusOnline, "0-1"},
                                                                          {model::info::kCpuModel, "Some CPU"},
                                                                          {model::info::kMemoryBytes, "4294967296"},
                                                                          {"skipped.energy", "no powercap here"}}) {
    source.meta.info[std::string(key)] = value;
  }
  const auto machine = source.AddElement(ElementKind::kMachine, "box");
  std::vector<FakeSource::Signal> signals;
  for (const int cpu : {0, 1}) {
    const auto element = source.AddElement(ElementKind::kCpu, "cpu" + std::to_string(cpu), machine, cpu);
    for (const char* kind : {"user", "system", "idle", "iowait"})
      signals.push_back({element, "cpu", kind, "ns", SeriesKind::kCounter, 6});
  }
  signals.push_back({machine, "cpu", "context_switches", "switches"});
  signals.push_back({machine, "vmstat", "pgpgin", "KiB"});
  signals.push_back({machine, "vmstat", "oom_kill", "processes"});
  const auto stream = source.AddStream(100 * kMs, signals);
  std::vector<int64_t> now(signals.size(), 500);
  for (int i = 0; i < 120; ++i) {
    source.samples[stream].emplace_back(100 * kS + int64_t{i} * 100 * kMs, now);
    now[0] += 90;
    now[1] += 10;
    now[i < 60 ? 6 : 4] += 100;
    now[8] += 37;
    now[9] += 1024;
  }
  const auto script = source.AddElement(ElementKind::kProcess, "sh", machine, 4000);
  const auto solver = source.AddElement(ElementKind::kProcess, "solver", script, 4001);
  source.AddElement(ElementKind::kThread, "solver", solver, 4001);
  source.AddElement(ElementKind::kThread, "solver", solver, 4002);
  source.meta.processes.push_back({.id = script,
                                   .parent = machine,
                                   .pid = 4000,
                                   .start_ns = 100 * kS,
                                   .end_ns = 112 * kS,
                                   .exit_code = 3,
                                   .exit_signal = 0,
                                   .user_ns = 20 * kMs,
                                   .system_ns = 10 * kMs,
                                   .minor_faults = 1200,
                                   .major_faults = 2,
                                   .voluntary_switches = 90,
                                   .involuntary_switches = 4,
                                   .max_rss_bytes = 3 << 20,
                                   .command = "sh job.sh"});
  source.meta.processes.push_back({.id = solver,
                                   .parent = script,
                                   .pid = 4001,
                                   .start_ns = 100 * kS + 5 * kMs,
                                   .end_ns = 111 * kS,
                                   .exit_signal = 11,
                                   .user_ns = 15 * kS,
                                   .system_ns = kS,
                                   .minor_faults = 52'000,
                                   .major_faults = 0,
                                   .voluntary_switches = 1234,
                                   .involuntary_switches = 567,
                                   .max_rss_bytes = 800 << 20,
                                   .command = "./solver\x1b[2J big.dat"});
  for (int i = 0; i < 40; ++i) {
    const auto id = source.AddElement(ElementKind::kProcess, "true", script, 4100 + i);
    source.meta.processes.push_back({.id = id,
                                     .parent = script,
                                     .pid = 4100 + i,
                                     .start_ns = 111 * kS + i * kMs,
                                     .end_ns = 111 * kS + i * kMs + kMs,
                                     .exit_code = 0,
                                     .exit_signal = 0,
                                     .user_ns = kMs / 2,
                                     .system_ns = kMs / 2,
                                     .max_rss_bytes = 1 << 20,
                                     .command = "true"});
  }
  const int64_t step = source.AddElement(ElementKind::kRegion, "step", solver);
  const int64_t exchange = source.AddElement(ElementKind::kRegion, "exchange", solver);
  const int64_t halo = source.AddElement(ElementKind::kChannel, "halo", solver);
  for (int i = 0; i < 10; ++i) {
    const int64_t t = 101 * kS + i * kS;
    source.events.push_back({t, 4001, wire::EventKind::kRegionBegin, step});
    source.events.push_back({t + 700 * kMs, 4001, wire::EventKind::kRegionBegin, exchange});
    source.events.push_back({t + 750 * kMs, 4001, wire::EventKind::kSend, halo, 4096});
    source.events.push_back({t + 800 * kMs, 4001, wire::EventKind::kRegionEnd, exchange});
    if (i < 9) source.events.push_back({t + 900 * kMs, 4001, wire::EventKind::kRegionEnd, step});
  }
  source.meta.gaps = {{stream, 105 * kS, 105 * kS + 100 * kMs, 1, model::GapReason::kMissed}};
  source.meta.damage = {"bytes 4096 to 8192 (after 103.2 s) do not parse"};
  return source;
}

}  // namespace attune::cli
