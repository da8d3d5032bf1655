#pragma once
/// Knobs that programs declare (attune/knob.h). The session of a program knows them; others ask it.

#include <sys/types.h>

#include <string>
#include <vector>

#include "model/knob.h"
#include "session/tuning/ring_channel.h"
#include "track/ring_reader.h"

namespace attune::session {

/// As knobs of the catalog are. @param declared of several processes: each name once
std::vector<model::Knob> ToKnobs(const std::vector<track::RingKnob>& declared);

/// The answer of the verb `knobs`.
std::string ToJson(const std::vector<track::RingKnob>& declared);
/// Those of a process in such an answer; what makes no sense in it is left out. @param pid 0: of all processes
std::vector<track::RingKnob> DeclaredFromJson(std::string_view answer, pid_t pid);

/// Knobs that this process has declared, from its session. Empty: none, or no session has it.
/// @cost a question to each session of this user
std::vector<track::RingKnob> DeclaredBy(pid_t pid);

/// Adds the way to the probe of a process that another session has, with the knobs that it has declared.
/// Errors: kNotFound: it has no probe; kPermission: its memory may not be written
Status OpenProbe(pid_t pid, RingChannel& rings);

}  // namespace attune::session
