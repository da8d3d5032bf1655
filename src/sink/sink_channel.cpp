#include "sink/sink_channel.h"

#include <charconv>

#include "base/text.h"
#include "model/codec.h"

namespace attune::sink {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

constexpr size_t kMaxText = 1024;
/// Prefix of the info table's names in kOpen, so that none can be taken for the argument.
constexpr std::string_view kInfoPrefix = "info.";

std::string EncodeWord(Word word, const Rows& rows) {
  model::Batch batch = model::InfoBatch(rows);
  batch.stream = word;
  return model::EncodeFrame(batch, model::Compression::kNone);
}

std::map<std::string, std::string> RowsOf(const model::Batch& batch) {
  std::map<std::string, std::string> rows;
  if (batch.texts.size() < 2) return rows;
  for (size_t i = 0; i < batch.rows; ++i) rows[batch.texts[0][i]] = batch.texts[1][i];
  return rows;
}

std::string Short(const std::string& text) { return CleanText(std::string_view(text).substr(0, kMaxText)); }

uint64_t Number(const std::string& text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

std::string Encode(const SinkHello& hello) {
  return EncodeWord(kHello, {{"failure", hello.failure},
                             {"name", hello.name},
                             {"description", hello.description},
                             {"argument", hello.argument}});
}

std::string Encode(const SinkOpen& open) {
  Rows rows{{"argument", open.argument}};
  for (const auto& [key, value] : open.info) rows.emplace_back(std::string(kInfoPrefix) + key, value);
  return EncodeWord(kOpen, rows);
}

std::string EncodeOpened(const std::string& failure) { return EncodeWord(kOpened, {{"failure", failure}}); }

std::string Encode(const SinkProgress& progress) {
  return EncodeWord(kStatus, {{"handled", std::to_string(progress.handled)},
                              {"pending", std::to_string(progress.pending)},
                              {"dropped", std::to_string(progress.dropped)},
                              {"message", progress.message},
                              {"last", progress.last ? "1" : "0"}});
}

SinkHello HelloFrom(const model::Batch& batch) {
  auto rows = RowsOf(batch);
  return {Short(rows["failure"]), Short(rows["name"]), Short(rows["description"]), Short(rows["argument"])};
}

SinkOpen OpenFrom(const model::Batch& batch) {
  SinkOpen open;
  for (auto& [key, value] : RowsOf(batch)) {
    if (key == "argument") open.argument = value;
    if (key.starts_with(kInfoPrefix)) open.info[key.substr(kInfoPrefix.size())] = value;
  }
  return open;
}

std::string OpenedFrom(const model::Batch& batch) { return Short(RowsOf(batch)["failure"]); }

SinkProgress ProgressFrom(const model::Batch& batch) {
  auto rows = RowsOf(batch);
  return {Number(rows["handled"]), Number(rows["pending"]), Number(rows["dropped"]), Short(rows["message"]),
          rows["last"] == "1"};
}

Result<std::optional<model::Batch>> FrameStream::Next() {
  const std::span<const char> left = std::span(bytes_).subspan(begin_);
  if (left.size() < sizeof(wire::FrameHeader)) return std::optional<model::Batch>();
  ATTUNE_TRY(const wire::FrameHeader header, model::ParseHeader(left));
  const size_t size = sizeof(wire::FrameHeader) + header.payload_bytes;
  if (left.size() < size) return std::optional<model::Batch>();
  ATTUNE_TRY(model::Batch batch, model::DecodeFrame(left.first(size)));
  begin_ += size;
  // Taken bytes are erased once they are the larger part, so that each byte is moved about once.
  if (begin_ >= bytes_.size() / 2) {
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(begin_));
    begin_ = 0;
  }
  return std::optional<model::Batch>(std::move(batch));
}

}  // namespace attune::sink
