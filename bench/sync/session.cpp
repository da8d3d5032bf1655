#include "sync/session.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "session/core/pipeline.h"
#include "session/core/process_table.h"
#include "session/core/registry.h"
#include "session/probes/collector.h"
#include "store/log_writer.h"

namespace attune::bench {

Session::Session(model::Level level)
    : level_(level), rings_("/dev/shm"), recordings_(std::filesystem::temp_directory_path().string()) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  process_.emplace(std::vector<std::string>{self, "--session", rings_.Path(), recordings_.Path() + "/x.attune",
                                            std::string(ToString(level))},
                   std::vector<std::string>{});
  if (process_->Answer() != "ready") Fail("the session did not start");
}

Session::~Session() { Continue(); }

std::vector<std::string> Session::Environment() const {
  return {"LD_PRELOAD=" ATTUNE_PROBE_LIBRARY, ATTUNE_RING_FOLDER_VARIABLE "=" + rings_.Path(),
          ATTUNE_LEVEL_VARIABLE "=" + std::string(ToString(level_))};
}

track::RingReader Session::OpenRing(pid_t program) const {
  const UniqueFd folder(::open(rings_.Path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto names = track::ListRings(folder.get());
  if (!names.ok()) Fail(names.error().message);
  for (const std::string& name : *names) {
    if (!name.starts_with(std::to_string(program) + '.')) continue;
    auto reader = track::RingReader::Open(folder.get(), name);
    if (!reader.ok()) Fail(reader.error().message);
    return *std::move(reader);
  }
  Fail("the program did not attach");
}

void Session::Halt() const { ::kill(process_->Pid(), SIGSTOP); }
void Session::Continue() const { ::kill(process_->Pid(), SIGCONT); }

int Session::Main(const std::string& rings, const std::string& recording, const std::string& level) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // stopped, it would not see that its stdin ends
  const auto parsed = model::ParseLevel(level);
  if (!parsed.ok()) Fail(parsed.error().message);
  auto writer = store::LogWriter::Create({.path = recording});
  if (!writer.ok()) Fail(writer.error().message);
  session::Pipeline pipeline({writer->get()});
  session::Registry registry(pipeline, "bench");
  session::ProcessTable processes(registry, pipeline);
  session::Collector collector(rings, processes, registry, pipeline);
  const Status started = collector.Start(*parsed, {});
  if (!started.ok()) Fail(started.error().message);
  std::puts("ready");
  std::fflush(stdout);
  while (std::cin.get() != EOF) {
  }
  collector.Stop();
  pipeline.Drain();
  const Status closed = (*writer)->Close();
  if (!closed.ok()) Fail(closed.error().message);
  return 0;
}

}  // namespace attune::bench
