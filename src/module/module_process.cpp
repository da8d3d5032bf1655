#include "module/module_process.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cmath>
#include <filesystem>

#include "base/clock.h"
#include "base/text.h"

namespace attune::modules {
namespace {

/// Notices that wait for a slow module.
constexpr size_t kMostWaiting = 65'536;
/// Messages that are not answered yet; the socket has room for them.
constexpr size_t kMostAsked = 4;
/// Messages that are taken at once: one that never stops to talk holds up nobody.
constexpr int kMostTaken = 64;
constexpr double kMostValue = 9e12;

}  // namespace

std::vector<std::string> ModuleFolders() { return PluginFolders("modules", "lib"); }

Result<PluginChoice> FindModule(std::string_view text, std::string_view what, const std::vector<std::string>& folders) {
  return FindPlugin(text, what, "module", folders);
}

Result<std::vector<PluginChoice>> FindModules(const std::vector<std::string>& texts, std::string_view what) {
  return ChoosePlugins(texts, what, [](std::string_view text, std::string_view of) { return FindModule(text, of); });
}

Result<ModuleProcess> ModuleProcess::Start(const ModuleOptions& options) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return ErrnoError("socketpair");
  ModuleProcess process(options);
  process.socket_.reset(ends[0]);
  UniqueFd theirs = MovedUp(UniqueFd(ends[1]));
  if (!theirs) return ErrnoError("the socket of the module");
  const std::string& file = options.choice.file;
  ATTUNE_TRY(process.child_, ChildProcess::Spawn({.program = options.program,
                                                  .arguments = {"attune", "plugin-host", "--module", file},
                                                  .descriptors = {{theirs.get(), kModuleFd}},
                                                  .folder = options.folder}));
  process.is_running_ = true;
  theirs.reset();  // its end is seen
  const Status greeted = process.Greet(options);
  if (!greeted.ok()) return greeted.error().WithContext("module " + options.choice.name);
  return process;
}

ModuleProcess::~ModuleProcess() {
  if (!is_running_ || !socket_) return;  // ended, or moved from
  static_cast<void>(Send(socket_.get(), Word::kEnd, "", false));
  socket_.reset();
  if (!WaitReadable(child_.pidfd(), MonotonicNs() + answer_ns_)) child_.Kill();
  static_cast<void>(child_.Wait());
}

Status ModuleProcess::Greet(const ModuleOptions& options) {
  ModuleOpen open = options.open;
  open.argument = options.choice.argument;
  ATTUNE_TRY(const bool sent, Send(socket_.get(), Word::kOpen, Encode(open), false));
  const int64_t deadline_ns = MonotonicNs() + options.open_ns;
  ATTUNE_TRY(const std::optional<Message> first, Next(deadline_ns));
  if (!sent || !first) return Gone("did not answer in its open()");
  if (first->word != Word::kHello) return Gone("does not say what it is");
  ATTUNE_TRY(hello_, DecodeHello(first->Text()));
  if (!hello_.failure.empty()) return Error{Errc::kUnavailable, hello_.failure, ""};
  const std::string stem = std::filesystem::path(options.choice.file).stem().string();
  if (hello_.name != stem)
    return Error{Errc::kInvalidArgument,
                 fmt::format("{} is the module '{}': its file is called like it", options.choice.file, hello_.name),
                 fmt::format("call the file {}.so", hello_.name)};
  const auto enabled = Ask(Word::kEnable, "", [](const ValueRow&) {});
  if (!enabled.ok()) return enabled.error();
  return {};
}

Error ModuleProcess::Gone(const std::string& why) {
  std::string how = why;
  if (is_running_) {
    // One that has crashed has closed its socket a moment before it can be waited for.
    if (!WaitReadable(child_.pidfd(), MonotonicNs() + (why.empty() ? 200'000'000 : 0))) child_.Kill();
    const std::string ended = child_.Wait();
    if (how.empty()) how = ended;
    is_running_ = false;
  }
  socket_.reset();
  return Error{Errc::kUnavailable, "it " + how, ""};
}

void ModuleProcess::Notify(const Notice& notice) {
  if (notices_.size() >= kMostWaiting) {
    notices_.pop_front();
    ++lost_;
  }
  notices_.push_back(notice);
}

void ModuleProcess::Tick(int64_t t_ns) { tick_ns_ = t_ns; }

Status ModuleProcess::SendSome() {
  std::vector<Notice> rows;
  while (!notices_.empty() && asked_ns_.size() < kMostAsked) {
    const auto end = notices_.begin() + static_cast<ptrdiff_t>(std::min(notices_.size(), kMostRows<Notice>));
    rows.assign(notices_.begin(), end);
    ATTUNE_TRY(const bool sent, Send(socket_.get(), Word::kNotices, BytesOf(std::span<const Notice>(rows)), false));
    if (!sent) return {};
    notices_.erase(notices_.begin(), end);
    asked_ns_.push_back(MonotonicNs());
  }
  if (tick_ns_ == 0 || !notices_.empty() || asked_ns_.size() >= kMostAsked) return {};
  const std::array<int64_t, 1> tick{tick_ns_};
  ATTUNE_TRY(const bool sent, Send(socket_.get(), Word::kTick, BytesOf(std::span<const int64_t>(tick)), false));
  if (!sent) return {};
  tick_ns_ = 0;
  asked_ns_.push_back(MonotonicNs());
  return {};
}

Result<std::optional<Message>> ModuleProcess::Next(int64_t deadline_ns) {
  if (!socket_) return Error{Errc::kUnavailable, "it has ended", ""};
  if (deadline_ns > 0 && !WaitReadable(socket_.get(), deadline_ns)) return std::optional<Message>();
  auto received = Receive(socket_.get(), false);
  if (!received.ok()) return Gone("");
  return received;
}

Status ModuleProcess::Take(const Message& message, const Visit& visit) {
  switch (message.word) {
    case Word::kValues:
      for (const ValueRow& row : message.Rows<ValueRow>()) {
        const bool is_known = row.virtual_counter < hello_.virtuals.size();
        if (is_known && std::isfinite(row.value) && std::abs(row.value) <= kMostValue &&
            hello_.virtuals[row.virtual_counter].is_of_machine == (row.tid == 0)) {
          visit(row);
        } else {
          ++wrong_;
        }
      }
      return {};
    case Word::kDone:
    case Word::kAnswer:
    case Word::kRefused:
      if (asked_ns_.empty()) return Gone("says what nobody asked for");
      asked_ns_.pop_front();
      answer_ = message;
      return {};
    default: return Gone("says what nobody asked for");
  }
}

Status ModuleProcess::Exchange(const Visit& visit) {
  if (!socket_) return Error{Errc::kUnavailable, "it has ended", ""};
  for (int taken = 0; taken < kMostTaken; ++taken) {
    if (const Status sent = SendSome(); !sent.ok()) return Gone("");
    ATTUNE_TRY(const std::optional<Message> message, Next(0));
    if (!message) break;
    ATTUNE_CHECK_OK(Take(*message, visit));
  }
  if (!asked_ns_.empty() && MonotonicNs() - asked_ns_.front() > answer_ns_)
    return Gone(fmt::format("did not answer for {} ms", answer_ns_ / 1'000'000));
  return {};
}

Status ModuleProcess::Drain(const Visit& visit) {
  while (true) {
    ATTUNE_CHECK_OK(Exchange(visit));
    if (notices_.empty() && tick_ns_ == 0 && asked_ns_.empty()) return {};
    WaitReadable(socket_.get(), MonotonicNs() + answer_ns_);
  }
}

Result<std::string> ModuleProcess::Ask(Word word, std::string_view text, const Visit& visit) {
  ATTUNE_CHECK_OK(Drain(visit));
  ATTUNE_TRY(const bool sent, Send(socket_.get(), word, text, false));
  if (!sent) return Gone("takes no message");
  asked_ns_.push_back(MonotonicNs());
  ATTUNE_CHECK_OK(Drain(visit));
  if (answer_->word != Word::kRefused) return std::string(answer_->Text());
  return Error{Errc::kInvalidArgument, CleanText(answer_->Text()), ""};
}

Result<ModuleHello> Describe(const PluginFile& file, const std::string& program) {
  ModuleOptions options{.choice = {file.name, file.file, ""}, .open = {}, .program = program};
  options.open.core_capacity = {1024};
  ATTUNE_TRY(const ModuleProcess process, ModuleProcess::Start(options));
  return process.hello();
}

}  // namespace attune::modules
