#pragma once
/// The closed list of what the root helper does for attune under sudo (docs/privilege.md).

#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace attune::session {

/// Answers one request, in the helper:
///   "cpu_dma_latency"             the open file by which the CPUs are kept awake
///   "smart DISK"                  a pipe with what smartctl says of the disk
///   "registers FILE\nDEVICE"      the device, read-only; "registers+write …" too where the description freezes
///                                 blocks. FILE: a description that only root can change, which names the device
/// Everything else is refused (kInvalidArgument, kPermission).
Result<UniqueFd> AnswerAsRoot(std::string_view request);

}  // namespace attune::session
