#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "analysis/page/page_document.h"
#include "analysis/page/page_json.h"
#include "analysis/report/summary.h"
#include "fake_source.h"
#include "message_source.h"
#include "model/program_series.h"

namespace attune::analysis::page_documents_test {
namespace {

using Json = nlohmann::json;
using model::ElementId;
using model::ElementKind;
using wire::EventKind;
using wire::SyncKind;

constexpr int64_t kMs = 1'000'000;

/// docs/live.md says so.
constexpr size_t kMaxFlames = 20'000;
constexpr size_t kMaxPairs = 8192;

Json Document(std::string_view name, const PageRequest& request) {
  const auto documents = MakeAllPageDocuments();
  const auto found = std::ranges::find(documents, name, &PageDocument::name);
  if (found == documents.end()) {
    ADD_FAILURE() << "no document " << name;
    return {};
  }
  const auto text = found->make(request);
  EXPECT_TRUE(text.ok());
  return Json::parse(text.value_or("{}"));
}

struct Program : FakeSource {
  Program() {
    extent = {0, 1000 * kMs};
    process = AddElement(ElementKind::kProcess, "./solver", 0, 100);
    for (int i = 0; i < 2; ++i) {
      threads.push_back(AddElement(ElementKind::kThread, "worker", process, 101 + i));
      meta.elements.back().start_ns = 0;
      meta.elements.back().end_ns = 1000 * kMs;
    }
    site = AddElement(ElementKind::kSite, "solver+0x10", process);
    meta.sites.push_back({.id = site, .address = 16, .module = "/opt/solver"});
  }
  /// One that both threads use, and the second one waits for.
  ElementId AddLock(int64_t wait_ns) {
    const ElementId lock = AddElement(ElementKind::kLock, "mutex", process);
    sync.push_back({5, threads[0], lock, site, SyncKind::kMutex, 10, 0, 0, 0, 0});
    sync.push_back({5, threads[1], lock, site, SyncKind::kMutex, 10, 5, wait_ns, 0, 0});
    events.push_back({wait_ns, threads[0], EventKind::kHandOver, lock, 0, site, 1});
    events.push_back({wait_ns, threads[1], EventKind::kWait, lock, wait_ns, site, 1});
    return lock;
  }
  Json Get(std::string_view name, const std::optional<model::TimeRange>& range = {}) {
    return Document(name, {*this, names, range});
  }
  Json Flames(const std::optional<model::TimeRange>& range = {}) { return Get("flames", range); }
  ElementId process = 0, site = 0;
  std::vector<ElementId> threads;
  std::vector<model::Site> names;
};

TEST(PageDocuments, EachFileIsOneWithANameOfItsOwn) {
  std::vector<std::string> names, of_a_part;
  for (const PageDocument& document : MakeAllPageDocuments()) {
    names.push_back(document.name);
    if (document.may_have_range) of_a_part.push_back(document.name);
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"waits", "sync-graph", "sites", "flames", "messages", "counters"}));
  EXPECT_THAT(of_a_part, testing::IsSupersetOf({"counters", "flames"}));
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST(PageDocuments, WaitsHasFindingsAndLocksWithTheNamesThatWereLookedUp) {
  Program program;
  const ElementId lock = program.AddLock(600 * kMs);
  program.names = {
      {.id = program.site, .line = 7, .function = "Add(int)", .file = "/src/a.cpp", .module = "/opt/solver"}};
  const Json json = program.Get("waits");
  ASSERT_EQ(json["findings"].size(), 1u);
  EXPECT_EQ(json["findings"][0]["class"], "lock-contention");
  EXPECT_EQ(json["findings"][0]["site"]["id"], program.site);
  EXPECT_EQ(json["findings"][0]["site"]["function"], "Add(int)");
  EXPECT_TRUE(json.contains("verdict"));
  EXPECT_TRUE(json.contains("balance"));
  ASSERT_EQ(json["waits"]["locks"].size(), 1u);
  EXPECT_EQ(json["waits"]["locks_in_all"], 1);
  const Json& row = json["waits"]["locks"][0];
  EXPECT_EQ(row["object"], lock);
  EXPECT_EQ(row["sites"][0]["id"], program.site);
  EXPECT_EQ(row["sites"][0]["line"], 7);
  EXPECT_EQ(row["holders"][0]["wait_ns"], 600 * kMs);
  EXPECT_EQ(program.Get("sites")["sites"][0]["function"], "Add(int)");
}

TEST(PageDocuments, ShowThoseWithMostWaitingOfMany) {
  Program program;
  for (size_t i = 0; i < kMaxPageObjects + 20; ++i) program.AddLock(static_cast<int64_t>(i + 1) * 1000);
  const Json waits = program.Get("waits")["waits"];
  EXPECT_EQ(waits["locks"].size(), kMaxPageObjects);
  EXPECT_EQ(waits["locks_in_all"], kMaxPageObjects + 20);
  EXPECT_EQ(waits["locks"][0]["wait_ns"], static_cast<int64_t>(kMaxPageObjects + 20) * 1000);
  const Json graph = program.Get("sync-graph");
  EXPECT_EQ(graph["events"].size(), kMaxPageObjects);
  EXPECT_EQ(graph["events_in_all"], kMaxPageObjects + 20);
  EXPECT_EQ(graph["links"].size(), 2 * kMaxPageObjects) << "of events that are there";
  EXPECT_EQ(graph["links_in_all"], 2 * (kMaxPageObjects + 20));
  EXPECT_EQ(graph["handovers"].size(), kMaxPageObjects);
  EXPECT_EQ(graph["links"][0]["site_id"], program.site);
}

TEST(PageDocuments, FlamesAreTreesOfFramesByColumn) {
  Program program;
  const ElementId lock = program.AddLock(600 * kMs);
  program.names = {{.id = program.site, .function = "Add(int)", .file = "/src/a.cpp", .module = "/opt/solver"}};
  const Json waiting = program.Flames()["waiting"];
  const auto frame = [&](size_t node, const char* tree) {
    return waiting["frames"][waiting[tree]["frame"][node].get<size_t>()];
  };
  EXPECT_EQ(waiting["together"]["frame"][0], -1);
  EXPECT_THAT(waiting["together"]["parent"], testing::ElementsAre(-1, 0, 1, 2));
  EXPECT_THAT(waiting["each"]["parent"], testing::ElementsAre(-1, 0, 1, 2, 3));
  EXPECT_THAT(waiting["together"]["time_ns"], testing::Each(600 * kMs));
  EXPECT_THAT(waiting["together"]["left_out_ns"], testing::Each(0));
  EXPECT_THAT(waiting["together"]["site"], testing::ElementsAre(0, 0, program.site, 0));
  EXPECT_EQ(waiting["together"]["nodes_in_all"], 4);
  EXPECT_EQ(frame(1, "together"),
            (Json{{"kind", "process"}, {"element", program.process}, {"name", "./solver"}, {"group", ""}}));
  EXPECT_EQ(frame(2, "each"),
            (Json{{"kind", "thread"}, {"element", program.threads[1]}, {"name", "worker 102"}, {"group", ""}}));
  EXPECT_EQ(frame(2, "together"), (Json{{"kind", "code"}, {"element", 0}, {"name", "Add(int)"}, {"group", "solver"}}));
  EXPECT_EQ(frame(3, "together"),
            (Json{{"kind", "wait"}, {"element", lock}, {"name", "wait for mutex"}, {"group", "mutex"}}));
}

TEST(PageDocuments, FlamesOfCpuTimeAreThereWhereItWasSampled) {
  Program program;
  EXPECT_FALSE(program.Flames().contains("computing"));
  program.stack_rows = {{1, 0, program.site}};
  program.cpu_samples = {
      {.t_ns = 1, .thread = program.threads[0], .site = program.site, .stack = 1, .weight_ns = 4 * kMs}};
  const Json computing = program.Flames()["computing"];
  EXPECT_THAT(computing["together"]["time_ns"], testing::ElementsAre(4 * kMs, 4 * kMs, 4 * kMs));
  EXPECT_THAT(computing["each"]["site"], testing::ElementsAre(0, 0, 0, program.site));
}

TEST(PageDocuments, FlamesOfAPartOfTheTimeHaveWhatLiesWithin) {
  Program program;
  const ElementId lock = program.AddLock(600 * kMs);  // from the beginning on
  const ElementId files = program.AddElement(ElementKind::kLock, "files", program.process);
  program.events.push_back({900 * kMs, program.threads[0], EventKind::kWait, lock, 100 * kMs, program.site,
                            static_cast<int64_t>(SyncKind::kMutex)});
  program.events.push_back({900 * kMs, program.threads[0], EventKind::kWait, files, 900 * kMs, program.site,
                            static_cast<int64_t>(SyncKind::kFile)});
  program.stack_rows = {{1, 0, program.site}};
  for (const int64_t t_ns : {100 * kMs, 400 * kMs, 500 * kMs})
    program.cpu_samples.push_back(
        {.t_ns = t_ns, .thread = program.threads[0], .site = program.site, .stack = 1, .weight_ns = 4 * kMs});
  const auto times = [&](model::TimeRange range, const char* kind) {
    return program.Flames(range)[kind]["together"]["time_ns"][0];
  };
  EXPECT_EQ(times({400 * kMs, 500 * kMs}, "waiting"), 100 * kMs) << "the middle of a wait that ends later";
  EXPECT_EQ(times({400 * kMs, 500 * kMs}, "computing"), 4 * kMs) << "the end is not within";
  EXPECT_EQ(times({550 * kMs, 850 * kMs}, "waiting"), 100 * kMs) << "50 ms of each";
  EXPECT_EQ(times({0, 1000 * kMs}, "waiting"), 700 * kMs);
  EXPECT_EQ(times({0, 1000 * kMs}, "computing"), 12 * kMs);
  EXPECT_EQ(times({950 * kMs, 1000 * kMs}, "waiting"), 0);
  EXPECT_EQ(times({950 * kMs, 1000 * kMs}, "computing"), 0) << "samples were taken, if not then";
  const Json frames = program.Flames(model::TimeRange{0, 1000 * kMs})["waiting"]["frames"];
  const Json all = program.Flames()["waiting"]["frames"];
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(frames[i], all[i]) << "process, code, and what was waited for";
}

TEST(PageDocuments, FlamesOfManyObjectsAreBounded) {
  Program program;
  for (size_t i = 0; i < kMaxFlames + 5; ++i) program.AddLock(static_cast<int64_t>(i + 1) * 1000);
  const Json waiting = program.Flames()["waiting"];
  EXPECT_EQ(waiting["each"]["frame"].size(), kMaxFlames);
  EXPECT_EQ(waiting["each"]["nodes_in_all"], kMaxFlames + 5 + 4);
  EXPECT_EQ(waiting["each"]["left_out_ns"][3], (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9) * 1000) << "below the function";
  EXPECT_EQ(waiting["frames"].size(), kMaxFlames) << "those that were sent, and the root has none";
}

TEST(PageDocuments, TheCriticalPathIsThatOfTheReport) {
  Program program;
  const ElementId lock = program.AddLock(600 * kMs);
  program.meta.elements.at(program.threads[0] - 1).end_ns = 900 * kMs;  // the one that waited ends last
  const Json document = program.Get("waits");
  const auto summary = Summarise(program);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(document["critical_path"], Json::parse(ToJson(*summary))["critical_path"]);
  EXPECT_EQ(document["critical_path"]["what_if"][0]["object"], lock);
  EXPECT_EQ(document["critical_path"]["threads"].size(), 2u);
}

TEST(PageDocuments, AreThereWithoutAnyWaiting) {
  Program program;
  EXPECT_TRUE(program.Get("waits")["findings"].empty());
  EXPECT_TRUE(program.Get("waits")["waits"]["locks"].empty());
  EXPECT_TRUE(program.Get("sync-graph")["events"].empty());
  EXPECT_THAT(program.Flames()["waiting"]["each"]["time_ns"], testing::ElementsAre(0)) << "the root";
  EXPECT_TRUE(program.Get("waits")["critical_path"].is_null());
}

TEST(PageDocuments, MessagesAreTheTaskGraphWithThePairsOfMostBytes) {
  constexpr int kRanks = 92;
  JobSource job(kRanks);
  const ElementId at = job.Site("exchange", 12);
  for (int from = 0; from < kRanks; ++from) {
    for (int to = 0; to < kRanks; ++to) {
      const auto sender = static_cast<size_t>(from), receiver = static_cast<size_t>(to);
      if (from != to) job.Send(sender, receiver, {at, 1, 2}, {at, 1, 2}, 1 + from * kRanks + to);
    }
  }
  const Json json = Document("messages", {job, {}});
  EXPECT_EQ(json["ranks"].size(), kRanks);
  EXPECT_EQ(json["pairs_in_all"], kRanks * (kRanks - 1));
  ASSERT_EQ(json["pairs"].size(), kMaxPairs);
  EXPECT_EQ(json["pairs"][0]["source"], job.rank[kRanks - 1]);
  EXPECT_EQ(json["pairs"][0]["destination"], job.rank[kRanks - 2]);
  EXPECT_EQ(json["pairs"][0]["bytes"], 1 + (kRanks - 1) * kRanks + kRanks - 2);
  EXPECT_EQ(json["links"].size(), kMaxPageLinks);
  EXPECT_EQ(json["links"][0]["site_id"], at);
  EXPECT_EQ(json["collectives_in_all"], 0);
}

TEST(PageDocuments, CountersAreThoseOfTheReport) {
  Program program;
  program.meta.info["core_types"] = "0 1";
  const auto add = [&program](int64_t t_ns, int thread, const char* event, int64_t count, int64_t cpu) {
    program.thread_counts.push_back(
        {.t_ns = t_ns, .element = program.threads[thread], .event = event, .count = count, .cpu = cpu});
  };
  add(100 * kMs, 0, "task-clock", 40, 0);
  add(100 * kMs, 0, "page-faults", 7, 0);
  add(500 * kMs, 1, "task-clock", 90, 1);
  add(900 * kMs, 0, "task-clock", 20, 0);
  program.thread_counts.back().counted_ppm = 500'000;
  const Json json = program.Get("counters");
  EXPECT_EQ(json["time_ns"], 1000 * kMs);
  const auto summary = Summarise(program);
  ASSERT_TRUE(summary.ok());
  const Json report = Json::parse(ToJson(*summary))["thread_counts"];
  EXPECT_EQ(json["events"], report["events"]);
  EXPECT_EQ(json["events"][0], (Json{{"event", "task-clock"}, {"unit", "ns"}, {"count", 150}, {"scaled", true}}));
  ASSERT_EQ(json["threads"].size(), report["threads"].size());
  for (size_t i = 0; i < json["threads"].size(); ++i) {
    for (const char* const key : {"pid", "tid", "thread", "counts"})
      EXPECT_EQ(json["threads"][i][key], report["threads"][i][key]) << i << ' ' << key;
  }
  EXPECT_EQ(json["threads"][0]["tid"], 102);
  EXPECT_EQ(json["threads"][0]["element"], program.threads[1]);
  EXPECT_EQ(json["threads"][0]["process"], "./solver");
  EXPECT_EQ(json["threads"][0]["process_element"], program.process);
  EXPECT_EQ(json["threads_in_all"], 2);
  EXPECT_TRUE(json["rest"].is_null());
  for (const char* const key : {"cpus", "core_types"}) EXPECT_EQ(json[key], report[key]) << key;
  ASSERT_EQ(json["cpus"].size(), 2u);
  EXPECT_EQ(json["cpus"][0]["counts"][0], 60);
  ASSERT_EQ(json["core_types"].size(), 2u);
  EXPECT_EQ(json["core_types"][0]["cpus"], 1);
}

TEST(PageDocuments, CountersOfAPartOfTheTimeHaveTheRowsWithin) {
  Program program;
  for (const int64_t t_ns : {100 * kMs, 500 * kMs, 900 * kMs})
    program.thread_counts.push_back(
        {.t_ns = t_ns, .element = program.threads[0], .event = "page-faults", .count = t_ns / kMs});
  const Json json = program.Get("counters", model::TimeRange{500 * kMs, 900 * kMs});
  EXPECT_EQ(json["time_ns"], 400 * kMs);
  ASSERT_EQ(json["threads"].size(), 1u);
  EXPECT_EQ(json["threads"][0]["counts"], Json({500})) << "the end is not within";
  EXPECT_EQ(json["events"][0]["count"], 500);
  EXPECT_EQ(program.Get("counters", model::TimeRange{900 * kMs, 5000 * kMs})["time_ns"], 100 * kMs);
  EXPECT_TRUE(program.Get("counters", model::TimeRange{200 * kMs, 300 * kMs})["events"].empty());
}

TEST(PageDocuments, HotLinesAreOfTheProgramsOwnCode) {
  Program program;
  const auto add_site = [&](const char* function, int64_t line, const char* module) {
    const ElementId id = program.AddElement(ElementKind::kSite, std::string(function) + "+1", program.process);
    program.meta.sites.push_back(
        {.id = id, .line = line, .function = function, .file = "/src/a.cpp", .module = module});
    return id;
  };
  const ElementId main = add_site("main", 3, "/opt/solver"), fill = add_site("Fill", 9, "/opt/solver");
  const ElementId same_line = add_site("Fill", 9, "/opt/solver");
  const ElementId memset = add_site("memset", model::kAbsent, "/usr/lib/libc.so.6");
  program.stack_rows = {{1, 0, main}, {2, 1, fill}, {3, 2, memset}, {4, 1, same_line}};
  program.cpu_samples = {{10, program.threads[0], 0, main, 1, 300}, {20, program.threads[0], 0, memset, 3, 100}};
  program.event_samples = {{15, program.threads[0], 0, "page-faults", memset, 3, 40},
                           {30, program.threads[1], 0, "page-faults", same_line, 4, 20},
                           {35, program.threads[1], 0, "page-faults", main, 1, 4}};
  const Json json = program.Get("hot-lines");
  EXPECT_EQ(json["events"], (Json{{{"event", "cpu-time"}, {"unit", "ns"}, {"count", 400}, {"samples", 2}},
                                  {{"event", "page-faults"}, {"unit", ""}, {"count", 64}, {"samples", 3}}}));
  ASSERT_EQ(json["lines"].size(), 2u) << "two places of a line are one, and memset() is whose that called it";
  EXPECT_EQ(json["lines"][0]["site"]["function"], "Fill");
  EXPECT_EQ(json["lines"][0]["counts"], Json({100, 60}));
  EXPECT_DOUBLE_EQ(json["lines"][0]["share"], 60.0 / 64);
  EXPECT_EQ(json["lines"][1]["counts"], Json({300, 4}));
  const Json flames = program.Flames();
  ASSERT_EQ(flames["events"].size(), 1u);
  EXPECT_EQ(flames["events"][0]["event"], "page-faults");
  EXPECT_EQ(flames["events"][0]["together"]["time_ns"][0], 64);
  const Json part = program.Get("hot-lines", model::TimeRange{12, 32});
  EXPECT_EQ(part["events"][0]["count"], 100);
  EXPECT_EQ(part["events"][1]["count"], 60);
  const auto summary = Summarise(program);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(json["lines"], Json::parse(ToJson(*summary))["hot_lines"]["lines"]);
}

TEST(PageDocuments, RegionsHaveTheirCountsAndMetricsAsTheReport) {
  Program program;
  const ElementId step = program.AddElement(ElementKind::kRegion, "step", program.process);
  const ElementId bare = program.AddElement(ElementKind::kRegion, "bare", program.process);
  program.events = {{10, program.threads[0], EventKind::kRegionBegin, step},
                    {20, program.threads[0], EventKind::kRegionBegin, bare},
                    {50, program.threads[0], EventKind::kRegionEnd, bare},
                    {90, program.threads[0], EventKind::kRegionEnd, step}};
  for (const auto& [signal, last] : {std::pair("step: cycles:u", 40), std::pair("step: instructions:u", 80)}) {
    const model::StreamId stream = program.AddStream(
        0, {{program.process, std::string(model::kProgramSensor), signal, "1", model::SeriesKind::kGauge, 0}});
    program.samples[stream] = {{90, {last}}};
  }
  const Json json = program.Get("regions");
  EXPECT_EQ(json["regions_in_all"], 2);
  ASSERT_EQ(json["regions"].size(), 2u);
  EXPECT_EQ(json["regions"][0]["name"], "step");
  EXPECT_EQ(json["regions"][0]["self_ns"], 50);
  EXPECT_EQ(json["regions"][0]["counts"][0], (Json{{"event", "cycles:u"}, {"unit", ""}, {"total", 40}}));
  EXPECT_THAT(json["regions"][0]["metrics"], testing::Contains(Json{{"metric", "IPC"}, {"unit", ""}, {"value", 2}}));
  EXPECT_TRUE(json["regions"][1]["metrics"].empty()) << "nothing was counted there";
  const auto summary = Summarise(program);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(json["regions"], Json::parse(ToJson(*summary))["program"]["regions"]);
}

TEST(PageDocuments, CountersOfManyThreadsAreBounded) {
  Program program;
  double all = 0;
  for (size_t i = 0; i < kMaxPageObjects + 20; ++i) {
    const ElementId thread = program.AddElement(ElementKind::kThread, "many", program.process, 1000);
    program.thread_counts.push_back(
        {.t_ns = 5, .element = thread, .event = "page-faults", .count = 1000 - static_cast<int64_t>(i)});
    all += 1000 - static_cast<double>(i);
  }
  const Json json = program.Get("counters");
  EXPECT_EQ(json["threads"].size(), kMaxPageObjects);
  EXPECT_EQ(json["threads_in_all"], kMaxPageObjects + 20);
  EXPECT_EQ(json["rest"]["threads"], 20);
  double shown = json["rest"]["counts"][0];
  for (const Json& thread : json["threads"]) shown += thread["counts"][0].get<double>();
  EXPECT_EQ(shown, all);
  EXPECT_EQ(json["events"][0]["count"], all);
  EXPECT_GE(json["threads"][kMaxPageObjects - 1]["counts"][0], json["rest"]["counts"][0].get<double>() / 20);
}

TEST(PageDocuments, CountersAreEmptyWhereNothingWasCounted) {
  Program program;
  const Json json = program.Get("counters");
  EXPECT_TRUE(json["events"].empty());
  EXPECT_TRUE(json["threads"].empty());
  EXPECT_EQ(json["threads_in_all"], 0);
}

TEST(PageDocuments, TheCourseIsHowBusyTheCpusWere) {
  Program program;
  EXPECT_TRUE(program.Get("course")["busy"].empty());
  std::vector<FakeSource::Signal> signals;
  for (const char* name : {"cpu0", "cpu1"})
    signals.push_back({program.AddElement(ElementKind::kCpu, name), "cpu", "idle", "ns"});
  program.AddStream(100 * kMs, signals);
  for (model::Series& series : program.meta.series) series.max_per_second = 1'000'000'000;
  // CPU 0 is busy for the first half, CPU 1 always for a quarter; of 600 to 800 ms nothing is known.
  for (model::SeriesId id = 1; id <= 2; ++id) {
    model::SeriesView view{.series = id, .exact = true};
    for (int64_t i = 0; i < 10; ++i) {
      view.t_ns.push_back(i * 100 * kMs);
      view.count.push_back(1);
      const double idle = id == 2 ? 0.75e9 : i < 5 ? 0 : 1e9;
      view.mean.push_back(i == 6 || i == 7 ? std::numeric_limits<double>::quiet_NaN() : idle);
    }
    program.views.push_back(std::move(view));
  }
  const Json json = program.Get("course");
  EXPECT_EQ(json["t0_ns"], 0);
  EXPECT_EQ(json["t1_ns"], 1000 * kMs);
  EXPECT_EQ(json["busy"], Json({0.625, 0.625, 0.375, nullptr, 0.125}));
}

}  // namespace
}  // namespace attune::analysis::page_documents_test
