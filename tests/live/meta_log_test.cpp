#include "live/meta_log.h"

#include <gmock/gmock.h>

#include "model/codec.h"
#include "wire/frame.h"

namespace attune::live {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

/// Table and rows of each frame.
std::vector<std::pair<model::Table, size_t>> FramesOf(std::string_view bytes) {
  std::vector<std::pair<model::Table, size_t>> frames;
  while (!bytes.empty()) {
    const auto header = model::ParseHeader(bytes);
    EXPECT_TRUE(header.ok());
    if (!header.ok()) break;
    const size_t size = sizeof(wire::FrameHeader) + header->payload_bytes;
    const auto batch = model::DecodeFrame(bytes.substr(0, size));
    EXPECT_TRUE(batch.ok());
    if (!batch.ok()) break;
    frames.emplace_back(batch->table, batch->rows);
    bytes.remove_prefix(size);
  }
  return frames;
}

TEST(MetaLog, SendsRowsThatChangedAndAppendedTablesWhole) {
  model::Metadata first;
  first.elements = {{.id = 1, .name = "node"}, {.id = 2, .name = "cpu0"}};
  first.labels = {{5, "before"}};
  first.sites = {{.id = 9, .module = "/usr/bin/solver"}};
  first.gaps = {{.stream = 1}};
  MetaLog log;
  log.Update(std::make_shared<const model::Metadata>(first));
  const MetaLog::Changes all = log.Since(0);
  EXPECT_THAT(FramesOf(all.frames), ElementsAre(Pair(model::Element::kTable, 2), Pair(model::Label::kTable, 1),
                                                Pair(model::Alarm::kTable, 0)));

  model::Metadata second = first;
  second.elements[1].end_ns = 7;
  second.labels.push_back({6, "after"});
  log.Update(std::make_shared<const model::Metadata>(second));
  const MetaLog::Changes changes = log.Since(all.revision);
  EXPECT_THAT(FramesOf(changes.frames), ElementsAre(Pair(model::Element::kTable, 1), Pair(model::Label::kTable, 2)));

  // Places in the code and gaps alone are no news for a page.
  model::Metadata third = second;
  third.sites.clear();
  third.gaps.push_back({.stream = 2});
  log.Update(std::make_shared<const model::Metadata>(third));
  EXPECT_EQ(log.Since(changes.revision).revision, changes.revision);
  EXPECT_THAT(FramesOf(log.Since(changes.revision).frames), IsEmpty());
}

}  // namespace
}  // namespace attune::live
