#include "merge/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "model/info_keys.h"
#include "model/job_keys.h"
#include "store/log_writer.h"
#include "store/recording.h"

namespace attune::merge {
namespace {

namespace info = model::info;
using model::ElementId;
using model::ElementKind;
using model::kAbsent;
using testing::HasSubstr;

constexpr int64_t kMs = 1'000'000;

/// A host of a job with one rank, and the recording of it.
class FakeHost {
 public:
  struct Options {
    std::string name;
    int64_t rank = 0;
    int64_t ranks = 3;
    std::string job = "00000000000000aa";
    std::string other_job;  ///< that it saw first: "": none
    int64_t clock_ns = 0;   ///< what its clock says at the true time 0
    double drift = 0;
    int64_t wall_error_ns = 0;
  };

  FakeHost(const std::string& folder, Options options) : options_(std::move(options)) {
    path_ = folder + "/" + options_.name + ".attune";
    machine_ = Add(ElementKind::kMachine, options_.name, 0, kAbsent, options_.name);
    const std::string of_job = options_.other_job.empty() ? "" : " of job 2";
    for (int64_t i = 0; i < options_.ranks; ++i) {
      // In the order of nobody: numbers differ between hosts.
      const int64_t rank = (i + options_.rank) % options_.ranks;
      ranks_[rank] = Add(ElementKind::kRank, "rank " + std::to_string(rank) + of_job, machine_, rank,
                         rank == options_.rank ? options_.name : "");
    }
    process_ = Add(ElementKind::kProcess, "solver", ranks_[options_.rank], 100, options_.name);
    thread_ = Add(ElementKind::kThread, "solver", process_, 100, options_.name);
    world_ = Add(ElementKind::kCommunicator, "MPI_COMM_WORLD", machine_, 0xaa, options_.name);
    send_ = Add(ElementKind::kFunction, "MPI_Send", machine_, kAbsent, options_.name);
    receive_ = Add(ElementKind::kFunction, "MPI_Recv", machine_, kAbsent, options_.name);
  }

  const std::string& path() const { return path_; }
  int64_t rank() const { return options_.rank; }
  int64_t Clock(int64_t true_ns) const {
    return true_ns + options_.clock_ns + std::llround(options_.drift * static_cast<double>(true_ns));
  }
  void Message(model::MessageKind kind, int64_t peer, int64_t tag, int64_t from_ns, int64_t until_ns) {
    messages_.push_back({.t_ns = Clock(until_ns),
                         .thread = thread_,
                         .rank = ranks_[options_.rank],
                         .kind = kind,
                         .function = kind == model::MessageKind::kSent ? send_ : receive_,
                         .communicator = world_,
                         .peer = ranks_[peer],
                         .tag = tag,
                         .bytes = 8,
                         .site = 0,
                         .post_ns = Clock(from_ns),
                         .wait_ns = Clock(from_ns),
                         .cpu = 0});
  }

  std::vector<model::Message>& messages() { return messages_; }
  std::vector<model::Element>& elements() { return elements_; }
  ElementId thread() const { return thread_; }

  void Write(const std::vector<model::Batch>& more = {}) {
    auto writer = store::LogWriter::Create({.path = path_, .if_there = store::IfThere::kReplace});
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    const auto put = [&](model::Batch batch) {
      (*writer)->Consume(std::make_shared<const model::Batch>(std::move(batch)));
    };
    const int number = options_.other_job.empty() ? 1 : 2;
    std::vector<std::pair<std::string, std::string>> rows{
        {std::string(info::kHost), options_.name},
        {std::string(info::kProgram), "mpirun solver"},
        {std::string(info::kTotalUserNs), "1000"},
        {std::string(info::kUnseenPrefix) + "1", "a static program"},
        {std::string(info::kMpiWorldPrefix) + std::to_string(number), options_.job}};
    if (number == 2) rows.emplace_back(std::string(info::kMpiWorldPrefix) + "1", options_.other_job);
    if (options_.name == "b") rows.emplace_back(std::string(info::kCoreTypes), "0-3 4-7");
    put(model::InfoBatch(rows));
    // The wall clock is that of the true time, but for its error.
    model::Batch clock{.table = model::ClockReading::kTable,
                       .rows = 1,
                       .ints = {{1}, {Clock(0)}, {1'000'000 * kMs + options_.wall_error_ns}},
                       .texts = {}};
    put(clock);
    put(model::ToBatch(elements_));
    const model::Process process{.id = process_,
                                 .pid = 100,
                                 .start_ns = Clock(0),
                                 .end_ns = Clock(10'000 * kMs),
                                 .host = options_.name,
                                 .command = "solver"};
    put(model::ToBatch(std::span(&process, 1)));
    put(model::ToBatch(messages_));
    for (const model::Batch& batch : more) put(batch);
    ASSERT_TRUE((*writer)->Close().ok());
  }

 private:
  ElementId Add(ElementKind kind, std::string name, ElementId parent, int64_t os_id, std::string host) {
    const auto id = static_cast<ElementId>(elements_.size() + 1);
    elements_.push_back(
        {.id = id, .parent = parent, .kind = kind, .os_id = os_id, .host = std::move(host), .name = std::move(name)});
    return id;
  }

  const Options options_;
  std::string path_;
  std::vector<model::Element> elements_;
  std::map<int64_t, ElementId> ranks_;
  std::vector<model::Message> messages_;
  ElementId machine_ = 0, process_ = 0, thread_ = 0, world_ = 0, send_ = 0, receive_ = 0;
};

class MergeTest : public testing::Test {
 protected:
  MergeTest() {
    std::string name = (std::filesystem::temp_directory_path() / "attune-merge-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << name;
    folder_ = name;
  }
  ~MergeTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  FakeHost& Host(FakeHost::Options options) {
    hosts_.push_back(std::make_unique<FakeHost>(folder_, std::move(options)));
    return *hosts_.back();
  }
  void ThreeHosts() {
    Host({.name = "a", .rank = 0, .clock_ns = 5'000'000 * kMs});
    Host({.name = "b", .rank = 1, .clock_ns = 9'000'000 * kMs, .drift = 30e-6, .wall_error_ns = 20 * kMs});
    Host({.name = "c", .rank = 2, .clock_ns = 1'000 * kMs, .drift = -50e-6, .wall_error_ns = -700 * kMs});
  }

  /// Every rank sends to the next one, again and again.
  void SendAround(int rounds) {
    std::mt19937 random(3);
    std::uniform_int_distribution<int64_t> transit(20'000, 400'000);
    for (int round = 0; round < rounds; ++round) {
      for (size_t i = 0; i < hosts_.size(); ++i) {
        FakeHost &from = *hosts_[i], &to = *hosts_[(i + 1) % hosts_.size()];
        const int64_t t_ns = (10 + round) * 10 * kMs + static_cast<int64_t>(i) * kMs;
        from.Message(model::MessageKind::kSent, to.rank(), round % 3, t_ns, t_ns + 5'000);
        to.Message(model::MessageKind::kReceived, from.rank(), round % 3, t_ns - 50'000, t_ns + transit(random));
      }
    }
  }

  Result<MergeResult> Merge() {
    std::vector<std::string> inputs;
    for (const auto& host : hosts_) inputs.push_back(host->path());
    return MergeRecordings({.inputs = inputs, .output = Output(), .overwrite = true});
  }
  std::string Output() const { return folder_ + "/merged.attune"; }
  std::string ErrorOfMerging() {
    const auto result = Merge();
    EXPECT_FALSE(std::filesystem::exists(Output()));
    return result.ok() ? "" : result.error().message;
  }

  std::string folder_;
  std::vector<std::unique_ptr<FakeHost>> hosts_;
};

TEST_F(MergeTest, MakesOneRecordingByOneClock) {
  ThreeHosts();
  SendAround(200);
  for (const auto& host : hosts_) host->Write();
  const auto result = Merge();
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->messages, 600);
  EXPECT_EQ(result->backward, 0);
  EXPECT_EQ(result->contradiction_ns, 0);
  EXPECT_EQ(result->hosts[1].clock.evidence, merge::HostClock::Evidence::kMessages);
  for (size_t i = 0; i < 3; ++i) {
    for (const int64_t true_ns : {100 * kMs, 1'000 * kMs, 2'000 * kMs}) {
      const int64_t error_ns = result->hosts[i].clock.ToCommon(hosts_[i]->Clock(true_ns)) - hosts_[0]->Clock(true_ns);
      EXPECT_LE(std::abs(error_ns), result->hosts[i].clock.bound_ns + 10) << i;
    }
    EXPECT_LT(result->hosts[i].clock.bound_ns, kMs);
    EXPECT_EQ(result->hosts[i].ranks, 1u);
  }
  const auto merged = store::OpenRecording(Output());
  ASSERT_TRUE(merged.ok());
  const auto meta = (*merged)->Meta();
  EXPECT_TRUE(meta->damage.empty());
  EXPECT_EQ(meta->info.at("host"), "a, b, c");
  EXPECT_EQ(meta->info.at("merged_hosts"), "3");
  EXPECT_EQ(meta->info.at("total_user_ns"), "3000");
  EXPECT_EQ(meta->info.at("unseen.3"), "c: a static program");
  EXPECT_EQ(meta->info.at("merged.2.host"), "b");
  EXPECT_EQ(meta->info.at("merged.2.core_types"), "0-3 4-7");
  EXPECT_FALSE(meta->info.contains("merged.1.core_types"));
  EXPECT_EQ(meta->info.at("merged.backward"), "0");
  std::map<ElementKind, int> kinds;
  for (const model::Element& element : meta->elements) ++kinds[element.kind];
  EXPECT_EQ(kinds[ElementKind::kRank], 3);
  EXPECT_EQ(kinds[ElementKind::kCommunicator], 1);
  EXPECT_EQ(kinds[ElementKind::kFunction], 2);
  EXPECT_EQ(kinds[ElementKind::kMachine], 3);
  EXPECT_EQ(kinds[ElementKind::kProcess], 3);
  // Each rank is below its own machine, each process below its rank.
  for (const model::Element& element : meta->elements) {
    const model::Element* parent = meta->FindElement(element.parent);
    if (element.kind == ElementKind::kRank || element.kind == ElementKind::kProcess) {
      EXPECT_EQ(parent->host, element.host);
    }
  }
  int64_t rows = 0;
  std::map<std::pair<ElementId, ElementId>, int> sent;
  ASSERT_TRUE((*merged)
                  ->ReadTable(model::Message::kTable,
                              [&](const model::Batch& batch) {
                                for (const model::Message& row : model::RowsFrom<model::Message>(batch)) {
                                  ++rows;
                                  EXPECT_EQ(meta->FindElement(row.rank)->kind, ElementKind::kRank);
                                  EXPECT_EQ(meta->FindElement(row.thread)->host, meta->FindElement(row.rank)->host);
                                  EXPECT_EQ(row.wait_ns, row.post_ns);
                                  if (row.kind == model::MessageKind::kSent) ++sent[{row.rank, row.peer}];
                                }
                                return true;
                              })
                  .ok());
  EXPECT_EQ(rows, 1200);
  EXPECT_EQ(sent.size(), 3u);
  for (const auto& [pair, count] : sent) EXPECT_EQ(count, 200);
}

TEST_F(MergeTest, AJobMayHaveAnotherNumberOnEachHost) {
  Host({.name = "a", .rank = 0, .ranks = 2});
  Host({.name = "b", .rank = 1, .ranks = 2, .other_job = "00000000000000bb", .clock_ns = 77});
  SendAround(20);
  for (const auto& host : hosts_) host->Write();
  const auto result = Merge();
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->messages, 40);
  const auto merged = store::OpenRecording(Output());
  std::vector<std::string> names;
  const auto meta = (*merged)->Meta();
  for (const model::Element& element : meta->elements) {
    if (element.kind == ElementKind::kRank) names.push_back(element.name);
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("rank 0", "rank 1"));
  EXPECT_EQ((*merged)->Meta()->info.at("mpi_world.1"), "00000000000000aa");
}

TEST_F(MergeTest, RefusesWhatDoesNotBelongTogether) {
  Host({.name = "a", .rank = 0}).Write();
  Host({.name = "b", .rank = 1, .job = "00000000000000cc"}).Write();
  EXPECT_THAT(ErrorOfMerging(), HasSubstr("b.attune is not of the same MPI job as"));
  hosts_.pop_back();
  EXPECT_THAT(ErrorOfMerging(), HasSubstr("one recording is nothing to merge"));
  Host({.name = "b", .rank = 0}).Write();
  EXPECT_THAT(ErrorOfMerging(),
              testing::AllOf(HasSubstr("rank 0 is in "), HasSubstr("a.attune (on a)"), HasSubstr("b.attune (on b)")));
  std::filesystem::copy_file(hosts_[0]->path(), hosts_[1]->path(), std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(ErrorOfMerging(), HasSubstr("are both of the host a"));
}

TEST_F(MergeTest, AnExistingOutputStays) {
  ThreeHosts();
  for (const auto& host : hosts_) host->Write();
  std::ofstream(Output()) << "mine";
  const auto result = MergeRecordings({.inputs = {hosts_[0]->path(), hosts_[1]->path()}, .output = Output()});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Errc::kExists);
  EXPECT_EQ(std::filesystem::file_size(Output()), 4u);
}

TEST_F(MergeTest, NumbersOfEachRecordingAreApart) {
  ThreeHosts();
  SendAround(5);
  for (const auto& host : hosts_) {
    const ElementId thread = host->thread();
    const int64_t t_ns = host->Clock(100 * kMs);
    const std::vector<model::Series> series{
        {.id = 1, .element = 1, .sensor = "vmstat", .signal = "pgfault", .unit = "pages"}};
    const std::vector<model::Stream> streams{{.id = 4, .interval_ns = kMs, .series = {1}}};
    const std::vector<model::Stack> stacks{{1, 0, 7}, {2, 1, 7}};
    const std::vector<model::Alarm> alarms{{.t_ns = t_ns, .id = 1, .element = 1, .series = 1, .alarm = "memory.full"}};
    const std::vector<model::CpuSample> cpu{
        {.t_ns = t_ns, .thread = thread, .cpu = 0, .site = 7, .stack = 2, .weight_ns = 5}};
    model::Batch samples{
        .table = model::Sample::kTable, .stream = 4, .rows = 2, .ints = {{t_ns, t_ns + kMs}, {3, 4}}, .texts = {}};
    // An order of locks: what the thread had, and where it had it from, are elements too.
    model::Batch events{.table = model::Event::kTable,
                        .stream = 5,
                        .rows = 1,
                        .ints = {{t_ns}, {thread}, {16}, {6}, {7}, {6}, {5}},
                        .texts = {}};
    host->Write({model::ToBatch(series), model::ToBatch(streams), model::ToBatch(stacks), model::ToBatch(alarms),
                 model::ToBatch(cpu), samples, events});
  }
  ASSERT_TRUE(Merge().ok());
  const auto merged = store::OpenRecording(Output());
  const auto meta = (*merged)->Meta();
  ASSERT_EQ(meta->series.size(), 3u);
  ASSERT_EQ(meta->streams.size(), 3u);
  ASSERT_EQ(meta->alarms.size(), 3u);
  EXPECT_NE(meta->alarms[0].id, meta->alarms[1].id);
  for (const model::Stream& stream : meta->streams) {
    std::vector<int64_t> values;
    const uint32_t column = 0;
    ASSERT_TRUE((*merged)
                    ->ReadSamples(stream.id, std::span(&column, 1), (*merged)->Extent(),
                                  [&](const model::SampleBlock& block) {
                                    values.insert(values.end(), block.columns[0].begin(), block.columns[0].end());
                                    return true;
                                  })
                    .ok());
    EXPECT_THAT(values, testing::ElementsAre(3, 4));
  }
  std::map<int64_t, model::Stack> stacks;
  ASSERT_TRUE((*merged)
                  ->ReadTable(model::Stack::kTable,
                              [&](const model::Batch& batch) {
                                for (const model::Stack& stack : model::RowsFrom<model::Stack>(batch))
                                  stacks[stack.id] = stack;
                                return true;
                              })
                  .ok());
  EXPECT_EQ(stacks.size(), 6u);
  ASSERT_TRUE((*merged)
                  ->ReadTable(model::CpuSample::kTable,
                              [&](const model::Batch& batch) {
                                for (const model::CpuSample& sample : model::RowsFrom<model::CpuSample>(batch)) {
                                  const model::Stack& stack = stacks.at(sample.stack);
                                  EXPECT_EQ(stack.site, sample.site);
                                  EXPECT_EQ(stacks.at(stack.parent).site, sample.site);
                                }
                                return true;
                              })
                  .ok());
  std::vector<std::pair<int64_t, int64_t>> orders;
  ASSERT_TRUE((*merged)
                  ->ReadEvents((*merged)->Extent(),
                               [&](const model::EventBlock& block) {
                                 for (size_t row = 0; row < block.t_ns.size(); ++row)
                                   orders.emplace_back(block.a[row], block.b[row]);
                                 return true;
                               })
                  .ok());
  ASSERT_EQ(orders.size(), 3u);
  EXPECT_NE(orders[0], orders[1]);
  // What was one thing in a recording still is.
  const model::Element* of_order = meta->FindElement(static_cast<ElementId>(orders[0].second));
  EXPECT_EQ(of_order == nullptr ? "none" : std::string(model::ToString(of_order->kind)), "process");
}

TEST_F(MergeTest, TakesWhateverARecordingSays) {
  ThreeHosts();
  SendAround(5);
  for (const auto& host : hosts_) {
    model::Message strange = host->messages().front();
    strange.t_ns = INT64_MAX;
    strange.post_ns = INT64_MIN + 1;
    strange.thread = 4'000'000'000;
    strange.communicator = 3'999'999'999;
    host->messages().push_back(strange);
    host->elements()[2].parent = host->elements()[2].id;
    host->elements()[3].parent = 1'234'567;
    const std::vector<model::Stack> stacks{{INT64_MAX, -5, 4'294'967'295}};
    host->Write({model::ToBatch(stacks)});
  }
  const auto result = Merge();
  ASSERT_TRUE(result.ok()) << result.error().message;
  const auto merged = store::OpenRecording(Output());
  ASSERT_TRUE(merged.ok());
  EXPECT_TRUE((*merged)->Meta()->damage.empty());
}

}  // namespace
}  // namespace attune::merge
