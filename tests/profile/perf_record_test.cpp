// Records as the kernel lays them out (perf_event_open(2)).

#include "profile/perf_record.h"

#include <gtest/gtest.h>

#include <cstring>

namespace attune::profile::perf_record_test {
namespace {

/// Makes a record, field by field.
class Record {
 public:
  explicit Record(uint32_t type, uint16_t misc = 0) { Add(perf_event_header{type, misc, 0}); }

  template <class T>
  Record& Add(T value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
    return *this;
  }
  Record& AddText(const char* text, size_t bytes) {
    std::string padded(text);
    padded.resize(bytes);
    for (const char c : padded) bytes_.push_back(static_cast<std::byte>(c));
    return *this;
  }
  /// What follows every record that is no sample: thread, time, CPU.
  Record& AddTrailer(uint64_t t_ns) { return Add(int32_t{7}).Add(int32_t{8}).Add(t_ns).Add(uint64_t{1}); }

  std::optional<PerfRecord> Parse(PerfEvent event = PerfEvent::kCpuTime) {
    const auto size = static_cast<uint16_t>(bytes_.size());
    std::memcpy(bytes_.data() + offsetof(perf_event_header, size), &size, sizeof size);
    return ParsePerfRecord(bytes_, event);
  }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

Record SampleHead(uint16_t mode) {
  Record record(PERF_RECORD_SAMPLE, mode);
  record.Add(uint64_t{0x401000}).Add(int32_t{7}).Add(int32_t{8}).Add(uint64_t{1234}).Add(uint32_t{3}).Add(uint32_t{0});
  return record;
}

void AddRegisters(Record& record) {
#if defined(__x86_64__)
  record.Add(uint64_t{PERF_SAMPLE_REGS_ABI_64});
  // ax bx cx dx si di bp sp ip, then r8 to r15
  for (uint64_t value = 100; value < 117; ++value) record.Add(value);
  record.Add(uint64_t{0});  // no copy of the stack
#else
  (void)record;
#endif
}

TEST(PerfRecord, ASampleHasAStackAndRegisters) {
  Record record = SampleHead(PERF_RECORD_MISC_USER);
  record.Add(uint64_t{3}).Add(static_cast<uint64_t>(PERF_CONTEXT_USER)).Add(uint64_t{0x401000}).Add(uint64_t{0x402000});
  AddRegisters(record);
  const auto parsed = record.Parse();
  ASSERT_TRUE(parsed);
  const auto& sample = std::get<CpuSample>(*parsed);
  EXPECT_EQ(std::tuple(sample.t_ns, sample.pid, sample.tid, sample.cpu, sample.in_kernel),
            std::tuple(1234, 7, 8, 3u, false));
  EXPECT_EQ(sample.stack, (std::vector<uint64_t>{0x401000, 0x402000}));
#if defined(__x86_64__)
  EXPECT_TRUE(sample.registers.known);
  EXPECT_EQ(sample.registers.general[0], 100u);  // ax
  EXPECT_EQ(sample.registers.general[1], 102u);  // cx
  EXPECT_EQ(sample.registers.general[3], 101u);  // bx
  EXPECT_EQ(sample.registers.general[kStackPointer], 107u);
  EXPECT_EQ(sample.registers.general[kFramePointer], 106u);
  EXPECT_EQ(sample.registers.ip, 108u);
  EXPECT_EQ(sample.registers.general[15], 116u);
#endif
}

TEST(PerfRecord, InTheKernelTheStackIsThatOfTheProgram) {
  Record record = SampleHead(PERF_RECORD_MISC_KERNEL);
  record.Add(uint64_t{4})
      .Add(static_cast<uint64_t>(PERF_CONTEXT_KERNEL))
      .Add(uint64_t{0xffffffff81000000})
      .Add(static_cast<uint64_t>(PERF_CONTEXT_USER))
      .Add(uint64_t{0x402000});
  AddRegisters(record);
  const auto parsed = record.Parse();
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(std::get<CpuSample>(*parsed).in_kernel);
  EXPECT_EQ(std::get<CpuSample>(*parsed).stack, std::vector<uint64_t>{0x402000});
  EXPECT_EQ(std::get<CpuSample>(*parsed).kernel_stack, std::vector<uint64_t>{0xffffffff81000000});
}

TEST(PerfRecord, ASampleWithoutAStackIsWhereItWas) {
  Record record = SampleHead(PERF_RECORD_MISC_USER);
  record.Add(uint64_t{0});
  AddRegisters(record);
  const auto parsed = record.Parse();
  ASSERT_TRUE(parsed);
  EXPECT_EQ(std::get<CpuSample>(*parsed).stack, std::vector<uint64_t>{0x401000});
}

#if defined(__x86_64__)
TEST(PerfRecord, OfTheCopyOfAStackSomeBytesAreValid) {
  const auto sample = [](uint64_t bytes, uint64_t valid) {
    Record record = SampleHead(PERF_RECORD_MISC_USER);
    record.Add(uint64_t{0});
    AddRegisters(record);
    record.bytes().resize(record.bytes().size() - sizeof(uint64_t));
    record.Add(bytes).Add(uint64_t{0x1111}).Add(uint64_t{0x2222}).Add(valid);
    return record.Parse();
  };
  ASSERT_TRUE(sample(16, 8));
  EXPECT_EQ(std::get<CpuSample>(*sample(16, 8)).stack_copy.size(), 8u);
  EXPECT_EQ(std::get<CpuSample>(*sample(16, 99)).stack_copy.size(), 16u) << "never more than there are";
  EXPECT_FALSE(sample(999, 8)) << "more than the record has";
}
#endif

TEST(PerfRecord, ASampleOfAnEventHasItsIdAndItsCount) {
  const auto parse = [](PerfEvent event) {
    Record record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    record.Add(uint64_t{0x401000}).Add(int32_t{7}).Add(int32_t{8}).Add(uint64_t{1234}).Add(uint64_t{55});
    record.Add(uint32_t{3}).Add(uint32_t{0});
    if (event == PerfEvent::kOfRate) record.Add(uint64_t{1000});
    record.Add(uint64_t{2}).Add(static_cast<uint64_t>(PERF_CONTEXT_USER)).Add(uint64_t{0x401000});
    AddRegisters(record);
    return record.Parse(event);
  };
  for (const PerfEvent event : {PerfEvent::kOfPeriod, PerfEvent::kOfRate}) {
    const auto parsed = parse(event);
    ASSERT_TRUE(parsed);
    const auto& sample = std::get<EventSample>(*parsed);
    EXPECT_EQ(std::tuple(sample.t_ns, sample.pid, sample.tid, sample.cpu, sample.event_id),
              std::tuple(1234, 7, 8, 3u, 55u));
    EXPECT_EQ(sample.count, event == PerfEvent::kOfRate ? 1000u : 0u);
    EXPECT_EQ(sample.stack, std::vector<uint64_t>{0x401000});

    Record lost(PERF_RECORD_LOST);
    lost.Add(uint64_t{55}).Add(uint64_t{9}).Add(int32_t{7}).Add(int32_t{8}).Add(uint64_t{1300}).Add(uint64_t{55});
    const auto told = lost.Add(uint64_t{1}).Parse(event);
    ASSERT_TRUE(told);
    EXPECT_EQ(std::tuple(std::get<Lost>(*told).t_ns, std::get<Lost>(*told).records), std::tuple(1300, 9u));
  }
}

TEST(PerfRecord, APageFaultHasAnAddress) {
  Record record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
  record.Add(uint64_t{0x401000}).Add(int32_t{7}).Add(int32_t{8}).Add(uint64_t{1234});
  record.Add(uint64_t{0x7f0000001008}).Add(uint32_t{3}).Add(uint32_t{0});
  const auto parsed = record.Parse(PerfEvent::kPageFault);
  ASSERT_TRUE(parsed);
  const auto& fault = std::get<PageFault>(*parsed);
  EXPECT_EQ(std::tuple(fault.t_ns, fault.pid, fault.tid, fault.cpu, fault.ip, fault.address),
            std::tuple(1234, 7, 8, 3u, 0x401000u, 0x7f0000001008u));
}

TEST(PerfRecord, WhatCameIntoMemory) {
  const auto mapping = [](const char* path, uint64_t start, uint64_t bytes) {
    Record record(PERF_RECORD_MMAP2);
    record.Add(int32_t{7}).Add(int32_t{8}).Add(start).Add(bytes).Add(uint64_t{0x2000});
    for (int word = 0; word < 4; ++word) record.Add(uint64_t{0});
    return record.AddText(path, 16).AddTrailer(99).Parse();
  };
  const auto parsed = mapping("/usr/bin/xz", 0x400000, 0x1000);
  ASSERT_TRUE(parsed);
  const auto& mapped = std::get<CodeMapped>(*parsed);
  EXPECT_EQ(std::tuple(mapped.t_ns, mapped.pid, mapped.start, mapped.bytes, mapped.offset, mapped.path),
            std::tuple(99, 7, 0x400000u, 0x1000u, 0x2000u, "/usr/bin/xz"));
  EXPECT_FALSE(mapping("//anon", 0x400000, 0x1000));
  EXPECT_TRUE(mapping("[vdso]", 0x400000, 0x1000));
  EXPECT_FALSE(mapping("[heap]", 0x400000, 0x1000));
  EXPECT_FALSE(mapping("/usr/bin/xz", 0x400000, 0)) << "of no length";
  EXPECT_FALSE(mapping("/usr/bin/xz", ~uint64_t{0}, 0x1000)) << "over the end of memory";
}

TEST(PerfRecord, NamesAndExecs) {
  const auto named = [](uint16_t misc) {
    Record record(PERF_RECORD_COMM, misc);
    return record.Add(int32_t{7}).Add(int32_t{8}).AddText("worker", 16).AddTrailer(99).Parse();
  };
  const auto renamed = named(0);
  ASSERT_TRUE(renamed);
  EXPECT_EQ(std::get<Renamed>(*renamed).name, "worker");
  EXPECT_EQ(std::get<Renamed>(*renamed).tid, 8);
  const auto executed = named(PERF_RECORD_MISC_COMM_EXEC);
  ASSERT_TRUE(executed);
  EXPECT_EQ(std::get<Executed>(*executed).pid, 7);
}

TEST(PerfRecord, ForksAreOfProcessesAlone) {
  const auto forked = [](int32_t pid, int32_t parent) {
    Record record(PERF_RECORD_FORK);
    return record.Add(pid).Add(parent).Add(pid).Add(parent).Add(uint64_t{99}).AddTrailer(99).Parse();
  };
  const auto parsed = forked(9, 7);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(std::get<Forked>(*parsed).parent, 7);
  EXPECT_FALSE(forked(7, 7)) << "a thread";
}

TEST(PerfRecord, WhatWasLost) {
  Record record(PERF_RECORD_LOST);
  const auto parsed = record.Add(uint64_t{1}).Add(uint64_t{42}).AddTrailer(99).Parse();
  ASSERT_TRUE(parsed);
  EXPECT_EQ(std::get<Lost>(*parsed).records, 42u);
}

TEST(PerfRecord, ARecordThatIsCutOffIsNone) {
  Record record = SampleHead(PERF_RECORD_MISC_USER);
  record.Add(uint64_t{2}).Add(static_cast<uint64_t>(PERF_CONTEXT_USER)).Add(uint64_t{0x401000});
  AddRegisters(record);
  ASSERT_TRUE(record.Parse());
  while (record.bytes().size() > sizeof(perf_event_header)) {
    record.bytes().resize(record.bytes().size() - 8);
    EXPECT_FALSE(record.Parse()) << record.bytes().size();
  }
}

}  // namespace
}  // namespace attune::profile::perf_record_test
