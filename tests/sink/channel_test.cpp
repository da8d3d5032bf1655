#include <gmock/gmock.h>

#include "environment.h"
#include "model/codec.h"
#include "sink/delivery.h"
#include "sink/found_sinks.h"
#include "sink/sink_channel.h"

namespace attune::sink {
namespace {

using testing::HasSubstr;

std::vector<model::Batch> Cut(const std::string& bytes, size_t piece) {
  FrameStream stream;
  std::vector<model::Batch> batches;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    stream.Append(std::span(bytes).subspan(at, std::min(piece, bytes.size() - at)));
    while (true) {
      auto batch = stream.Next();
      EXPECT_TRUE(batch.ok());
      if (!batch.ok() || !batch->has_value()) break;
      batches.push_back(**std::move(batch));
    }
  }
  return batches;
}

TEST(SinkChannel, WordsSurviveEveryCut) {
  const SinkHello hello{"", "influxdb", "lines", "FILE"};
  const SinkOpen open{"x=1", {{"host", "node"}, {"argument", "not the argument"}}};
  const SinkProgress progress{7, 5, 2, "away", true};
  const std::string bytes = Encode(hello) + Encode(open) + EncodeOpened("no") + Encode(progress);
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{64}, bytes.size()}) {
    const auto batches = Cut(bytes, piece);
    ASSERT_EQ(batches.size(), 4u);
    EXPECT_EQ(HelloFrom(batches[0]), hello);
    EXPECT_EQ(OpenFrom(batches[1]), open);
    EXPECT_EQ(OpenedFrom(batches[2]), "no");
    EXPECT_EQ(ProgressFrom(batches[3]), progress);
    EXPECT_EQ(batches[3].stream, kStatus);
  }
}

TEST(Delivery, TakesTheTablesThatTheInterfaceHasCallsFor) {
  std::vector<std::string_view> taken;
  for (const model::TableSchema& schema : model::AllSchemas()) {
    if (Delivery::Takes(schema.table)) taken.push_back(schema.text.name);
  }
  EXPECT_THAT(taken, testing::UnorderedElementsAre("elements", "series", "streams", "samples", "labels", "gaps",
                                                   "processes", "alarms", "clock"));
}

TEST(SinkChannel, RubbishIsAnError) {
  FrameStream stream;
  const std::string rubbish(100, 'x');
  stream.Append(rubbish);
  EXPECT_EQ(stream.Next().error().code, Errc::kCorrupt);
}

TEST(SinkChannel, MissingAndForeignPartsAreDefaults) {
  const model::Batch empty = model::InfoBatch({});
  EXPECT_EQ(HelloFrom(empty), SinkHello());
  EXPECT_EQ(ProgressFrom(model::Batch()), SinkProgress());
  const std::vector<std::pair<std::string, std::string>> rows{{"handled", "many"}, {"message", std::string(5000, 'm')}};
  const SinkProgress progress = ProgressFrom(model::InfoBatch(rows));
  EXPECT_EQ(progress.handled, 0u);
  EXPECT_EQ(progress.message.size(), 1024u);
}

TEST(FindSink, SuggestsTheNearestName) {
  const std::string folder = Environment("ATTUNE_BUILD") + "/lib/attune/sinks";
  const auto found = FindSink("influxdb=http://h/write?db=x", "--sink", {folder});
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->argument, "http://h/write?db=x");
  EXPECT_EQ(found->file, folder + "/influxdb.so");
  const Error error = FindSink("influx", "--sink", {folder}).error();
  EXPECT_EQ(error.code, Errc::kInvalidArgument);
  EXPECT_THAT(error.hint, HasSubstr("did you mean influxdb?"));
  EXPECT_EQ(FindSink("=x", "--sink", {folder}).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(FindSink("./nowhere.so", "--sink", {folder}).error().code, Errc::kNotFound);
}

TEST(FindSink, DescribesWithoutOpening) {
  const std::string build = Environment("ATTUNE_BUILD");
  const std::string program = Environment("ATTUNE_BIN");
  const auto influxdb = Describe({"influxdb", build + "/lib/attune/sinks/influxdb.so"}, program);
  ASSERT_TRUE(influxdb.ok()) << influxdb.error().message;
  EXPECT_THAT(influxdb->argument, HasSubstr("/write?db=NAME"));
  const auto none = Describe({"dice", build + "/examples/plugin-sensor/dice.so"}, program);
  EXPECT_THAT(none.error().message, HasSubstr("no function attune_plugin_sink"));
}

}  // namespace
}  // namespace attune::sink
