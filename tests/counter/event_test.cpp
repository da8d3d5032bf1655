// Names of events on made-up machines: one kind of cores, two, and none.

#include "counter/event.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "counter/libpfm_names.h"
#include "counter/sampled_event.h"
#include "fake_host.h"

namespace attune::counter {
namespace {

using attune::fakes::FakeHost;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const CpuSet kOnline = *CpuSet::Parse("0-3");

class Events : public ::testing::Test {
 protected:
  void Unit(const std::string& device, const std::string& type) {
    host_.Write("/sys/bus/event_source/devices/" + device + "/type", type + "\n");
  }
  void File(const std::string& device, const std::string& file, const std::string& text) {
    host_.Write("/sys/bus/event_source/devices/" + device + "/" + file, text + "\n");
  }
  void Intel() {
    Unit("software", "1");
    Unit("cpu", "4");
    File("cpu", "format/event", "config:0-7");
    File("cpu", "format/umask", "config:8-15");
    File("cpu", "format/offcore_rsp", "config1:0-63");
    File("cpu", "events/mem-loads", "event=0xcd,umask=0x1");
    Unit("power", "9");
    File("power", "cpumask", "0");
    File("power", "format/event", "config:0-7");
    File("power", "events/energy-pkg", "event=0x02");
    File("power", "events/energy-pkg.unit", "Joules");
    File("power", "events/energy-pkg.scale", "2.3283064365386962890625e-10");
  }
  void BigAndLittle() {
    Unit("armv8_cortex_a53", "8");
    File("armv8_cortex_a53", "cpus", "0-1");
    Unit("armv8_cortex_a72", "9");
    File("armv8_cortex_a72", "cpus", "2-3");
  }
  Result<std::vector<NamedEvent>> Parse(std::string_view list) {
    pmus_ = FindPmus(host_.Root(), kOnline);
    return ParseEvents(host_.Root(), pmus_, list);
  }
  Event One(std::string_view name) {
    const auto events = Parse(name);
    EXPECT_TRUE(events.ok()) << events.error().message;
    return events.ok() && events->size() == 1 ? events->front().parts.front() : Event{.device = "", .cpus = {}};
  }
  std::string ErrorOf(std::string_view name) {
    const auto events = Parse(name);
    EXPECT_FALSE(events.ok()) << name;
    return events.ok() ? "" : events.error().message + " | " + events.error().hint;
  }
  FakeHost host_;
  std::vector<Pmu> pmus_;
};

TEST_F(Events, PerfsNames) {
  Intel();
  EXPECT_EQ(One("cycles").config, static_cast<uint64_t>(PERF_COUNT_HW_CPU_CYCLES));
  EXPECT_EQ(One("cs").config, static_cast<uint64_t>(PERF_COUNT_SW_CONTEXT_SWITCHES));
  const Event misses = One("L1-dcache-load-misses");
  EXPECT_EQ(misses.type, static_cast<uint32_t>(PERF_TYPE_HW_CACHE));
  EXPECT_EQ(misses.config, 0x10000u);
  EXPECT_EQ(One("dTLB-store-misses").config, 0x10103u);
  EXPECT_EQ(One("r01d1").config, 0x1d1u);
  const auto clock = Parse("task-clock");
  ASSERT_TRUE(clock.ok());
  EXPECT_EQ(clock->front().unit, "ns");
}

TEST_F(Events, TermsOfAUnitGoWhereItsFormatSays) {
  Intel();
  EXPECT_EQ(One("cpu/event=0x3c,umask=2/").config, 0x23cu);
  EXPECT_EQ(One("cpu/event=0xb7,umask=1,offcore_rsp=0x10003/").config1, 0x10003u);
  EXPECT_EQ(One("cpu/mem-loads/").config, 0x1cdu);
  EXPECT_EQ(One("cpu/config=0x1234/").config, 0x1234u);
  const auto energy = Parse("power/energy-pkg/");
  ASSERT_TRUE(energy.ok());
  EXPECT_EQ(energy->front().unit, "Joules");
  EXPECT_DOUBLE_EQ(energy->front().scale, 0x1p-32);
  EXPECT_EQ(energy->front().parts.front().cpus.ToString(), "0") << "it is read on one CPU";
  EXPECT_EQ(Parse("energy-pkg")->front().parts.front().type, 9u);
}

TEST_F(Events, AListHasCommasInsideOfUnits) {
  Intel();
  const auto events = Parse("cycles:u,cpu/event=1,umask=2/k,page-faults");
  ASSERT_TRUE(events.ok()) << events.error().message;
  ASSERT_THAT(*events, SizeIs(3));
  EXPECT_TRUE((*events)[0].parts[0].Attributes().exclude_kernel);
  EXPECT_FALSE((*events)[0].parts[0].Attributes().exclude_user);
  EXPECT_TRUE((*events)[1].parts[0].Attributes().exclude_user);
  EXPECT_EQ((*events)[1].name, "cpu/event=1,umask=2/k");
  EXPECT_FALSE((*events)[2].parts[0].Attributes().exclude_kernel);
}

TEST_F(Events, SampledOnesMayHaveAPeriod) {
  Intel();
  pmus_ = FindPmus(host_.Root(), kOnline);
  const auto parse = [&](std::string_view list) { return ParseSampledEvents(host_.Root(), pmus_, list); };
  const auto events = parse("page-faults=1,cpu/event=1,umask=2/=5000,cycles,cpu/event=3/k");
  ASSERT_TRUE(events.ok()) << events.error().message;
  ASSERT_THAT(*events, SizeIs(4));
  std::vector<std::pair<std::string, uint64_t>> found;
  for (const SampledEvent& sampled : *events) found.emplace_back(sampled.event.name, sampled.period);
  EXPECT_EQ(found, (std::vector<std::pair<std::string, uint64_t>>{
                       {"page-faults", 1}, {"cpu/event=1,umask=2/", 5000}, {"cycles", 0}, {"cpu/event=3/k", 0}}));
  EXPECT_EQ((*events)[3].event.parts[0].config, 3u);
  for (const char* wrong :
       {"cycles=0", "cycles=x", "cycles=", "cycles=-1", "cycles=99999999999999999999", "=5", "cycles,"})
    EXPECT_FALSE(parse(wrong).ok()) << wrong;
}

TEST_F(Events, CoresOfTwoKindsAreCountedBoth) {
  BigAndLittle();
  const auto events = Parse("instructions,r11");
  ASSERT_TRUE(events.ok()) << events.error().message;
  ASSERT_THAT((*events)[0].parts, SizeIs(2));
  EXPECT_EQ((*events)[0].parts[0].type, 8u);
  EXPECT_EQ((*events)[0].parts[1].type, 9u);
  EXPECT_EQ((*events)[0].parts[1].config, 0x08u) << "Arm's own number: Linux 6.1 takes no kind beside its own";
  EXPECT_EQ((*events)[0].parts[1].cpus.ToString(), "2-3");
  EXPECT_EQ((*events)[1].parts[1].type, 9u);
}

TEST_F(Events, CoresOfTwoKindsOfIntelsAreCountedBoth) {
  Unit("cpu_core", "4");
  File("cpu_core", "cpus", "0-1");
  Unit("cpu_atom", "10");
  File("cpu_atom", "cpus", "2-3");
  const auto events = Parse("instructions");
  ASSERT_TRUE(events.ok()) << events.error().message;
  ASSERT_THAT((*events)[0].parts, SizeIs(2));
  for (const Event& part : (*events)[0].parts) {
    EXPECT_EQ(part.type, PERF_TYPE_HARDWARE);
    EXPECT_EQ(part.config, (part.device == "cpu_core" ? uint64_t{4} : uint64_t{10}) << 32 | PERF_COUNT_HW_INSTRUCTIONS);
  }
}

TEST_F(Events, OfOneKindOfCoresAreCountedOnThese) {
  Unit("cpu_core", "4");
  File("cpu_core", "cpus", "0-1");
  File("cpu_core", "format/event", "config:0-7");
  File("cpu_core", "events/mem-stores", "event=0xd0");
  Unit("cpu_atom", "10");
  File("cpu_atom", "cpus", "2-3");
  EXPECT_EQ(One("cpu_core/mem-stores/").cpus.ToString(), "0-1");
  EXPECT_EQ(One("mem-stores").cpus.ToString(), "0-1");
  EXPECT_EQ(One("mem-stores").type, 4u);
}

TEST_F(Events, TracepointsHaveNumbers) {
  host_.Write("/sys/kernel/tracing/events/sched/sched_switch/id", "314\n");
  const Event event = One("sched:sched_switch");
  EXPECT_EQ(event.type, static_cast<uint32_t>(PERF_TYPE_TRACEPOINT));
  EXPECT_EQ(event.config, 314u);
  const auto named = ParseEvents(host_.Root(), pmus_, "sched:sched_switch,page-faults");
  ASSERT_TRUE(named.ok());
  const Status traced = CheckSampledByBpf(named->front());
  ASSERT_FALSE(traced.ok());
  EXPECT_EQ(traced.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(traced.error().message, HasSubstr("'sched:sched_switch' is a tracepoint"));
  EXPECT_THAT(traced.error().hint, HasSubstr("-e sched:sched_switch -i"));
  EXPECT_TRUE(CheckSampledByBpf(named->back()).ok());
}

TEST_F(Events, ErrorsNameWhatIsNear) {
  Intel();
  EXPECT_THAT(ErrorOf("instrucions"), HasSubstr("did you mean instructions?"));
  EXPECT_THAT(ErrorOf("cpu/evnt=1/"), HasSubstr("cpu has neither a term nor an event 'evnt' | did you mean event?"));
  EXPECT_THAT(ErrorOf("cpu/event=0x100/"), HasSubstr("too many bits"));
  EXPECT_THAT(ErrorOf("cpu/event=x/"), HasSubstr("is no number"));
  EXPECT_THAT(ErrorOf("cpx/event=1/"), HasSubstr("no unit 'cpx'"));
  EXPECT_THAT(ErrorOf("cycles,,cs"), HasSubstr("empty name"));
  EXPECT_THAT(ErrorOf("energy-pkgs"), HasSubstr("energy-pkg?"));
  host_.Write("/sys/kernel/tracing/events/sched/sched_switch/id", "314\n");
  EXPECT_THAT(ErrorOf("sched:sched_swich"), HasSubstr("did you mean sched:sched_switch"));
  EXPECT_THAT(ErrorOf("shed:sched_switch"), HasSubstr("did you mean sched:sched_switch"));
}

TEST_F(Events, TracepointsThatCannotBeReadAreNotCalledUnknown) {
  Unit("software", "1");
  pmus_ = FindPmus(host_.Root(), kOnline);
  EXPECT_THAT(ErrorOf("sched:sched_switch"), HasSubstr("tracefs is not there (sudo mount -t tracefs"));
  std::vector<EventNote> left_out;
  EXPECT_TRUE(ParseEvents(host_.Root(), pmus_, "page-faults,sched:sched_switch", &left_out).ok());
  ASSERT_THAT(left_out, SizeIs(1));
  EXPECT_THAT(ErrorOf("cycles:p"), HasSubstr("there is no event 'cycles:p'")) << "an event with a wrong modifier";
#if defined(__x86_64__)
  EXPECT_THAT(ErrorOf("inst_retired:any_x"), HasSubstr("there is no event")) << "one of libpfm4's without such a part";
#endif
}

TEST_F(Events, WithoutCountersOfItsCoresAMachineSaysSo) {
  Unit("software", "1");
  EXPECT_THAT(ErrorOf("cycles"), HasSubstr("no counters of its cores"));
  EXPECT_THAT(ErrorOf("cycels"), HasSubstr("did you mean cycles"));
  EXPECT_THAT(ErrorOf("r3c"), HasSubstr("no counters of its cores"));
  EXPECT_EQ(One("page-faults").config, static_cast<uint64_t>(PERF_COUNT_SW_PAGE_FAULTS));
}

TEST_F(Events, KnownOnesThatAMachineHasNotAreLeftOutWithTheReason) {
  Unit("software", "1");
  pmus_ = FindPmus(host_.Root(), kOnline);
  constexpr std::string_view kGiven =
      "page-faults,cycles:u,L1-dcache-loads,r3c,cpu/event=1,umask=2/,energy-pkg,topdown-retiring";
  std::vector<EventNote> left_out;
  const auto events = ParseEvents(host_.Root(), pmus_, kGiven, &left_out);
  ASSERT_TRUE(events.ok()) << events.error().message;
  ASSERT_THAT(*events, SizeIs(1));
  EXPECT_EQ(events->front().name, "page-faults");
  std::vector<std::string> names;
  for (const EventNote& note : left_out) names.push_back(note.event);
  EXPECT_THAT(names, ElementsAre("cycles:u", "L1-dcache-loads", "r3c", "cpu/event=1,umask=2/", "energy-pkg",
                                 "topdown-retiring"));
  EXPECT_EQ(left_out.front().why, "this machine shows no counters of its cores");
  EXPECT_EQ(NothingIsCounted(left_out).code, Errc::kUnavailable);
  EXPECT_THAT(NothingIsCounted(left_out).message, HasSubstr("'cycles:u': this machine shows no counters"));
  for (const char* wrong : {"page-faults,cycels", "page-faults,cpx/event=1/", "page-faults,no:SUCH"})
    EXPECT_FALSE(ParseEvents(host_.Root(), pmus_, wrong, &left_out).ok()) << wrong;
}

TEST_F(Events, OneThatOtherUnitsOfTheKindHaveIsLeftOut) {
  Intel();
  pmus_ = FindPmus(host_.Root(), kOnline);
  std::vector<EventNote> left_out;
  ASSERT_TRUE(ParseEvents(host_.Root(), pmus_, "page-faults,power/energy-ram/,energy-ram", &left_out).ok());
  ASSERT_THAT(left_out, SizeIs(2));
  EXPECT_EQ(left_out.front().why, "power of this machine has no event 'energy-ram'");
  EXPECT_FALSE(ParseEvents(host_.Root(), pmus_, "page-faults,power/energy-rum/", &left_out).ok());
}

TEST_F(Events, SampledOnesAreLeftOutAlike) {
  Unit("software", "1");
  pmus_ = FindPmus(host_.Root(), kOnline);
  std::vector<EventNote> left_out;
  const auto events = ParseSampledEvents(host_.Root(), pmus_, "cycles=1000,page-faults=5", &left_out);
  ASSERT_TRUE(events.ok()) << events.error().message;
  ASSERT_THAT(*events, SizeIs(1));
  EXPECT_EQ(events->front().period, 5u);
  ASSERT_THAT(left_out, SizeIs(1));
  EXPECT_EQ(left_out.front().event, "cycles");
}

TEST_F(Events, AListOfAllHasEachOnce) {
  Intel();
  pmus_ = FindPmus(host_.Root(), kOnline);
  const auto events = ListEvents(host_.Root(), pmus_);
  const auto count = [&](std::string_view name) { return std::ranges::count(events, name, &ListedEvent::name); };
  EXPECT_EQ(count("cycles"), 1);
  EXPECT_EQ(count("cpu-cycles"), 0) << "the same by another name";
  EXPECT_EQ(count("power/energy-pkg/"), 1);
  EXPECT_EQ(count("power/energy-pkg.unit/"), 0);
}

TEST_F(Events, OfAFileOfTheProcessorsMaker) {
  Intel();
  const std::string folder = ::testing::TempDir() + "/vendor-events";
  std::filesystem::create_directories(folder + "/attune/events");
  std::ofstream(folder + "/attune/events/made_up.json")
      << R"([{"EventName": "MADE_UP.EVENT", "EventCode": "0x42", "UMask": "0x3"}, {"EventName": "MADE_UP.AWAY", "EventCode": "1", "Unit": "CHA"},
             {"EventName": "MADE_UP.FILTER", "EventCode": "1", "Filter": "Box[3:0]"}, {"EventName": "MADE_UP.TERM", "EventCode": "1", "CounterMask": "1"}])";
  ::setenv("XDG_CONFIG_HOME", folder.c_str(), 1);
  EXPECT_EQ(One("made_up.event").config, 0x342u);
  EXPECT_EQ(One("MADE_UP.EVENT:u").in_kernel, false);
  EXPECT_THAT(ErrorOf("MADE_UP.AWAY"), HasSubstr("no unit that counts it"));
  EXPECT_THAT(ErrorOf("MADE_UP.TERM"), HasSubstr("cmask"));
  EXPECT_THAT(ErrorOf("MADE_UP.FILTER"), HasSubstr("no term for its Filter"));
  EXPECT_THAT(ErrorOf("MADE_UP.EVNT"), HasSubstr("did you mean MADE_UP.EVENT"));
  EXPECT_THAT(ErrorOf("made_up.evnt"), HasSubstr("MADE_UP.EVENT"));
  ::unsetenv("XDG_CONFIG_HOME");
  std::filesystem::remove_all(folder);
}

TEST(Format, FieldsMayLieApart) {
  const auto bits = ParseFormat("config:0-7,32-35");
  ASSERT_TRUE(bits.has_value());
  EXPECT_THAT(bits->ranges, ElementsAre(std::pair(0u, 7u), std::pair(32u, 35u)));
  for (const char* wrong : {"", "config", "config:", "config:7-0", "config:0-64", "attr:1", "config:a"})
    EXPECT_FALSE(ParseFormat(wrong).has_value()) << wrong;
}

TEST(Libpfm, KnowsModelsThatAreNotHere) {
  // libpfm4 has the models of the architecture that it was built for.
#if defined(__x86_64__)
  constexpr const char* kModel = "skl";
  constexpr const char* kEvent = "INST_RETIRED:ANY_P";
  constexpr uint64_t kCode = 0xc0;
  constexpr size_t kLeastModels = 100;
#else
  constexpr const char* kModel = "arm_n1";
  constexpr const char* kEvent = "INST_RETIRED";
  constexpr uint64_t kCode = 0x08;
  constexpr size_t kLeastModels = 10;
#endif
  const std::string of_model = std::string(kModel) + "::" + kEvent;
  const bool is_here = FindLibpfmEvent(of_model).has_value();
  EXPECT_THAT(LibpfmModelsWith(kEvent), HasSubstr("...")) << "more have it than are named";
  EXPECT_EQ(LibpfmModelsWith(of_model), kModel);
  for (const char* wrong : {"NO_SUCH_EVENT", "INST_RETIRED:NO_SUCH_PART"}) EXPECT_EQ(LibpfmModelsWith(wrong), "");
  const auto events = LibpfmEvents(kModel);
  const auto found = std::ranges::find(events, kEvent, &LibpfmEvent::name);
  ASSERT_NE(found, events.end());
  EXPECT_EQ(found->code & 0xffff, kCode);
  EXPECT_FALSE(found->description.empty());
  EXPECT_THAT(LibpfmEvents("no such model"), IsEmpty());
  EXPECT_EQ(FindLibpfmEvent(of_model).has_value(), is_here) << "models that are not here are listed alone";
  EXPECT_GT(LibpfmModels().size(), kLeastModels);
}

}  // namespace
}  // namespace attune::counter
