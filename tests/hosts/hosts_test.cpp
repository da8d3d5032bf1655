// Every sensor on generated machines that nobody had at hand: what it finds, what it says where there is nothing, and
// that sampling allocates nothing and leaves no descriptor open.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <new>
#include <set>

#include "base/cpu_set.h"
#include "generated_host.h"
#include "sensor/catalog.h"
#include "sensor/registry.h"

namespace {

thread_local long allocations = 0;

}  // namespace

[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace attune::sensor {
namespace {

using model::ElementKind;
using model::kAbsent;
using ::testing::HasSubstr;

constexpr int64_t kProgram = 4242;  // of generate.py
constexpr uid_t kNobody = 65534;
constexpr size_t kPressureSignals = 21;  // some and full of cpu, memory and io, full of irq: three values each

/// What is on the generated machine: see HOSTS in generate.py.
struct Machine {
  std::string name;
  std::string present, online;
  size_t nodes = 0;
  bool has_frequency = true;
  size_t energy_signals = 0;
  Errc energy_error = Errc::kUnavailable;
  size_t cgroup_signals = 0;
  size_t resctrl_signals = 0;
};

void PrintTo(const Machine& machine, std::ostream* out) { *out << machine.name; }

std::vector<Machine> Machines() {
  return {{.name = "two-nodes", .present = "0-15", .online = "0-15", .nodes = 2},
          {.name = "six-boards", .present = "0-143", .online = "0-143", .nodes = 36},
          {.name = "512-cpus", .present = "0-511", .online = "0-511", .nodes = 8},
          {.name = "sparse-cpus", .present = "0-1,4-5,12-13,96", .online = "0-1,4-5,12-13,96", .nodes = 2},
          {.name = "cpu0-offline", .present = "0-7", .online = "1-4,6-7", .nodes = 1},
          {.name = "no-rapl", .present = "0-1", .online = "0-1", .nodes = 1, .has_frequency = false},
          {.name = "rapl", .present = "0-7", .online = "0-7", .nodes = 2, .energy_signals = 7},
          {.name = "cgroup-v2", .present = "0-3", .online = "0-3", .nodes = 1, .cgroup_signals = kPressureSignals},
          {.name = "resctrl", .present = "0-7", .online = "0-7", .nodes = 2, .resctrl_signals = 18},
          {.name = "unprivileged", .present = "0-3", .online = "0-3", .nodes = 1, .energy_error = Errc::kPermission}};
}

size_t OpenDescriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

/// Values by "cpu0/user" of one reading.
using Values = std::map<std::string, int64_t>;

class Host : public ::testing::TestWithParam<Machine> {
 protected:
  void SetUp() override {
    host_ = &attune::fakes::GeneratedHost(GetParam().name);
    // Files that are closed are closed to all but root.
    if (::geteuid() == 0) {
      ASSERT_EQ(::seteuid(kNobody), 0);
    }
  }
  void TearDown() override {
    if (::getuid() == 0) {
      ASSERT_EQ(::seteuid(0), 0);
    }
  }

  std::vector<std::unique_ptr<model::Sensor>> Sensors() {
    return MakeAllSensors({std::make_shared<SelfMeter>(), [] { return std::vector<int64_t>{kProgram}; }}, {});
  }
  Result<std::vector<model::SignalSpec>> Prepare(const std::string& name) {
    for (auto& sensor : Sensors()) {
      if (sensor->Info().name == name) {
        sensor_ = std::move(sensor);
        return sensor_->Prepare(host_->Root());
      }
    }
    return Error{Errc::kNotFound, name, ""};
  }
  /// Prepares and samples; empty where the sensor is not available.
  Values Sample(const std::string& name) {
    const auto specs = Prepare(name);
    EXPECT_TRUE(specs.ok()) << name << ": " << specs.error().message;
    if (!specs.ok()) return {};
    std::vector<int64_t> row(specs->size(), -7);
    EXPECT_TRUE(sensor_->Sample(row)) << name;
    Values values;
    for (size_t i = 0; i < row.size(); ++i) values[(*specs)[i].element.name + "/" + (*specs)[i].signal] = row[i];
    EXPECT_EQ(values.size(), row.size()) << name << ": two signals of one name";
    return values;
  }
  /// Numbers of the elements of a kind that the sensor has.
  std::set<int64_t> Elements(const std::string& name, ElementKind kind) {
    std::set<int64_t> ids;
    for (const model::SignalSpec& spec : Prepare(name).value_or({})) {
      if (spec.element.kind == kind) ids.insert(spec.element.os_id);
    }
    return ids;
  }
  CpuSet Present() const { return *CpuSet::Parse(GetParam().present); }
  CpuSet Online() const { return *CpuSet::Parse(GetParam().online); }
  std::set<int64_t> PresentIds() const {
    const CpuSet present = Present();
    return {present.begin(), present.end()};
  }

  const attune::fakes::FakeHost* host_ = nullptr;
  std::unique_ptr<model::Sensor> sensor_;
};

TEST_P(Host, EverySensorIsPreparedAndSampledWithoutAllocationOrLeak) {
  const size_t descriptors = OpenDescriptors();
  for (const auto& sensor : Sensors()) {
    const std::string name(sensor->Info().name);
    const auto specs = sensor->Prepare(host_->Root());
    if (!specs.ok()) {
      EXPECT_FALSE(specs.error().message.empty()) << name;
      EXPECT_THAT(specs.error().code, ::testing::AnyOf(Errc::kUnavailable, Errc::kPermission, Errc::kNotFound)) << name;
      continue;
    }
    std::vector<int64_t> row(specs->size());
    for (int i = 0; i < 5; ++i) {
      const long before = allocations;
      const bool alive = sensor->Sample(row);
      EXPECT_EQ(allocations, before) << name;
      EXPECT_TRUE(alive) << name;
    }
  }
  EXPECT_EQ(OpenDescriptors(), descriptors);
}

TEST_P(Host, HeadingsAreUniqueInASensorAndElementsAsTheCatalogSays) {
  for (const auto& sensor : Sensors()) {
    const std::string name(sensor->Info().name);
    std::map<std::string, std::string> signal_of;
    for (const model::SignalSpec& spec : sensor->Prepare(host_->Root()).value_or({})) {
      const std::string heading = spec.mnemonic.empty() ? spec.signal : spec.mnemonic;
      const auto [found, added] = signal_of.emplace(heading, spec.signal);
      EXPECT_EQ(found->second, spec.signal) << name << ": both are headed " << heading;
      EXPECT_FALSE(spec.unit.empty()) << name << "." << spec.signal;
      EXPECT_FALSE(spec.description.empty()) << name << "." << spec.signal;
      EXPECT_EQ(spec.description.find("{}"), std::string::npos) << name << "." << spec.signal;
      if (const CatalogSignal* entry = FindSignal(*FindSensor(name), spec.signal); entry != nullptr && name != "node") {
        EXPECT_EQ(spec.element.kind, entry->element) << name << "." << spec.signal;
      }
    }
  }
}

TEST_P(Host, CpusThatArePresentHaveSignalsAndThoseOnlineValues) {
  EXPECT_EQ(Elements("cpu", ElementKind::kCpu), PresentIds());
  EXPECT_EQ(Elements("interrupts", ElementKind::kCpu), PresentIds());
  const Values times = Sample("cpu"), interrupts = Sample("interrupts");
  for (const CpuId cpu : Present()) {
    const std::string key = fmt::format("cpu{}/", cpu);
    const bool online = Online().Contains(cpu);
    EXPECT_EQ(times.at(key + "user"), online ? 1000 + cpu : kAbsent);
    EXPECT_EQ(interrupts.at(key + "interrupts"), online ? 24 + 25 + 26 + 5 * 1000 + 8 * cpu : kAbsent);
  }
  int64_t timer = 0;
  for (const CpuId cpu : Online()) timer += 1000 + cpu;
  EXPECT_EQ(interrupts.at("/irq_LOC"), timer);
}

TEST_P(Host, EveryNodeHasItsMemoryAndAllocations) {
  EXPECT_EQ(Elements("node", ElementKind::kNode).size(), GetParam().nodes);
  const Values values = Sample("node");
  for (const int64_t node : Elements("node", ElementKind::kNode)) {
    EXPECT_EQ(values.at(fmt::format("node{}/numa_hit", node)), 10000 + node);
    EXPECT_EQ(values.at(fmt::format("node{}/MemTotal", node)), (32LL << 20) * 1024);
    EXPECT_EQ(values.at(fmt::format("node{}/nr_free_pages", node)), node);
  }
}

TEST_P(Host, FrequencyOfEachCpuThatIsOnline) {
  if (!GetParam().has_frequency) {
    EXPECT_EQ(Prepare("frequency").error().code, Errc::kUnavailable);
    return;
  }
  EXPECT_EQ(Elements("frequency", ElementKind::kCpu), PresentIds());
  const Values values = Sample("frequency");
  for (const CpuId cpu : Present())
    EXPECT_EQ(values.at(fmt::format("cpu{}/current", cpu)), Online().Contains(cpu) ? 2'000'000 + cpu : kAbsent);
}

TEST_P(Host, EnergyOrTheReasonWhyNot) {
  const auto specs = Prepare("energy");
  if (GetParam().energy_signals == 0) {
    ASSERT_FALSE(specs.ok());
    EXPECT_EQ(specs.error().code, GetParam().energy_error) << specs.error().message;
    EXPECT_FALSE(specs.error().hint.empty());
    return;
  }
  ASSERT_TRUE(specs.ok()) << specs.error().message;
  EXPECT_EQ(specs->size(), GetParam().energy_signals);
  const Values values = Sample("energy");
  EXPECT_EQ(values.at("package1/package"), 1'000'001);
  EXPECT_EQ(values.at("package1/dram"), 500'001);
  EXPECT_EQ(values.at("/psys"), 3'000'000);
}

TEST_P(Host, PressureOfTheMachineAndOfTheCgroup) {
  EXPECT_EQ(Prepare("pressure")->size(), kPressureSignals + GetParam().cgroup_signals);
  const Values values = Sample("pressure");
  EXPECT_EQ(values.at("/io_some_total"), 101);
  if (GetParam().cgroup_signals > 0) {
    EXPECT_EQ(values.at("/cgroup_irq_full_total"), 10);
  }
}

TEST_P(Host, CachesOfEveryGroupOrTheReasonWhyNot) {
  const auto specs = Prepare("resctrl");
  if (GetParam().resctrl_signals == 0) {
    ASSERT_FALSE(specs.ok());
    EXPECT_THAT(specs.error().message, HasSubstr("not mounted"));
    return;
  }
  ASSERT_TRUE(specs.ok()) << specs.error().message;
  EXPECT_EQ(specs->size(), GetParam().resctrl_signals);
  const Values values = Sample("resctrl");
  EXPECT_EQ(values.at("mon_groups/web/mon_L3_01/llc_occupancy"), 131072);
  EXPECT_EQ(values.at("batch/mon_L3_00/mbm_local_bytes"), kAbsent);
}

TEST_P(Host, CountersOfTheRunningKernelAreNotTakenForThoseOfTheTree) {
  const auto perf = Prepare("perf");
  ASSERT_FALSE(perf.ok());
  EXPECT_THAT(perf.error().message, HasSubstr("not on a captured one"));
}

INSTANTIATE_TEST_SUITE_P(Generated, Host, ::testing::ValuesIn(Machines()), [](const auto& param_info) {
  std::string name = param_info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace attune::sensor
