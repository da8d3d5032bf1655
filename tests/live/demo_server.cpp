// A live server over synthetic data in real time, for the browser tests and the screenshots. Prints its address on the
// first line; then answers lines on its input: "count SERIES T0 T1" prints how many samples there are (times in
// nanoseconds after the start), "label TEXT", "stats", "quit". Ends when its input ends.
//
//   live_demo_server [--hz N] [--cpus N] [--boards N] [--threads N] [--history SECONDS] [--recorded] [--alarms]
//   [--counters]
//   [--title TEXT]

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

#include "base/clock.h"
#include "live/server.h"
#include "synthetic_source.h"

namespace attune::live {
namespace {

struct Settings {
  int64_t hz = 100;
  int cpus = 4;
  int boards = 0;
  int threads = 0;
  int64_t history_s = 120;
  bool recorded = false;
  bool alarms = false;
  bool counters = false;
  std::string title = "demo: 4 compressors on 4 CPUs";
};

Settings ParseArguments(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--recorded" || option == "--alarms" || option == "--counters") {
      (option == "--alarms" ? settings.alarms : option == "--counters" ? settings.counters : settings.recorded) = true;
      continue;
    }
    if (i + 1 == argc) {
      fmt::print(stderr, "{} needs a value\n", option);
      std::exit(2);
    }
    const std::string value = argv[++i];
    if (option == "--hz") {
      settings.hz = std::stoll(value);
    } else if (option == "--cpus") {
      settings.cpus = std::stoi(value);
    } else if (option == "--boards") {
      settings.boards = std::stoi(value);
    } else if (option == "--threads") {
      settings.threads = std::stoi(value);
    } else if (option == "--history") {
      settings.history_s = std::stoll(value);
    } else if (option == "--title") {
      settings.title = value;
    } else {
      fmt::print(stderr, "unknown option {}\n", option);
      std::exit(2);
    }
  }
  return settings;
}

/// What happened before the page was opened: a few processes, labels and missed ticks.
void MakeHistory(SyntheticSource& source, int64_t seconds) {
  const int64_t part = seconds * kSecondNs / 6;
  const auto shell = source.StartProcess(0, 4100, "/bin/sh ./compress-all.sh /usr/share/doc");
  source.AdvanceBy(part);
  source.AddLabel(source.now_ns(), "warm-up done");
  const auto first = source.StartProcess(shell, 4101, "xz -T4 -9 --keep corpus-a.tar");
  const auto lister = source.StartProcess(shell, 4102, "find /usr/share/doc -type f -name *.gz");
  source.AdvanceBy(part);
  source.EndProcess(lister, 0, 0);
  source.AdvanceBy(part);
  source.EndProcess(first, 0, 0);
  source.AddLabel(source.now_ns(), "second pass");
  const auto second = source.StartProcess(shell, 4107, "xz -T4 -9 --keep corpus-b.tar");
  source.SkipFor(part / 8);
  source.AdvanceBy(part * 2);
  source.EndProcess(second, 1, 0);
  const auto killed = source.StartProcess(shell, 4115, "zstd -T0 --ultra -22 corpus-c.tar");
  source.AdvanceBy(part / 2);
  source.EndProcess(killed, 0, 9);
  source.StartProcess(shell, 4121, "xz -T4 -9 --keep corpus-c.tar");
  source.AdvanceBy(part / 2);
}

/// One that is over, on the first CPU, and one that is on, on the machine.
void RaiseAlarms(SyntheticSource& source, int64_t seconds) {
  const int64_t part = seconds * kSecondNs / 6;
  const auto meta = source.Meta();
  const auto series_of = [&](std::string_view signal) {
    return *std::find_if(meta->series.begin(), meta->series.end(),
                         [&](const model::Series& series) { return series.signal == signal; });
  };
  const model::Series cpu = series_of("user");
  const model::Series faults = series_of("pgfault");
  model::Alarm alarm{.t_ns = source.start_ns() + part,
                     .id = 1,
                     .severity = model::AlarmSeverity::kWarning,
                     .element = cpu.element,
                     .series = cpu.id,
                     .value = 93,
                     .threshold = 90,
                     .alarm = "cpu.busy",
                     .unit = "%",
                     .text = "CPU 0 is busy while others idle",
                     .advice = "let more threads share the work"};
  source.AddAlarm(alarm);
  model::Alarm critical{.t_ns = source.start_ns() + 4 * part,
                        .id = 2,
                        .severity = model::AlarmSeverity::kCritical,
                        .element = faults.element,
                        .series = faults.id,
                        .value = 52'000,
                        .threshold = 40'000,
                        .alarm = "memory.thrashing",
                        .unit = "1/s",
                        .text = "The machine swaps 52 000 pages a second",
                        .advice = "use less memory, or fewer processes at once"};
  source.AddAlarm(critical);
  alarm.t_ns += 2 * part;
  alarm.state = model::AlarmState::kCleared;
  alarm.advice.clear();
  source.AddAlarm(alarm);
}

void AnswerCommands(SyntheticSource& source, const Server& server) {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command == "count") {
      model::SeriesId series = 0;
      int64_t t0_ns = 0;
      int64_t t1_ns = 0;
      words >> series >> t0_ns >> t1_ns;
      fmt::print("count {}\n", source.CountSamples(series, {source.start_ns() + t0_ns, source.start_ns() + t1_ns}));
    } else if (command == "label") {
      source.AddLabel(source.now_ns(), line.substr(std::min<size_t>(line.size(), 6)));
    } else if (command == "stats") {
      const ServerStats stats = server.Stats();
      fmt::print("stats {} {} {} {}\n", stats.clients, stats.updates, stats.bytes, stats.largest_client_bytes);
    } else if (command == "quit") {
      return;
    }
    std::fflush(stdout);
  }
}

/// For the tests of loading a file: the text "demo" is a recording of two CPUs, everything else is none.
Result<std::unique_ptr<model::Source>> OpenDemo(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  if (!(file >> word) || word != "demo") return Error{Errc::kCorrupt, path + " is not a recording", ""};
  auto source = std::make_unique<SyntheticSource>(SyntheticOptions{.cpus = 2});
  MakeHistory(*source, 60);
  source->Finish();
  return std::unique_ptr<model::Source>(std::move(source));
}

int Main(int argc, char** argv) {
  const Settings settings = ParseArguments(argc, argv);
  SyntheticOptions options;
  options.cpus = settings.cpus;
  options.boards = settings.boards;
  options.threads = settings.threads;
  options.counters = settings.counters;
  options.fast_interval_ns = kSecondNs / settings.hz;
  const int64_t real_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  options.real_minus_monotonic_ns = real_ns - options.start_ns - settings.history_s * kSecondNs;
  SyntheticSource source(options);
  MakeHistory(source, settings.history_s);
  if (settings.alarms) RaiseAlarms(source, settings.history_s);
  if (settings.recorded) source.Finish();

  std::atomic<bool> paused{false};
  ServerOptions server_options;
  server_options.title = settings.title;
  if (!settings.recorded) {
    server_options.on_label = [&source](int64_t t_ns, const std::string& text) -> Status {
      source.AddLabel(t_ns == model::kAbsent ? source.now_ns() : t_ns, text);
      return {};
    };
    server_options.on_control = [&paused](const ControlRequest& request) -> Status {
      if (request.interval_ns) return Error{Errc::kUnavailable, "the demo's interval is fixed", ""};
      paused = *request.paused;
      return {};
    };
    server_options.is_paused = [&paused] { return paused.load(); };
  }
  server_options.open_recording = OpenDemo;
  const auto server = Server::Start(source, server_options);
  if (!server.ok()) {
    fmt::print(stderr, "{}\n{}\n", server.error().message, server.error().hint);
    return 1;
  }
  fmt::print("{}\n", (*server)->Url());
  std::fflush(stdout);

  std::jthread growth;
  if (!settings.recorded) {
    growth = std::jthread([&source, &paused](const std::stop_token& stop) {
      const auto began = std::chrono::steady_clock::now();
      const int64_t base_ns = source.now_ns();
      while (!stop.stop_requested()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        const auto elapsed = std::chrono::steady_clock::now() - began;
        if (!paused) source.AdvanceTo(base_ns + std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
      }
    });
  }
  AnswerCommands(source, **server);
  return 0;
}

}  // namespace
}  // namespace attune::live

int main(int argc, char** argv) { return attune::live::Main(argc, argv); }
