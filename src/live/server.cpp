// With connection.cpp and entrance.cpp the only file that includes Boost.Beast: compiling it takes long.

#include "live/server.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <thread>
#include <type_traits>

#include "base/clock.h"
#include "base/thread_safety.h"
#include "live/client.h"
#include "live/connection.h"
#include "live/console.h"
#include "live/documents.h"
#include "live/entrance.h"
#include "live/feed.h"
#include "live/loaded_file.h"
#include "live/message.h"
#include "live/site.h"

namespace attune::live {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
template <class T = void>
using Task = net::awaitable<T>;
using Socket = websocket::stream<ConnectionStream>;

constexpr auto kAwait = net::as_tuple(net::use_awaitable);
constexpr milliseconds kNewsLimit{250};
/// Sampling threads deliver at the same moments, a tick earlier or later. An update with what the first one has would
/// make the others wait for the next.
constexpr milliseconds kSettleTime{2};

class BeastServer final : public Server {
 public:
  BeastServer(model::Source& source, ServerOptions options)
      : options_(std::move(options)),
        source_(source),
        entrance_(options_),
        context_{.source = source, .meta_log = {}, .title = {}, .paused = {}} {}
  ~BeastServer() override { Stop(); }

  Status Open();
  std::string Url() const override { return site_->Url(); }
  uint16_t Port() const override { return port_; }
  ServerStats Stats() const override;
  void Stop() override;

 private:
  /// @thread the entrance's
  void Welcome(const std::shared_ptr<Guest>& guest);
  Task<> Serve(ConnectionStream stream, std::shared_ptr<Guest> guest);
  Task<> ServeClient(ConnectionStream stream, HttpMessage request, uint32_t credits);
  Task<> Read(Socket& socket, const std::shared_ptr<Client>& client);
  Task<> Write(std::shared_ptr<Socket> socket, std::shared_ptr<Client> client);
  Task<bool> SendUpdate(Socket& socket, Client& client);
  /// Does what each part of the message asks for, as the rows of Requests() say. @return as TakePiece
  Task<Status> Take(ClientMessage message, Client& client);
  struct Request;
  static std::span<const Request> Requests();
  template <auto part, auto take>
  static constexpr Request Row(Status (*may)(const ClientMessage&, const Client&));
  Task<> TakeCredits(uint32_t credits, Client& client);
  Task<> TakeRevision(uint64_t revision, Client& client);
  Task<> TakeView(ViewSpec view, Client& client);
  Task<> TakeDocument(DocumentRequest request, Client& client);
  Task<> TakeSource(SourceRequest request, Client& client);
  Task<> TakeTimeline(TimelineRequest request, Client& client);
  Task<> TakeLoad(LoadRequest load, Client& client);
  Task<> TakeLabel(LabelRequest label, Client& client);
  Task<> TakeControl(ControlRequest control, Client& client);
  Task<> TakeCompare(CompareRequest compare, Client& client);
  Task<> TakePair(PairRequest pair, Client& client);
  Task<> TakeConsole(ConsoleRequest request, Client& client);
  Task<> TakeTune(TuneRequest tune, Client& client);
  /// @return an error that ends the connection
  Task<Status> TakePiece(std::string_view piece, Client& client);
  /// Opens a client's file. An error names it as the client does.
  Result<std::unique_ptr<model::Source>> OpenLoaded(const LoadedFile& file);
  Task<> Loaded(std::unique_ptr<LoadedFile> file, bool compare, Client& client);
  /// @return whether it could be compared
  Task<bool> Compare(CompareRequest compare, Client& client);
  /// The recording of a run, and of the one that it is to be compared with.
  Result<std::unique_ptr<LoadedRecording>> OpenRun(const ConsoleRequest& request);
  void Ask(Client& client, std::string kind, net::thread_pool& threads,
           std::function<std::string(Documents&)> question);
  Task<> AnswerQuestions(std::shared_ptr<Client> client, std::string kind, net::thread_pool& threads);
  /// Runs `work` on a worker thread: reading a source may take a disk's time, and the I/O thread serves everybody.
  template <class Work>
  Task<std::invoke_result_t<Work>> OnWorker(Work work) {
    return On(*workers_, std::move(work));
  }
  template <class Work>
  Task<std::invoke_result_t<Work>> On(net::thread_pool& threads, Work work) {
    // g++ 12 destroys temporaries of a co_await expression twice: everything that is awaited has a name.
    auto task = Run<Work>(std::move(work));
    auto waiting = net::co_spawn(threads, std::move(task), net::use_awaitable);
    co_return co_await std::move(waiting);
  }
  template <class Work>
  static Task<std::invoke_result_t<Work>> Run(Work work) {
    co_return work();
  }
  void WatchNews(const std::stop_token& stop);
  bool WaitForClients(const std::stop_token& stop);
  void SetClientCount();

  ServerOptions options_;
  model::Source& source_;
  std::optional<Site> site_;
  Entrance entrance_;
  FeedContext context_;
  uint16_t port_ = 0;

  std::optional<net::io_context> io_{1};  ///< its end closes all connections of guests
  net::executor_work_guard<net::io_context::executor_type> io_work_{io_->get_executor()};
  std::optional<net::thread_pool> workers_{std::in_place, 2};
  std::optional<net::thread_pool> document_thread_{std::in_place, 1};  ///< may be at one of them for seconds
  std::optional<net::thread_pool> timeline_thread_{std::in_place, 1};
  std::jthread io_thread_;
  std::jthread news_thread_;
  std::atomic<bool> news_posted_{false};

  // @thread the I/O thread
  size_t guests_ = 0;                      ///< connections
  std::atomic<uint64_t> loaded_bytes_{0};  ///< before the clients, whose files count in it
  std::vector<std::shared_ptr<Client>> clients_;

  std::atomic<size_t> client_count_{0};
  Mutex clients_mutex_;  // held while client_count_ changes
  CondVar client_came_;
  std::atomic<uint64_t> updates_{0};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<size_t> largest_client_bytes_{0};
};

// ---- start and stop
// ---------------------------------------------------------------------------------------------------

Status BeastServer::Open() {
  ATTUNE_CHECK_OK(entrance_.Listen());
  const auto endpoint = entrance_.endpoint();
  const std::string address = endpoint.address().to_string();
  port_ = endpoint.port();
  site_.emplace(Site::Identity{.address = endpoint.address().is_v6() ? "[" + address + "]" : address,
                               .port = port_,
                               .tls = !options_.tls_cert.empty(),
                               .token = options_.token.empty() ? RandomToken() : options_.token});

  const model::TimeRange extent = source_.Extent();
  context_.session = RandomToken();
  context_.origin_ns = extent.t1_ns > extent.t0_ns ? extent.t0_ns : MonotonicNs();
  context_.title = options_.title;
  context_.reopen = options_.reopen;
  context_.can_label = options_.on_label != nullptr;
  context_.can_control = options_.on_control != nullptr;
  context_.can_load = options_.open_recording != nullptr;
  context_.can_compare = options_.compare && options_.open_recording;
  context_.can_run = options_.console != nullptr;
  context_.can_tune = options_.on_tune != nullptr;
  if (options_.compare && options_.compare_with != nullptr) context_.compare_with = options_.compare_with_title;
  context_.paused = options_.is_paused;
  if (options_.analyse) {
    context_.documents = std::make_shared<Documents>(source_, options_.analyse(source_, /*trusted=*/true),
                                                     options_.min_document_interval);
  }

  entrance_.Start(*site_, [this](const std::shared_ptr<Guest>& guest) { Welcome(guest); });
  io_thread_ = std::jthread([this] { io_->run(); });
  news_thread_ = std::jthread([this](const std::stop_token& stop) { WatchNews(stop); });
  return {};
}

void BeastServer::Stop() {
  entrance_.Stop();
  if (!io_thread_.joinable()) return;
  news_thread_.request_stop();
  io_->stop();
  io_thread_.join();
  news_thread_.join();
  // Work queued in the pools references clients, and clients reference io_.
  for (auto* threads : {&workers_, &document_thread_, &timeline_thread_}) {
    (*threads)->stop();
    (*threads)->join();
    threads->reset();
  }
  clients_.clear();
  io_work_.reset();
  io_.reset();
}

ServerStats BeastServer::Stats() const {
  return {
      .clients = client_count_, .updates = updates_, .bytes = bytes_, .largest_client_bytes = largest_client_bytes_};
}

void BeastServer::WatchNews(const std::stop_token& stop) {
  uint64_t seen = 0;
  bool growing = true;
  bool paused = false;
  while (growing && WaitForClients(stop)) {
    // Asked before the wait: what comes at the very end is then still announced.
    growing = source_.Growing();
    const bool news = source_.WaitForNews(seen, kNewsLimit);
    const bool was_paused = std::exchange(paused, context_.paused && context_.paused());
    if (!news && growing && paused == was_paused) continue;
    if (news) std::this_thread::sleep_for(kSettleTime);
    seen = source_.Version();
    if (news_posted_.exchange(true)) continue;
    net::post(*io_, [this] {
      news_posted_ = false;
      for (const auto& client : clients_) {
        client->news = true;
        client->Wake();
      }
    });
  }
}

/// While nobody looks there is nothing to announce. @return false: to stop
bool BeastServer::WaitForClients(const std::stop_token& stop) {
  if (client_count_ > 0 || stop.stop_requested()) return !stop.stop_requested();
  if (options_.on_watched) options_.on_watched(false);
  {
    const std::stop_callback on_stop(stop, [this] {
      const MutexLock lock(clients_mutex_);
      client_came_.NotifyAll();
    });
    MutexLock lock(clients_mutex_);
    client_came_.Wait(lock, [&] { return client_count_ > 0 || stop.stop_requested(); });
  }
  if (options_.on_watched && !stop.stop_requested()) options_.on_watched(true);
  return !stop.stop_requested();
}

// ---- HTTP
// -------------------------------------------------------------------------------------------------------------

void BeastServer::Welcome(const std::shared_ptr<Guest>& guest) {
  net::post(*io_, [this, guest] {
    if (guests_ >= options_.max_connections) return;
    auto connection = MakeConnection(io_->get_executor(), std::move(guest->connection));
    if (connection == nullptr) return;
    ++guests_;
    const auto done = [this](const std::exception_ptr& failure) {
      --guests_;
      LogFailure(failure);
    };
    net::co_spawn(*io_, Serve(ConnectionStream(std::move(connection)), guest), done);
  });
}

Task<> BeastServer::Serve(ConnectionStream stream, std::shared_ptr<Guest> guest) {
  HttpMessage request = std::move(guest->request);
  for (;;) {
    stream->ExpiresAfter(options_.request_limit);
    if (websocket::is_upgrade(request)) {
      unsigned refused = site_->RefuseWebSocket(Fields(request));
      if (refused == 0 && clients_.size() >= options_.max_clients) refused = 503;
      if (refused == 0) {
        const uint32_t credits = *site_->FirstCredits(Fields(request));
        auto serving = ServeClient(std::move(stream), std::move(request), credits);
        co_await std::move(serving);
        co_return;
      }
      auto refusing = RefuseRequest(stream, request, refused);
      co_await std::move(refusing);
      break;
    }
    auto answering = AnswerRequest(stream, request, *site_);
    const bool may_go_on = co_await std::move(answering);
    if (!may_go_on) break;
    auto reading = ReadRequest(stream, guest->buffer, options_.request_limit);
    std::optional<HttpMessage> next = co_await std::move(reading);
    if (!next) break;
    request = *std::move(next);
  }
  stream->ShutdownSend();
}

// ---- WebSocket
// --------------------------------------------------------------------------------------------------------

void BeastServer::SetClientCount() {
  {
    const MutexLock lock(clients_mutex_);
    client_count_ = clients_.size();
  }
  client_came_.NotifyOne();
}

Task<> BeastServer::ServeClient(ConnectionStream stream, HttpMessage request, uint32_t credits) {
  stream->ExpiresNever();
  const auto socket = std::make_shared<Socket>(std::move(stream));
  socket->set_option(websocket::stream_base::timeout{
      .handshake_timeout = options_.request_limit, .idle_timeout = options_.idle_limit, .keep_alive_pings = true});
  socket->read_message_max(kMaxMessageBytes);
  socket->binary(true);
  auto [ec] = co_await socket->async_accept(request, kAwait);
  if (ec) co_return;

  const auto client = std::make_shared<Client>(context_, socket->get_executor());
  client->credits = credits;
  client->notices.push_back(Feed::Hello(context_));
  clients_.push_back(client);
  SetClientCount();
  net::co_spawn(*io_, Write(socket, client), net::detached);
  co_await Read(*socket, client);
  client->closing = true;
  client->Wake();
  std::erase(clients_, client);
  SetClientCount();
  // The writer may be in the middle of a message that nobody will take.
  socket->next_layer()->Close();
}

Task<> BeastServer::Read(Socket& socket, const std::shared_ptr<Client>& client) {
  beast::flat_buffer buffer;
  for (;;) {
    auto [ec, bytes] = co_await socket.async_read(buffer, kAwait);
    if (ec) co_return;
    const std::string_view bytes_read(static_cast<const char*>(buffer.cdata().data()), buffer.size());
    Status taken;
    if (socket.got_binary()) {
      auto task = TakePiece(bytes_read, *client);
      taken = co_await std::move(task);
    } else if (auto message = ParseClientMessage(bytes_read); message.ok()) {
      auto task = Take(*std::move(message), *client);
      taken = co_await std::move(task);
    } else {
      taken = message.error();
    }
    buffer.consume(buffer.size());
    if (!taken.ok()) {
      // A close reason holds 123 bytes at most.
      const websocket::close_reason reason(websocket::close_code::policy_error, taken.error().message.substr(0, 120));
      co_await socket.async_close(reason, kAwait);
      co_return;
    }
  }
}

// ---- what a client asks for
// -------------------------------------------------------------------------------------------------------------

/// A key of a client's message: who may send it, and what is done then.
struct BeastServer::Request {
  bool (*is_in)(const ClientMessage& message);
  /// Whether this client may ask for it. kInvalidArgument: nobody may, and the connection ends; other errors are said.
  Status (*may)(const ClientMessage& message, const Client& client);
  Task<> (*take)(BeastServer& server, ClientMessage& message, Client& client);
};

Status AllowedIf(bool is_allowed, const char* why_not) {
  if (is_allowed) return {};
  return Error{Errc::kUnavailable, why_not, ""};
}

constexpr const char* kNoLoading = "recordings cannot be loaded here";

Status Anybody(const ClientMessage&, const Client&) { return {}; }

Status MayAsk(const ClientMessage&, const Client& client) {
  return AllowedIf(client.context->documents != nullptr, "nothing is computed from the data here");
}

Status MayAskForDocument(const ClientMessage& message, const Client& client) {
  ATTUNE_CHECK_OK(MayAsk(message, client));
  return client.context->documents->Check(*message.document);
}

Status MayLoad(const ClientMessage&, const Client& client) { return AllowedIf(client.context->can_load, kNoLoading); }

Status MayLabel(const ClientMessage&, const Client& client) {
  return AllowedIf(client.context->can_label, "labels cannot be added to a recording");
}

Status MayControl(const ClientMessage&, const Client& client) {
  return AllowedIf(client.context->can_control, "a recording cannot be paused or sampled otherwise");
}

Status MayTune(const ClientMessage&, const Client& client) {
  return AllowedIf(client.context->can_tune, "nothing is tuned from here (attune tune --live --allow-tune)");
}

Status MayPair(const ClientMessage&, const Client& client) {
  return AllowedIf(client.compared != nullptr, "there is no recording to compare with");
}

template <auto part, auto take>
constexpr BeastServer::Request BeastServer::Row(Status (*may)(const ClientMessage&, const Client&)) {
  return {.is_in = [](const ClientMessage& message) { return (message.*part).has_value(); },
          .may = may,
          .take = [](BeastServer& server, ClientMessage& message,
                     Client& client) { return (server.*take)(*std::move(message.*part), client); }};
}

/// In the order in which the parts of one message are taken.
std::span<const BeastServer::Request> BeastServer::Requests() {
  static constexpr std::array kRequests{
      Row<&ClientMessage::credits, &BeastServer::TakeCredits>(Anybody),
      Row<&ClientMessage::revision, &BeastServer::TakeRevision>(Anybody),
      Row<&ClientMessage::view, &BeastServer::TakeView>(Anybody),
      Row<&ClientMessage::document, &BeastServer::TakeDocument>(MayAskForDocument),
      Row<&ClientMessage::source, &BeastServer::TakeSource>(MayAsk),
      Row<&ClientMessage::timeline, &BeastServer::TakeTimeline>(MayAsk),
      Row<&ClientMessage::load, &BeastServer::TakeLoad>(MayLoad),
      Row<&ClientMessage::label, &BeastServer::TakeLabel>(MayLabel),
      Row<&ClientMessage::control, &BeastServer::TakeControl>(MayControl),
      Row<&ClientMessage::compare, &BeastServer::TakeCompare>(Anybody),
      Row<&ClientMessage::pair, &BeastServer::TakePair>(MayPair),
      // It answers those who may not, too.
      Row<&ClientMessage::console, &BeastServer::TakeConsole>(Anybody),
      Row<&ClientMessage::tune, &BeastServer::TakeTune>(MayTune),
  };
  static_assert(kRequests.size() == kClientKeys, "a row for each key that the parser knows");
  return kRequests;
}

Task<Status> BeastServer::Take(ClientMessage message, Client& client) {
  for (const Request& request : Requests()) {
    if (!request.is_in(message)) continue;
    const Status may = request.may(message, client);
    if (may.ok()) {
      auto task = request.take(*this, message, client);
      co_await std::move(task);
    } else if (may.error().code == Errc::kInvalidArgument) {
      co_return may.error();
    } else {
      client.Notify("error", may.error().message);
    }
  }
  co_return Status();
}

Task<> BeastServer::TakeCredits(uint32_t credits, Client& client) {
  client.credits = std::min(client.credits + credits, kMaxCredits);
  client.Wake();
  co_return;
}

Task<> BeastServer::TakeRevision(uint64_t revision, Client& client) {
  client.revision = revision;
  client.Wake();
  co_return;
}

Task<> BeastServer::TakeView(ViewSpec view, Client& client) {
  client.view = std::move(view);
  client.Wake();
  co_return;
}

Task<> BeastServer::TakeLabel(LabelRequest label, Client& client) {
  const int64_t t_ns = label.t_ns ? context_.origin_ns + *label.t_ns : model::kAbsent;
  auto task = OnWorker([this, t_ns, &label] { return options_.on_label(t_ns, label.text); });
  const Status status = co_await std::move(task);
  client.Notify(status.ok() ? "ok" : "error", status.ok() ? "label added" : status.error().message);
}

Task<> BeastServer::TakeControl(ControlRequest control, Client& client) {
  auto task = OnWorker([this, &control] { return options_.on_control(control); });
  const Status status = co_await std::move(task);
  // Success needs no notice: the next update shows it.
  if (status.ok()) {
    client.news = true;
    client.Wake();
  } else {
    const Error& error = status.error();
    client.Notify("error", error.hint.empty() ? error.message : fmt::format("{} ({})", error.message, error.hint));
  }
}

Task<> BeastServer::TakeTune(TuneRequest tune, Client& client) {
  if (!site_->IsToken(tune.token)) {
    client.Notify("error", "this page has not shown the server's token (open the whole address that attune printed)");
    co_return;
  }
  auto task = OnWorker([this, &tune] { return options_.on_tune(tune); });
  const Status status = co_await std::move(task);
  if (status.ok()) {
    client.Notify("ok", tune.value.empty() ? fmt::format("{} is taken back", tune.knob)
                                           : fmt::format("{} = {} is tried next", tune.knob, tune.value));
  } else {
    const Error& error = status.error();
    client.Notify("error", error.hint.empty() ? error.message : fmt::format("{} ({})", error.message, error.hint));
  }
}

// ---- a client's own recording
// -----------------------------------------------------------------------------------------

Task<> BeastServer::TakeLoad(LoadRequest load, Client& client) {
  client.loading.reset();
  if (load.compare && !client.context->can_compare) {
    client.Notify("error", kNoLoading);
    co_return;
  }
  client.loading_to_compare = load.compare;
  auto file = LoadedFile::Create(std::move(load.name), load.bytes, loaded_bytes_, options_.max_loaded_bytes);
  if (file.ok()) {
    client.loading = *std::move(file);
  } else {
    client.Notify("error", fmt::format("{} ({})", file.error().message, file.error().hint));
  }
}

Task<Status> BeastServer::TakePiece(std::string_view piece, Client& client) {
  // Pieces that the client sends before it knows that its file was refused are ignored.
  if (client.loading == nullptr) co_return Status();
  auto task = OnWorker([&client, piece] { return client.loading->Append(piece); });
  const Status status = co_await std::move(task);
  if (!status.ok()) {
    client.loading.reset();
    if (status.error().code == Errc::kInvalidArgument) co_return status.error();
    client.Notify("error", status.error().message);
    co_return Status();
  }
  if (!client.loading->Complete()) co_return Status();
  auto loaded = Loaded(std::move(client.loading), client.loading_to_compare, client);
  co_await std::move(loaded);
  co_return Status();
}

/// A client's file is here: it is shown, or compared with what is shown.
Task<> BeastServer::Loaded(std::unique_ptr<LoadedFile> file, bool compare, Client& client) {
  std::unique_ptr<model::Source> source;
  auto opening = OnWorker([this, &file, &source]() -> Status {
    ATTUNE_TRY(source, OpenLoaded(*file));
    return {};
  });
  const Status open = co_await std::move(opening);
  if (!open.ok()) {
    client.Notify("error", open.error().message);
  } else if (compare) {
    client.compared = std::make_shared<Compared>(std::move(file), std::move(source));
    auto comparing = Compare({}, client);
    if (!co_await std::move(comparing)) client.EndComparison();
  } else {
    client.next_loaded = std::make_unique<LoadedRecording>(std::move(file), std::move(source), options_);
    client.Wake();
  }
}

Result<std::unique_ptr<model::Source>> BeastServer::OpenLoaded(const LoadedFile& file) {
  auto source = options_.open_recording(file.Path());
  if (source.ok()) return source;
  Error error = source.error();
  const size_t at = error.message.find(file.Path());
  if (at != std::string::npos) error.message.replace(at, file.Path().size(), file.name());
  return error;
}

// ---- comparisons
// ------------------------------------------------------------------------------------------------------

Task<> BeastServer::TakeCompare(CompareRequest compare, Client& client) {
  auto comparing = Compare(compare, client);
  co_await std::move(comparing);
}

Task<bool> BeastServer::Compare(CompareRequest compare, Client& client) {
  if (compare.end) {
    client.EndComparison();
    co_return true;
  }
  if (client.compared == nullptr && options_.compare && options_.compare_with != nullptr && client.loaded == nullptr)
    client.compared = std::make_shared<Compared>(*options_.compare_with, options_.compare_with_title);
  if (client.compared == nullptr && client.loaded != nullptr && client.loaded->other != nullptr)
    client.compared = std::make_shared<Compared>(*client.loaded->other, client.loaded->context.compare_with);
  if (client.compared == nullptr) {
    client.Notify("error", "there is no recording to compare with");
    co_return false;
  }
  // The writer may put another recording in the place of this one meanwhile.
  const auto keep = client.loaded;
  const auto compared = client.compared;
  model::Source& before = client.context->source;
  std::string message;
  auto task = OnWorker([this, &before, &message, compare, compared]() -> Status {
    ATTUNE_TRY(message, compared->ComparisonMessage(before, options_.compare, compare.discrete));
    return {};
  });
  const Status status = co_await std::move(task);
  if (client.compared != compared) co_return true;
  if (status.ok()) {
    client.Answer("comparison", std::move(message));
  } else {
    const Error& error = status.error();
    client.Notify("error", error.hint.empty() ? error.message : fmt::format("{} ({})", error.message, error.hint));
  }
  co_return status.ok();
}

Task<> BeastServer::TakePair(PairRequest pair, Client& client) {
  const auto keep = client.loaded;
  const auto compared = client.compared;
  model::Source& before = client.context->source;
  auto task = OnWorker([&before, &pair, compared] { return compared->PairMessage(before, pair); });
  std::string message = co_await std::move(task);
  if (client.compared == compared) client.Answer("pair", std::move(message));
}

// ---- the console
// ------------------------------------------------------------------------------------------------------

Task<> BeastServer::TakeConsole(ConsoleRequest request, Client& client) {
  const ConsoleVerb verb = request.verb;
  if (options_.console == nullptr) {
    client.AnswerConsole(verb, Error{Errc::kUnavailable, "no program can be run from here", "attune live --allow-run"});
    co_return;
  }
  if (verb == ConsoleVerb::kUnlock) {
    client.may_run = client.may_run || site_->IsToken(request.text);
    request.text.clear();  // the token is the server's own affair
  }
  if (!client.may_run) {
    client.AnswerConsole(verb, Error{Errc::kPermission, "this page has not shown the server's token",
                                     "open the whole address that attune printed"});
    co_return;
  }
  std::unique_ptr<LoadedRecording> shown;
  std::string answer = "{}";
  auto task = OnWorker([this, &request, &shown, &answer]() -> Status {
    if (request.verb == ConsoleVerb::kShow || request.verb == ConsoleVerb::kCompare) {
      ATTUNE_TRY(shown, OpenRun(request));
    } else {
      ATTUNE_TRY(answer, options_.console->Answer(request));
    }
    return {};
  });
  const Status status = co_await std::move(task);
  if (shown != nullptr) client.next_loaded = std::move(shown);
  client.AnswerConsole(verb, status.ok() ? Result<std::string>(std::move(answer)) : status.error());
}

Result<std::unique_ptr<LoadedRecording>> BeastServer::OpenRun(const ConsoleRequest& request) {
  Console::Opened other;
  ATTUNE_TRY(Console::Opened opened, options_.console->Open(request.run));
  if (request.verb == ConsoleVerb::kCompare) {
    ATTUNE_TRY(other, options_.console->Open(request.other));
  }
  return std::make_unique<LoadedRecording>(std::move(opened), std::move(other), options_);
}

// ---- what is computed from the data as a whole
// ------------------------------------------------------------------------

Task<> BeastServer::TakeDocument(DocumentRequest request, Client& client) {
  std::string kind = fmt::format("document {}", request.name);
  const int64_t origin_ns = client.context->origin_ns;
  Ask(client, std::move(kind), *document_thread_, [request = std::move(request), origin_ns](Documents& documents) {
    return documents.DocumentMessage(request, origin_ns);
  });
  co_return;
}

Task<> BeastServer::TakeSource(SourceRequest request, Client& client) {
  Ask(client, "source", *document_thread_,
      [request](Documents& documents) { return documents.SourceMessage(request); });
  co_return;
}

Task<> BeastServer::TakeTimeline(TimelineRequest request, Client& client) {
  const int64_t origin_ns = client.context->origin_ns;
  const char* const kind = request.of_ranks ? "ranks" : "timeline";
  Ask(client, kind, *timeline_thread_, [request = std::move(request), origin_ns](Documents& documents) {
    return request.of_ranks ? documents.RanksMessage(request, origin_ns)
                            : documents.TimelineMessage(request, origin_ns);
  });
  co_return;
}

void BeastServer::Ask(Client& client, std::string kind, net::thread_pool& threads,
                      std::function<std::string(Documents&)> question) {
  Questions& questions = client.questions[kind];
  questions.next = std::move(question);
  if (!std::exchange(questions.is_busy, true))
    net::co_spawn(*io_, AnswerQuestions(client.shared_from_this(), std::move(kind), threads), net::detached);
}

Task<> BeastServer::AnswerQuestions(std::shared_ptr<Client> client, std::string kind, net::thread_pool& threads) {
  Questions& questions = client->questions[kind];
  while (questions.next && !client->closing) {
    // The writer may put another recording in the place of this one meanwhile.
    const auto keep = client->loaded;
    const auto documents = client->context->documents;
    auto task = On(threads, [documents, question = std::exchange(questions.next, nullptr)] {
      return documents == nullptr ? std::string() : question(*documents);
    });
    std::string answer = co_await std::move(task);
    if (client->context->documents == documents && !answer.empty()) client->Answer(kind, std::move(answer));
  }
  questions.is_busy = false;
}

Task<> BeastServer::Write(std::shared_ptr<Socket> socket, std::shared_ptr<Client> client) {
  steady_clock::time_point next_update = steady_clock::now();
  while (!client->closing) {
    if (client->next_loaded) {
      client->Switch();
      continue;
    }
    if (const std::string answer = client->TakeAnswer(); !answer.empty()) {
      auto [ec, bytes] = co_await socket->async_write(net::buffer(answer), kAwait);
      if (ec) break;
      continue;
    }
    const bool due = client->credits > 0 && (client->view || client->revision || client->news);
    const bool early = !client->view && steady_clock::now() < next_update;
    if (!due || early) {
      const bool asks = !due && client->MustAsk();
      client->wake.expires_at(due    ? next_update
                              : asks ? steady_clock::now() + kNewsLimit
                                     : steady_clock::time_point::max());
      co_await client->wake.async_wait(kAwait);
      client->news = client->news || asks;
      continue;
    }
    // The interval is from begin to begin: the time of the sending must not make the next one late. After a longer one
    // two may follow at once: samples do not wait because something else was news a moment before.
    next_update =
        std::max(next_update, steady_clock::now() - options_.min_update_interval) + options_.min_update_interval;
    if (!co_await SendUpdate(*socket, *client)) break;
  }
  client->closing = true;
  socket->next_layer()->Close();
}

Task<bool> BeastServer::SendUpdate(Socket& socket, Client& client) {
  client.news = false;
  if (client.revision) client.feed->Resume(*std::exchange(client.revision, std::nullopt));
  if (client.view) client.feed->SetView(*std::exchange(client.view, std::nullopt));
  auto task = OnWorker([feed = client.feed.get()] { return feed->Next(); });
  const std::optional<std::string> message = co_await std::move(task);
  if (!message || client.closing) co_return !client.closing;
  --client.credits;
  largest_client_bytes_ = std::max(largest_client_bytes_.load(), message->size());
  auto [ec, bytes] = co_await socket.async_write(net::buffer(*message), kAwait);
  if (ec) co_return false;
  ++updates_;
  bytes_ += message->size();
  co_return true;
}

}  // namespace

Result<std::unique_ptr<Server>> Server::Start(model::Source& source, ServerOptions options) {
  try {
    auto server = std::make_unique<BeastServer>(source, std::move(options));
    ATTUNE_CHECK_OK(server->Open());
    return std::unique_ptr<Server>(std::move(server));
  } catch (const std::exception& exception) {
    return Error{Errc::kInternal, std::string("starting the live server: ") + exception.what(), ""};
  }
}

}  // namespace attune::live
