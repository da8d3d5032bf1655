#pragma once
/// State of one WebSocket client, and the recording that it views instead of the server's own data.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "live/compared.h"
#include "live/console.h"
#include "live/documents.h"
#include "live/feed.h"
#include "live/loaded_file.h"
#include "live/message.h"
#include "live/server_options.h"
#include "live/site.h"

namespace attune::live {

/// A recording that one client looks at: from a file of its own, or of a run of the console.
struct LoadedRecording {
  /// From a client's file.
  LoadedRecording(std::unique_ptr<LoadedFile> copy, std::unique_ptr<model::Source> opened, const ServerOptions& options)
      : LoadedRecording(std::move(opened), copy->name(), options) {
    file = std::move(copy);
    if (options.analyse) AddDocuments(options.analyse(*source, /*trusted=*/false), options);
  }
  /// From a run of the console.
  LoadedRecording(Console::Opened opened, Console::Opened compared, const ServerOptions& options)
      : LoadedRecording(std::move(opened.source), std::move(opened.title), options) {
    other = std::move(compared.source);
    if (other != nullptr) context.compare_with = std::move(compared.title);
    AddDocuments(options.console->Analyse(*source), options);
  }
  std::unique_ptr<LoadedFile> file;  ///< nullptr: of a run
  const std::unique_ptr<model::Source> source;
  std::unique_ptr<model::Source> other;  ///< to compare with, called context.compare_with; nullptr: none
  FeedContext context;

 private:
  LoadedRecording(std::unique_ptr<model::Source> opened, std::string title, const ServerOptions& options)
      : source(std::move(opened)), context{.source = *source, .meta_log = {}, .title = std::move(title), .paused = {}} {
    const model::TimeRange extent = source->Extent();
    context.session = RandomToken();
    context.origin_ns = extent.t1_ns > extent.t0_ns ? extent.t0_ns : MonotonicNs();
    context.can_load = options.open_recording != nullptr;
    context.can_compare = options.compare != nullptr;
    context.can_run = options.console != nullptr;
    context.loaded = true;
  }
  void AddDocuments(std::unique_ptr<Analyses> analyses, const ServerOptions& options) {
    context.documents = std::make_shared<Documents>(*source, std::move(analyses), options.min_document_interval);
  }
};

/// Newest question of one kind by a client. Its answer is computed aside, so that nothing else waits for it.
struct Questions {
  std::function<std::string(Documents&)> next;  ///< empty: none
  bool is_busy = false;                         ///< with the one before
};

constexpr size_t kMaxNotices = 8;
constexpr std::string_view kConsoleAnswers = "console ";

/// The part of a WebSocket client that all of its coroutines use. @thread the I/O thread
struct Client : std::enable_shared_from_this<Client> {
  Client(FeedContext& shared, const boost::asio::any_io_executor& executor)
      : context(&shared), feed(std::make_unique<Feed>(shared)), wake(executor) {}

  FeedContext* context;
  std::unique_ptr<Feed> feed;               ///< used on a worker while `writer` waits for it
  std::unique_ptr<LoadedFile> loading;      ///< comes in pieces
  bool loading_to_compare = false;          ///< `loading` is for a comparison, not to be shown
  std::shared_ptr<LoadedRecording> loaded;  ///< recording that this client views instead; replaced by `next_loaded`
  std::unique_ptr<LoadedRecording> next_loaded;
  uint32_t credits = 0;
  std::optional<ViewSpec> view;  ///< asked for and not handed to the feed yet; the newest wins
  std::optional<uint64_t> revision;
  bool news = true;      ///< the source may have something for this client
  bool may_run = false;  ///< it has shown the token on this connection
  bool closing = false;
  std::deque<std::string> notices;
  std::shared_ptr<Compared> compared;          ///< the other recording of this client's comparison
  std::map<std::string, Questions> questions;  ///< by kind
  std::map<std::string, std::string> answers;  ///< the newest of each kind that is not sent yet
  boost::asio::steady_timer wake;              ///< cancelled to wake the writer

  void Wake() { wake.cancel(); }
  /// From now on the client sees the recording that it loaded. @pre the feed is not in use
  void Switch() {
    context = &next_loaded->context;
    feed = std::make_unique<Feed>(*context);
    loaded = std::move(next_loaded);
    credits = 0;
    view.reset();
    revision.reset();
    EndComparison();
    std::erase_if(answers, [](const auto& answer) { return !answer.first.starts_with(kConsoleAnswers); });
    notices.push_back(Feed::Hello(*context));
  }
  void EndComparison() {
    compared.reset();
    answers.erase("comparison");
    answers.erase("pair");
  }
  void Answer(const std::string& kind, std::string message) {
    answers[kind] = std::move(message);
    Wake();
  }
  /// Next message that needs no credit; empty: none.
  std::string TakeAnswer() {
    if (notices.empty()) return answers.empty() ? "" : std::move(answers.extract(answers.begin()).mapped());
    std::string notice = std::move(notices.front());
    notices.pop_front();
    return notice;
  }
  void AnswerConsole(ConsoleVerb verb, const Result<std::string>& answer) {
    Answer(std::string(kConsoleAnswers) + std::string(ToString(verb)), ConsoleMessage(verb, answer));
  }
  /// Whether the viewed recording must be polled: its growth is not announced.
  bool MustAsk() const { return loaded != nullptr && loaded->source->Growing(); }
  void Notify(std::string_view level, std::string_view text) {
    // A client that only shouts and never listens loses the oldest answers.
    if (notices.size() == kMaxNotices) notices.pop_front();
    notices.push_back(Feed::Notice(level, text));
    Wake();
  }
};

}  // namespace attune::live
