#pragma once
/// Keys of the info table that attune itself writes and reads. Values are text; any of them may be missing from a
/// recording. Other keys may be there: readers show them as they are.

#include <string_view>

namespace attune::model::info {

inline constexpr std::string_view kFormat = "format";    ///< the first row of a file: version of the format
inline constexpr std::string_view kAttune = "attune";    ///< version of attune that wrote it: "0.1.0"
inline constexpr std::string_view kMode = "mode";        ///< "run", "record", "stat" or "live"
inline constexpr std::string_view kProgram = "program";  ///< command line of the observed program
/// attune's own: what was given on its own command line, in a console file and as the user's defaults, without the
/// arguments of sinks: "attune run --level blame -- ./solver"
inline constexpr std::string_view kCommandLine = "command_line";
inline constexpr std::string_view kFolder = "folder";             ///< folder that it was started in
inline constexpr std::string_view kUser = "user";                 ///< effective user id that it ran as
inline constexpr std::string_view kLevel = "level";               ///< "off", "profile", "blame", "trace" or "stamped"
inline constexpr std::string_view kHost = "host";                 ///< the host's name
inline constexpr std::string_view kKernel = "kernel";             ///< "Linux 6.1.0-18-amd64 x86_64"
inline constexpr std::string_view kCpuModel = "cpu_model";        ///< as in /proc/cpuinfo
inline constexpr std::string_view kCpusOnline = "cpus_online";    ///< list format: "0-3,8"
inline constexpr std::string_view kCpusAllowed = "cpus_allowed";  ///< to the program; list format
/// CPUs of each kind of cores, the most capable first; list format: "0-3 4-7". Only where there are several.
inline constexpr std::string_view kCoreTypes = "core_types";
inline constexpr std::string_view kMemoryBytes = "memory_bytes";  ///< memory of the host
inline constexpr std::string_view kTopology = "topology";         ///< the machine as one JSON document: docs/machine.md
inline constexpr std::string_view kTracking =
    "tracking";  ///< how processes were followed: "eBPF", "polling every 10 ms"
inline constexpr std::string_view kTimeAccount =
    "time_account";                                        ///< how state_times are known: "ebpf", or "none" and why
inline constexpr std::string_view kSampling = "sampling";  ///< how the sampler ran: "SCHED_FIFO 1, memory locked"
inline constexpr std::string_view kAlarms = "alarms";  ///< the thresholds that alarms were judged by (docs/alarms.md)
inline constexpr std::string_view kUnseenPrefix = "unseen.";  ///< + a number: what of the programs cannot be seen
/// + a sensor's name, or one of its signals as in "hardware.l2_hits": why it is not in the recording
inline constexpr std::string_view kSkippedPrefix = "skipped.";
/// + a signal, as in "hardware.l2_hits": the event that it counts here, RTM's name, and how the event differs from it:
/// "L1-dcache-loads (RTM: HIT); loads that miss count too"
inline constexpr std::string_view kCounterPrefix = "counter.";

// Keys of each sink (--sink NAME): sink.NAME. + one of these; values are those of samples.
inline constexpr std::string_view kSinkPrefix = "sink.";
inline constexpr std::string_view kSinkWritten = "written";    ///< values that are where they shall be
inline constexpr std::string_view kSinkDropped = "dropped";    ///< values that were not delivered
inline constexpr std::string_view kSinkRestarts = "restarts";  ///< restarts of its process, after it crashed or hung
inline constexpr std::string_view kSinkProblem = "problem";    ///< problem at the end; "": none

// Influence of observing (docs/waits.md): the programs' calls of futex, or why they are not known.
inline constexpr std::string_view kFutexCalls = "futex_calls";
inline constexpr std::string_view kFutexCallsUnknown = "futex_calls_unknown";
inline constexpr std::string_view kMutexFutexCalls = "mutex_futex_calls";  ///< those for mutexes without attributes
// Keys of `attune tune`: tuning. + one of these.
inline constexpr std::string_view kTuningPrefix = "tuning.";
inline constexpr std::string_view kTuningObjective = "objective";  ///< rate to be raised; "": none was found
inline constexpr std::string_view kTuningUnit = "unit";            ///< unit of its rates
inline constexpr std::string_view kTuningNoise = "noise";          ///< usual change from one window to the next, a part
inline constexpr std::string_view kTuningRateBefore = "rate_before";  ///< before the first change
inline constexpr std::string_view kTuningRateAfter = "rate_after";    ///< at the end
inline constexpr std::string_view kTuningTrialNs = "trial_ns";        ///< time in trials
// With --check-influence, how those or these compare with passing through: influence. + one of these.
inline constexpr std::string_view kInfluencePrefix = "influence.";
inline constexpr std::string_view kInfluenceNotCompared = "not_compared";  ///< why; then none of the others is there
inline constexpr std::string_view kInfluencePassed = "passed";             ///< kind passed through, one of these
inline constexpr std::string_view kInfluencePassedAll = "calls";
inline constexpr std::string_view kInfluencePassedMutexes = "mutexes";  ///< that were free; they are counted
inline constexpr std::string_view kInfluenceTurns = "turns";  ///< that were compared; of 0 only passed_ns is there
inline constexpr std::string_view kInfluencePassedNs = "passed_ns";  ///< in which that was passed through
inline constexpr std::string_view kInfluenceRatio = "ratio";         ///< calls a second, recorded by passed through
inline constexpr std::string_view kInfluenceLow95 = "low95";         ///< the 95 % interval of it
inline constexpr std::string_view kInfluenceHigh95 = "high95";
inline constexpr std::string_view kInfluenceSameToSame = "same_to_same";  ///< recorded by recorded, in the same way

// Totals of the programs and all their descendants that were waited for, as wait4 gave them to the launchers; exact,
// also where the processes themselves were missed. max_rss_bytes is of the largest process.
inline constexpr std::string_view kTotalUserNs = "total_user_ns";
inline constexpr std::string_view kTotalSystemNs = "total_system_ns";
inline constexpr std::string_view kTotalMinorFaults = "total_minor_faults";
inline constexpr std::string_view kTotalMajorFaults = "total_major_faults";
inline constexpr std::string_view kTotalVoluntarySwitches = "total_voluntary_switches";
inline constexpr std::string_view kTotalInvoluntarySwitches = "total_involuntary_switches";
inline constexpr std::string_view kTotalMaxRssBytes = "total_max_rss_bytes";

// Only where there is something to say:
inline constexpr std::string_view kTrackingError = "tracking_error";           ///< why following processes failed
inline constexpr std::string_view kLostProcessEvents = "lost_process_events";  ///< starts and ends that were missed
inline constexpr std::string_view kTimeAccountLeftOut =
    "time_account_left_out";  ///< threads and sleeps for which there was no room
inline constexpr std::string_view kTimeAccountStopped =
    "time_account_stopped";  ///< when it was ended before the program (t_ns): to see all switches cost too much
inline constexpr std::string_view kRefusedEvents =
    "refused_events";  ///< events of threads that found no ring (see docs/markers.md)
inline constexpr std::string_view kLostAcquisitions =
    "lost_acquisitions";  ///< lock acquisitions by threads that used more locks at more places than are told apart
// Only at levels trace and stamped:
inline constexpr std::string_view kTraced = "traced";  ///< acquisitions, releases and signals that are in the recording
inline constexpr std::string_view kTraceOverwritten =
    "trace_overwritten";  ///< that were gone before they were read: what a flight recorder keeps is bounded
inline constexpr std::string_view kTraceLost = "trace_lost";        ///< events of threads without memory for a trace
inline constexpr std::string_view kDamagedRings = "damaged_rings";  ///< rings that a program overwrote
/// CPU time of a thread between two CPU samples, nanoseconds; absent: none were taken.
inline constexpr std::string_view kCpuSampleNs = "cpu_sample_ns";

}  // namespace attune::model::info
