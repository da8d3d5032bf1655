#include "sensor/smart/smart.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>

#include "sensor/text/number_file.h"

namespace attune::sensor {
namespace {

using model::kAbsent;

/// Devices that have no health of their own, or stand for other disks that have.
constexpr std::array<std::string_view, 9> kNoDisks{"loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd", "drbd"};
constexpr size_t kMaxDisks = 256;

std::vector<std::string> Disks(const HostRoot& host) {
  std::vector<std::string> disks;
  for (const std::string& name : host.List("/sys/block").value_or({})) {
    const bool is_none = std::any_of(kNoDisks.begin(), kNoDisks.end(),
                                     [&](std::string_view prefix) { return name.starts_with(prefix); });
    if (is_none || ReadNumber(host, fmt::format("/sys/block/{}/size", name)) <= 0 || disks.size() == kMaxDisks)
      continue;
    disks.push_back(name);
  }
  return disks;
}

/// Why no disk says anything: the first reason, and how many share in it.
Error NoDisk(const std::vector<std::string>& names, const std::vector<Result<SmartReport>>& reports) {
  Error error = reports.front().error();
  if (error.code == Errc::kNotFound) {
    return {Errc::kUnavailable, "there is no smartctl in the PATH", "apt install smartmontools"};
  }
  error.message = fmt::format("/dev/{}: {}", names.front(), error.message);
  if (names.size() > 1) error.message += fmt::format(" (and {} more)", names.size() - 1);
  if (error.code != Errc::kPermission) error.code = Errc::kUnavailable;
  return error;
}

}  // namespace

SmartSensor::~SmartSensor() {
  if (!asking_.joinable()) return;
  eventfd_write(stop_.get(), 1);
  asking_.join();
}

std::vector<Result<SmartReport>> SmartSensor::AskAll(const std::vector<std::string>& names) {
  std::vector<CommandRunner::Command> commands;
  for (const std::string& name : names)
    commands.push_back({name, {options_.program, "--json", "-a", "-n", "standby", "/dev/" + name}, "smart " + name});
  std::vector<Result<SmartReport>> reports;
  for (const Result<std::string>& output : runner_.Run(commands, options_.limit, stop_.get()))
    reports.push_back(output.ok() ? ParseSmart(*output) : Result<SmartReport>(output.error()));
  return reports;
}

Result<std::vector<model::SignalSpec>> SmartSensor::Prepare(const HostRoot& host) {
  if (asking_.joinable()) return Error{Errc::kInternal, "smart: it is prepared already", ""};
  if (!host.IsThisMachine() && options_.program == SmartOptions().program)
    return Error{Errc::kUnavailable, "smartctl asks the disks of this machine, not those of a captured one", ""};
  const std::vector<std::string> names = Disks(host);
  if (names.empty()) return Error{Errc::kUnavailable, "/sys/block: there is no disk", ""};
  wanted_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  stop_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wanted_ || !stop_) return ErrnoError("eventfd");
  const std::vector<Result<SmartReport>> reports = AskAll(names);
  std::vector<model::SignalSpec> specs;
  const MutexLock lock(mutex_);
  for (size_t i = 0; i < names.size(); ++i) {
    // A disk that sleeps or hangs now may have any signal later: all are kept for it.
    const bool later = reports[i].ok() ? reports[i]->asleep : reports[i].error().code == Errc::kTimeout;
    if (!reports[i].ok() && !later) continue;
    Disk disk{names[i], {}};
    for (size_t place = 0; place < kSmartValues; ++place) {
      if (!later && reports[i]->values[place] == kAbsent) continue;
      disk.places.push_back(place);
      specs.push_back(Spec(kSmartSignals[place], {.name = names[i]}));
    }
    SmartValues values;
    values.fill(kAbsent);
    newest_.push_back(reports[i].ok() ? reports[i]->values : values);
    disks_.push_back(std::move(disk));
  }
  if (specs.empty()) return NoDisk(names, reports);
  asking_ = std::thread([this] { Run(); });
  return specs;
}

bool SmartSensor::Sample(std::span<int64_t> out) {
  eventfd_write(wanted_.get(), 1);
  const MutexLock lock(mutex_);
  int64_t* at = out.data();
  for (size_t i = 0; i < disks_.size(); ++i) {
    for (const size_t place : disks_[i].places) *at++ = newest_[i][place];
  }
  return true;
}

void SmartSensor::Run() {
  pthread_setname_np(pthread_self(), "attune-smart");
  std::vector<std::string> names;
  for (const Disk& disk : disks_) names.push_back(disk.name);
  while (true) {
    pollfd stopping{stop_.get(), POLLIN, 0};
    if (poll(&stopping, 1, static_cast<int>(options_.pause.count())) != 0) return;
    std::array<pollfd, 2> waiting{{{wanted_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
    poll(waiting.data(), waiting.size(), -1);
    if (waiting[1].revents != 0) return;
    eventfd_t count = 0;
    if (eventfd_read(wanted_.get(), &count) != 0) continue;
    const std::vector<Result<SmartReport>> reports = AskAll(names);
    const MutexLock lock(mutex_);
    for (size_t i = 0; i < reports.size(); ++i) {
      if (reports[i].ok()) {
        newest_[i] = reports[i]->values;
      } else {
        newest_[i].fill(kAbsent);
      }
    }
  }
}

}  // namespace attune::sensor
