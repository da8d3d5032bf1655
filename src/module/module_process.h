#pragma once
/// The process that runs a monitoring module (module_channel.h), from the outside.

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "base/plugin_files.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "module/module_channel.h"

namespace attune::modules {

/// The folders in which NAME.so is the module NAME (base/plugin_files.h).
std::vector<std::string> ModuleFolders();
/// "NAME[=ARGUMENT]", or "FILE.so[=ARGUMENT]". @param what names the option in errors
Result<PluginChoice> FindModule(std::string_view text, std::string_view what,
                                const std::vector<std::string>& folders = ModuleFolders());

/// All that an option chose, each once.
Result<std::vector<PluginChoice>> FindModules(const std::vector<std::string>& texts, std::string_view what);

struct ModuleOptions {
  PluginChoice choice;
  ModuleOpen open;                         ///< its argument is the choice's
  std::string program = "/proc/self/exe";  ///< that has the command plugin-host
  std::string folder;                      ///< where it works; empty: where we do
  int64_t open_ns = 5'000'000'000;         ///< time for its open()
  int64_t answer_ns = 1'000'000'000;       ///< one that answers nothing for so long is ended
};

/// The process ends at the latest with its owner, or with the thread that started it. @thread one at a time
class ModuleProcess {
 public:
  using Visit = std::function<void(const ValueRow&)>;

  /// Starts it, lets it open, and enables it. Errors: why it cannot be used. @cost some ms; at most open_ns
  static Result<ModuleProcess> Start(const ModuleOptions& options);
  ModuleProcess(ModuleProcess&&) noexcept = default;
  ModuleProcess& operator=(ModuleProcess&&) = delete;
  /// Ends it: within answer_ns, or by force.
  ~ModuleProcess();

  const ModuleHello& hello() const { return hello_; }
  /// Readable when it has something to say.
  int socket() const { return socket_.get(); }

  /// To be told at the next Exchange(). Beyond a limit the oldest are lost.
  void Notify(const Notice& notice);
  void Tick(int64_t t_ns);
  /// Hands over what it takes, and takes what is there. Never waits.
  /// Error: it has ended, or did not answer in time; then it is of no more use
  Status Exchange(const Visit& visit);
  /// Waits for its answer. Errors: what it says; as Exchange()
  Result<std::string> Ask(Word word, std::string_view text, const Visit& visit);
  /// Waits until all was answered. Error: as Exchange()
  Status Drain(const Visit& visit);

  /// Notices that were lost since it was too slow.
  uint64_t lost() const { return lost_; }
  /// Values that can be none: of virtual counters that it does not have, or no numbers.
  uint64_t wrong() const { return wrong_; }

 private:
  explicit ModuleProcess(const ModuleOptions& options) : answer_ns_(options.answer_ns) {}
  Status Greet(const ModuleOptions& options);
  Status SendSome();
  /// @param deadline_ns until which it waits for a message. @return nullopt: there is none
  Result<std::optional<Message>> Next(int64_t deadline_ns);
  Status Take(const Message& message, const Visit& visit);
  /// Error with the reason of its end; ends it where it still runs.
  Error Gone(const std::string& why);

  int64_t answer_ns_;
  ChildProcess child_;
  UniqueFd socket_;
  bool is_running_ = false;
  ModuleHello hello_;
  std::deque<Notice> notices_;
  int64_t tick_ns_ = 0;            ///< 0: none is due
  std::deque<int64_t> asked_ns_;   ///< when each message was sent that is not answered
  std::optional<Message> answer_;  ///< of Ask()
  uint64_t lost_ = 0, wrong_ = 0;
};

/// Self-description of a module. Errors: why it cannot be used here. @cost a process, some ms
Result<ModuleHello> Describe(const PluginFile& file, const std::string& program = "/proc/self/exe");

}  // namespace attune::modules
