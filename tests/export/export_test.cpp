#include "export/export.h"

#include <gmock/gmock.h>

#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "store/log_writer.h"
#include "store/recording.h"
#include "store/sample_data.h"

namespace attune::exports {
namespace {

using store::LogWriter;
using store::OpenRecording;
using store::SampleSession;
using store::TempFolder;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr int64_t kRows = 3000;

/// A closed recording of the made-up session, plus whatever `more` has.
class ExportTest : public testing::Test {
 protected:
  void Record(const std::vector<model::Batch>& more = {}) {
    auto writer = LogWriter::Create({.path = folder_ / "x.attune"});
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    session_.Feed(**writer, kRows);
    for (const model::Batch& batch : more) (*writer)->Consume(std::make_shared<const model::Batch>(batch));
    ASSERT_TRUE((*writer)->Close().ok());
    auto source = OpenRecording(folder_ / "x.attune");
    ASSERT_TRUE(source.ok()) << source.error().message;
    source_ = *std::move(source);
  }

  std::string Exported(ExportFormat format) {
    std::string all;
    const Status status = Export(
        *source_, format,
        [&](std::string_view bytes) -> Status {
          largest_piece_ = std::max(largest_piece_, bytes.size());
          all += bytes;
          return {};
        },
        [&](double done) { progress_.push_back(done); });
    EXPECT_TRUE(status.ok());
    return all;
  }

  TempFolder folder_;
  SampleSession session_;
  std::unique_ptr<model::Source> source_;
  std::vector<double> progress_;
  size_t largest_piece_ = 0;
};

model::Batch Events(const std::vector<std::vector<int64_t>>& rows) {
  model::Batch batch;
  batch.table = model::Event::kTable;
  batch.stream = SampleSession::kEventStream + 1;
  batch.rows = rows.size();
  batch.ints.resize(7);
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) batch.ints[i].push_back(row[i]);
  }
  return batch;
}

// ---- JSON

TEST_F(ExportTest, JsonHasAlarms) {
  Record({model::ToBatch(SampleSession::Alarms())});
  const auto alarms = nlohmann::json::parse(Exported(ExportFormat::kJson))["alarms"];
  ASSERT_EQ(alarms.size(), 3u);
  EXPECT_EQ(alarms[0], nlohmann::json::parse(R"({"t_ns":1000010000000,"id":1,"state":"raised","alarm":"storage.space",
      "severity":"warning","element":1,"series":5,"value":45,"threshold":100,"scale":-1,"unit":"%",
      "text":"4.5 % of / are free","advice":"free some space"})"));
  EXPECT_EQ(alarms[1]["severity"], "critical");
  EXPECT_EQ(alarms[2]["state"], "cleared");
  EXPECT_EQ(alarms[2]["value"], nullptr);
}

TEST_F(ExportTest, JsonHasWaitsAndTheirSites) {
  Record({model::ToBatch(SampleSession::Syncs()), model::ToBatch(SampleSession::Sites())});
  const auto json = nlohmann::json::parse(Exported(ExportFormat::kJson));
  EXPECT_EQ(json["sync"], nlohmann::json::parse(R"([[1000010000000,3,5,6,"mutex",100,3,5000000,640,2],
                                                    [1000020000000,3,5,6,"mutex",1,1,1000000,0,0]])"));
  EXPECT_EQ(json["sites"], nlohmann::json::parse(R"json([
      {"id":6,"frame":0,"function":"take()","file":"lock.h","line":12,"inlined":1,"module":"/usr/bin/worker",
       "address":4660,"build_id":"ab12"},
      {"id":6,"frame":1,"function":"main","file":"","line":null,"inlined":0,"module":"/usr/bin/worker",
       "address":4660,"build_id":"ab12"}])json"));
}

TEST_F(ExportTest, JsonHasMessagesAndCollectives) {
  Record({model::ToBatch(SampleSession::Messages()), model::ToBatch(SampleSession::Collectives())});
  const auto json = nlohmann::json::parse(Exported(ExportFormat::kJson));
  EXPECT_EQ(json["messages"], nlohmann::json::parse(R"([
      [1000010000000,3,1,"sent",6,5,2,7,4096,6,1000009000000,1000009000000,6,1],
      [1000020000000,3,1,"received",null,null,2,0,8,null,1000001000000,null,null,null]])"));
  EXPECT_EQ(json["collectives"], nlohmann::json::parse(R"([
      [1000030000000,3,1,6,5,3,0,8,16,6,1000029000000,null,0,1,4]])"));
}

TEST_F(ExportTest, JsonHasEveryRowOfEveryTable) {
  Record();
  const auto json = nlohmann::json::parse(Exported(ExportFormat::kJson));
  EXPECT_EQ(json["elements"].size(), 4u);
  EXPECT_EQ(json["elements"][1]["kind"], "process");
  EXPECT_EQ(json["elements"][1]["os_id"], 4711);
  EXPECT_EQ(json["elements"][1]["end_ns"], nullptr);
  EXPECT_EQ(json["series"].size(), 6u);
  EXPECT_EQ(json["series"][4]["scale"], -2);
  EXPECT_EQ(json["streams"], nlohmann::json::parse(R"([{"id":1,"interval_ns":1000000,"series":[1,2,3,4,5,6]}])"));
  EXPECT_EQ(json["processes"][0]["command"], "worker --fast");
  EXPECT_EQ(json["processes"][0]["exit_code"], nullptr);
  EXPECT_EQ(json["labels"][0]["text"], "begin \"quoted\", with comma");
  EXPECT_THAT(json["gaps"], IsEmpty());
  EXPECT_THAT(json["damage"], IsEmpty());
  EXPECT_TRUE(json["info"].contains("format"));
  EXPECT_EQ(json["real_minus_monotonic_ns"], 7);

  ASSERT_EQ(json["samples"].size(), static_cast<size_t>(kRows * session_.Columns()));
  std::map<int, int64_t> next_row;
  for (const auto& sample : json["samples"]) {
    const int column = sample[0].get<int>() - 1;
    const int64_t row = next_row[column]++;
    ASSERT_EQ(sample[1], SampleSession::TimeOf(row));
    ASSERT_EQ(sample[2], session_.ValueOf(column, row));
  }
  ASSERT_EQ(json["events"].size(), static_cast<size_t>(kRows * 2));
  EXPECT_EQ(json["events"][1],
            nlohmann::json::array({SampleSession::TimeOf(0) + 500'000, 3, "region_end", 4, nullptr, 0, 0}));
}

TEST_F(ExportTest, AbsentValuesAreNullAndEmpty) {
  model::Batch samples = *session_.Samples(kRows, kRows + 1);
  samples.ints[1][0] = model::kAbsent;
  Record({samples});
  const auto json = nlohmann::json::parse(Exported(ExportFormat::kJson));
  EXPECT_THAT(json["samples"], Contains(nlohmann::json::array({1, SampleSession::TimeOf(kRows), nullptr})));
  EXPECT_THAT(Exported(ExportFormat::kCsv), HasSubstr("vmstat,signal0,host,pages,\r\n"));
}

TEST_F(ExportTest, NamesThatAreNotUtf8StayJson) {
  const std::vector<model::Label> labels{{SampleSession::TimeOf(1), "caf\xe9"}};
  Record({model::ToBatch(labels)});
  const auto json = nlohmann::json::parse(Exported(ExportFormat::kJson));
  EXPECT_EQ(json["labels"][0]["text"], "caf\xef\xbf\xbd");
}

// ---- CSV

TEST_F(ExportTest, CsvHasALineAValue) {
  Record();
  std::istringstream lines(Exported(ExportFormat::kCsv));
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(line, "t_ns,real_time,sensor,signal,element,unit,value\r");
  int64_t count = 0;
  for (; std::getline(lines, line); ++count) {
    const int64_t row = count / session_.Columns();
    const int column = static_cast<int>(count % session_.Columns());
    const int64_t value = session_.ValueOf(column, row);
    std::string text = std::to_string(value);
    if (column >= session_.counters)
      text = std::to_string(value / 100) + "." + std::to_string(value % 100 / 10) + std::to_string(value % 10);
    const std::string names = "vmstat,signal" + std::to_string(column) + ",host,pages,";
    ASSERT_TRUE(line.starts_with(std::to_string(SampleSession::TimeOf(row)) + ",1970-01-01T00:16:4")) << line;
    ASSERT_TRUE(line.ends_with("Z," + names + text + "\r")) << line << " wants " << text;
  }
  EXPECT_EQ(count, kRows * session_.Columns());
}

TEST_F(ExportTest, CsvQuotesNamesAndKeepsSigns) {
  using namespace model;
  const std::vector<Element> elements{
      {9, SampleSession::kMachine, ElementKind::kDevice, kAbsent, kAbsent, kAbsent, "host", "disk \"a\", b"}};
  const std::vector<Series> series{{20, 9, SeriesKind::kGauge, -3, kAbsent, "disk", "heat", "K"},
                                   {21, 9, SeriesKind::kGauge, 6, kAbsent, "disk", "speed", "1"}};
  const std::vector<Stream> streams{{7, 0, {20, 21}}};
  Batch samples;
  samples.table = model::Sample::kTable;
  samples.stream = 7;
  samples.rows = 1;
  samples.ints = {{SampleSession::TimeOf(2)}, {-5}, {3}};
  Record({ToBatch(elements), ToBatch(series), ToBatch(streams), samples});
  const std::string csv = Exported(ExportFormat::kCsv);
  EXPECT_THAT(csv, HasSubstr(",1970-01-01T00:16:40.002000007Z,disk,heat,\"disk \"\"a\"\", b\",K,-0.005\r\n"));
  EXPECT_THAT(csv, HasSubstr("K,-0.005\r\n1000002000000,1970-01-01T00:16:40.002000007Z,disk,speed,"));
  EXPECT_THAT(csv, HasSubstr(",1,3e6\r\n"));
}

// ---- Perfetto

/// One field of a protobuf message, as it lies in the bytes.
struct WireField {
  uint32_t number = 0;
  uint64_t value = 0;      ///< of varint and fixed64
  std::string_view bytes;  ///< of the rest
};

class Fields {
 public:
  explicit Fields(std::string_view bytes) {
    while (!bytes.empty()) {
      const uint64_t tag = Varint(bytes);
      WireField field{static_cast<uint32_t>(tag >> 3), 0, {}};
      switch (tag & 7) {
        case 0: field.value = Varint(bytes); break;
        case 1:
          for (size_t i = 0; i < 8; ++i) field.value |= uint64_t{static_cast<unsigned char>(bytes.at(i))} << (8 * i);
          bytes.remove_prefix(8);
          break;
        case 2: {
          const size_t length = Varint(bytes);
          if (length > bytes.size()) throw std::out_of_range("field longer than its message");
          field.bytes = bytes.substr(0, length);
          bytes.remove_prefix(length);
          break;
        }
        default: throw std::out_of_range("wire type");
      }
      fields_.push_back(field);
    }
  }
  const WireField* Find(uint32_t number) const {
    for (const WireField& field : fields_) {
      if (field.number == number) return &field;
    }
    return nullptr;
  }
  uint64_t Value(uint32_t number) const { return Find(number) == nullptr ? 0 : Find(number)->value; }
  std::string Text(uint32_t number) const { return Find(number) == nullptr ? "" : std::string(Find(number)->bytes); }
  const std::vector<WireField>& all() const { return fields_; }

 private:
  static uint64_t Varint(std::string_view& bytes) {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.at(0));
      bytes.remove_prefix(1);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
  }
  std::vector<WireField> fields_;
};

struct TrackEvent {
  uint64_t t_ns, type, track;
  std::string name;
  double counter;
  uint64_t flow, ends_flow;
};

/// What docs/export.md promises, taken apart by the numbers of the public protos.
struct Trace {
  explicit Trace(std::string bytes) : bytes_(std::move(bytes)) {
    const Fields packets(bytes_);
    for (const WireField& packet_field : packets.all()) {
      EXPECT_EQ(packet_field.number, 1u);
      const Fields packet(packet_field.bytes);
      EXPECT_EQ(packet.Value(10), 1u) << "trusted_packet_sequence_id";
      EXPECT_EQ(packet.Value(58), 3u) << "timestamp_clock_id";
      if (packet.Find(6) != nullptr) clock = packet.Text(6);
      if (packet.Find(60) != nullptr) {
        const Fields track(packet.Find(60)->bytes);
        EXPECT_TRUE(tracks.emplace(track.Value(1), track).second) << "described twice";
      }
      if (packet.Find(11) == nullptr) continue;
      const Fields event(packet.Find(11)->bytes);
      EXPECT_TRUE(tracks.contains(event.Value(11))) << "an event before its track";
      events.push_back({packet.Value(8), event.Value(9), event.Value(11), event.Text(23),
                        std::bit_cast<double>(event.Value(44)), event.Value(47), event.Value(48)});
    }
  }

  std::vector<TrackEvent> Of(uint64_t track) const {
    std::vector<TrackEvent> found;
    std::copy_if(events.begin(), events.end(), std::back_inserter(found),
                 [&](const TrackEvent& event) { return event.track == track; });
    return found;
  }
  uint64_t TrackNamed(const std::string& name) const {
    for (const auto& [uuid, track] : tracks) {
      if (track.Text(2) == name) return uuid;
    }
    return 0;
  }

  std::map<uint64_t, Fields> tracks;
  std::vector<TrackEvent> events;
  std::string clock;

 private:
  const std::string bytes_;
};

TEST_F(ExportTest, PerfettoDescribesProcessesAndThreads) {
  Record();
  const Trace trace(Exported(ExportFormat::kPerfetto));
  const Fields process(trace.tracks.at(SampleSession::kProcess).Find(3)->bytes);
  EXPECT_EQ(process.Value(1), 4711u);
  EXPECT_EQ(process.Text(2), "worker --fast");
  EXPECT_EQ(process.Text(6), "worker");
  const Fields thread(trace.tracks.at(SampleSession::kThread).Find(4)->bytes);
  EXPECT_EQ(thread.Value(1), 4711u);
  EXPECT_EQ(thread.Value(2), 4712u);
  EXPECT_EQ(trace.tracks.at(SampleSession::kThread).Value(5), uint64_t{SampleSession::kProcess});
  EXPECT_EQ(Fields(trace.clock).Value(2), 3u) << "the primary clock is the monotonic one";
}

TEST_F(ExportTest, PerfettoShowsAlarmsAsSlices) {
  Record({model::ToBatch(SampleSession::Alarms())});
  const Trace trace(Exported(ExportFormat::kPerfetto));
  const auto space = trace.Of(trace.TrackNamed("alarm storage.space host"));
  ASSERT_EQ(space.size(), 2u);
  EXPECT_EQ(space[0].type, 1u);
  EXPECT_EQ(space[0].name, "4.5 % of / are free");
  EXPECT_EQ(space[0].t_ns, static_cast<uint64_t>(SampleSession::TimeOf(10)));
  EXPECT_EQ(space[1].type, 2u);
  EXPECT_EQ(space[1].t_ns, static_cast<uint64_t>(SampleSession::TimeOf(30)));
  EXPECT_EQ(trace.Of(trace.TrackNamed("alarm memory.full host")).size(), 1u) << "it is still on";
}

TEST_F(ExportTest, PerfettoShowsWaitsAsSlices) {
  constexpr int64_t kThread = SampleSession::kThread + 100;
  Record({Events({{SampleSession::TimeOf(9), kThread, 11, SampleSession::kRegion, 0, 2'000'000, 1}})});
  const auto slices = Trace(Exported(ExportFormat::kPerfetto)).Of(static_cast<uint64_t>(kThread));
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0].type, 1u);
  EXPECT_EQ(slices[0].name, "wait for compress");
  EXPECT_EQ(slices[0].t_ns, static_cast<uint64_t>(SampleSession::TimeOf(7)));
  EXPECT_EQ(slices[1].type, 2u);
  EXPECT_EQ(slices[1].t_ns, static_cast<uint64_t>(SampleSession::TimeOf(9)));
}

TEST_F(ExportTest, PerfettoHasSlicesLabelsAndCounters) {
  Record();
  const Trace trace(Exported(ExportFormat::kPerfetto));
  const auto slices = trace.Of(SampleSession::kThread);
  ASSERT_EQ(slices.size(), static_cast<size_t>(kRows * 2));
  for (size_t i = 0; i < slices.size(); ++i) {
    ASSERT_EQ(slices[i].type, i % 2 + 1);
    ASSERT_EQ(slices[i].t_ns, static_cast<uint64_t>(SampleSession::kStartNs) + i * 500'000);
    ASSERT_EQ(slices[i].name, i % 2 == 0 ? "compress" : "");
  }
  const auto labels = trace.Of(trace.TrackNamed("labels"));
  ASSERT_EQ(labels.size(), 1u);
  EXPECT_EQ(labels[0].type, 3u);
  EXPECT_EQ(labels[0].name, "begin \"quoted\", with comma");

  const auto rates = trace.Of(trace.TrackNamed("vmstat.signal1 host"));
  ASSERT_EQ(rates.size(), static_cast<size_t>(kRows - 1)) << "the first sample has no rate";
  EXPECT_DOUBLE_EQ(rates[0].counter, 2000) << "2 a millisecond";
  EXPECT_EQ(rates[0].type, 4u);
  const auto levels = trace.Of(trace.TrackNamed("vmstat.signal5 host"));
  ASSERT_EQ(levels.size(), static_cast<size_t>(kRows));
  EXPECT_DOUBLE_EQ(levels[3].counter, 5.03);
  EXPECT_EQ(Fields(trace.tracks.at(trace.TrackNamed("vmstat.signal1 host")).Text(8)).Text(6), "pages/s");
}

TEST_F(ExportTest, PerfettoHasTheStatesOfThreadsAsCountersWithTheAccountsSums) {
  constexpr int64_t kMs = 1'000'000;
  const auto state = [](model::TimeState of, int64_t ms) {
    return model::StateTime{.t_ns = SampleSession::kStartNs + 1000 * kMs,
                            .element = SampleSession::kThread,
                            .state = of,
                            .ns = ms * kMs,
                            .count = 1};
  };
  const std::vector<model::StateTime> rows{state(model::TimeState::kRunning, 400), state(model::TimeState::kPipe, 600)};
  Record({model::ToBatch(std::span<const model::StateTime>(rows))});
  const Trace trace(Exported(ExportFormat::kPerfetto));
  for (const auto& [name, seconds] : {std::pair("state running", 0.4), std::pair("state pipe", 0.6)}) {
    const uint64_t track = trace.TrackNamed(name);
    ASSERT_NE(track, 0u) << name;
    EXPECT_EQ(trace.tracks.at(track).Value(5), uint64_t{SampleSession::kThread});
    EXPECT_EQ(Fields(trace.tracks.at(track).Text(8)).Text(6), "%");
    const auto events = trace.Of(track);
    double sum = 0;
    for (size_t i = 0; i + 1 < events.size(); ++i)
      sum += events[i].counter / 100 * static_cast<double>(events[i + 1].t_ns - events[i].t_ns) * 1e-9;
    EXPECT_NEAR(sum, seconds, 2e-9) << name;
    EXPECT_EQ(events.back().counter, 0) << name;
  }
}

TEST_F(ExportTest, PerfettoSlicesNestEvenWhereEventsWereLost) {
  const int64_t t = SampleSession::TimeOf(kRows);
  constexpr int64_t kOther = 77;  // a thread whose row was lost, too
  // Begins of 4 and 5, the end of 5 lost, the end of 4, then an end that never began.
  Record({Events({{t, kOther, 1, 4, 0, 0, 0},
                  {t + 1, kOther, 1, 5, 0, 0, 0},
                  {t + 2, kOther, 2, 4, 0, 0, 0},
                  {t + 3, kOther, 2, 4, 0, 0, 0}})});
  const Trace trace(Exported(ExportFormat::kPerfetto));
  std::vector<std::pair<uint64_t, uint64_t>> seen;
  for (const TrackEvent& event : trace.Of(kOther)) seen.emplace_back(event.type, event.t_ns - static_cast<uint64_t>(t));
  EXPECT_THAT(seen, testing::ElementsAre(Pair(1, 0), Pair(1, 1), Pair(2, 2), Pair(2, 2)));
  EXPECT_EQ(trace.tracks.at(kOther).Text(2), "thread 77");
}

TEST_F(ExportTest, PerfettoMessagesAreFlows) {
  using namespace model;
  // The same channel has an element in each process.
  const std::vector<Element> elements{{5, 2, ElementKind::kChannel, kAbsent, kAbsent, kAbsent, "host", "blocks"},
                                      {6, 1, ElementKind::kChannel, kAbsent, kAbsent, kAbsent, "host", "blocks"}};
  const int64_t t = SampleSession::TimeOf(kRows);
  constexpr int64_t kThread = SampleSession::kThread;
  Record({ToBatch(elements), Events({{t, kThread, 5, 5, 0, 100, 1},
                                     {t + 1, kThread, 5, 5, 0, 100, 2},
                                     {t + 2, 99, 6, 6, 0, 100, 1},
                                     {t + 3, kThread, 3, 5, 0, -1, 0}})});
  const Trace trace(Exported(ExportFormat::kPerfetto));
  const auto received = trace.Of(99);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].name, "receive blocks");
  const auto events = trace.Of(kThread);
  const auto* sent = &events[events.size() - 3];
  EXPECT_EQ(sent[0].name, "send blocks");
  EXPECT_NE(sent[0].flow, 0u);
  EXPECT_EQ(sent[0].flow, received[0].ends_flow);
  EXPECT_NE(sent[1].flow, sent[0].flow) << "another tag";
  EXPECT_EQ(sent[2].type, 3u);
  EXPECT_EQ(sent[2].flow, 0u);
}

// ---- NUMAscope

TEST_F(ExportTest, NumascopeHasRatesByElementAndLevels) {
  using namespace model;
  const auto board = [](ElementId id, int64_t number) {
    return Element{id, SampleSession::kMachine, ElementKind::kBoard, number, kAbsent, kAbsent, "host", "board"};
  };
  const std::vector<Element> elements{board(8, 1), board(9, 2)};
  const std::vector<Series> series{{20, 8, SeriesKind::kCounter, 0, 200, "fabric", "wait", "cycles"},
                                   {21, 8, SeriesKind::kGauge, -1, kAbsent, "fabric", "heat", "K"},
                                   {22, 9, SeriesKind::kCounter, 0, 200, "fabric", "wait", "cycles"},
                                   {23, 8, SeriesKind::kUpDown, 0, kAbsent, "fabric", "free", "1"}};
  const std::vector<Stream> streams{{7, 0, {20, 21, 22, 23}}};
  Batch samples;
  samples.table = model::Sample::kTable;
  samples.stream = 7;
  samples.rows = 3;
  const int64_t t = SampleSession::kStartNs;
  samples.ints = {{t, t + 500'000'000, t + 1'500'000'000}, {10, 60, 30}, {455, kAbsent, 460}, {1, 1, 101}, {7, 4, 4}};
  const std::vector<Label> labels{{t + 1'000'000'000, "mid \"way\""}, {t + 2'000'000'000, "after"}};
  Record({ToBatch(elements), ToBatch(series), ToBatch(streams), samples, ToBatch(labels)});

  std::string all;
  const auto write = [&](std::string_view bytes) -> Status {
    all += bytes;
    return {};
  };
  EXPECT_EQ(Export(*source_, ExportFormat::kNumascope, write).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(Export(*source_, ExportFormat::kNumascope, write, {}, "fabrik").error().hint, "did you mean fabric?");
  EXPECT_EQ(all, "");
  ASSERT_TRUE(Export(*source_, ExportFormat::kNumascope, write, {}, "fabric").ok());
  EXPECT_EQ(all,
            "[[\"NumaConnect2\",2,200],\n"
            "[\"% wait:1<b title='% wait cycles'></b>\",\"% wait:2<b title='% wait cycles'></b>\",\"heat<b title='% "
            "wait cycles'></b>\","
            "\"free<b title='% wait cycles'></b>\"],\n"
            "[1000000000,null,null,45.5,null],\n"
            "[\"label\",1000005000,\"begin \\\"quoted\\\", with comma\"],\n"
            "[1000500000,100,0,null,-6],\n"
            "[\"label\",1001000000,\"mid \\\"way\\\"\"],\n"
            "[\"label\",1002000000,\"after\"],\n"
            "[1001500000,null,100,46.0,0]\n]\n");
}

// ---- all formats

TEST_F(ExportTest, ComesInPiecesAndTellsProgress) {
  Record();
  for (const ExportFormat format : {ExportFormat::kJson, ExportFormat::kCsv, ExportFormat::kPerfetto}) {
    progress_.clear();
    largest_piece_ = 0;
    EXPECT_GT(Exported(format).size(), size_t{600} << 10);
    EXPECT_LT(largest_piece_, size_t{300} << 10);
    EXPECT_TRUE(std::is_sorted(progress_.begin(), progress_.end()));
    ASSERT_FALSE(progress_.empty());
    EXPECT_DOUBLE_EQ(progress_.back(), 1);
  }
}

TEST_F(ExportTest, AFailedWriteEndsIt) {
  Record();
  for (const ExportFormat format : {ExportFormat::kJson, ExportFormat::kCsv, ExportFormat::kPerfetto}) {
    int calls = 0;
    const Status status = Export(*source_, format, [&](std::string_view) -> Status {
      ++calls;
      return Error{Errc::kNoSpace, "the disk is full", ""};
    });
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, Errc::kNoSpace);
    EXPECT_EQ(calls, 1);
  }
}

}  // namespace
}  // namespace attune::exports
