#pragma once
/// Tunlets: who decides what to try, from what is known of a program (docs/tunlets.md). Pure: the same observation
/// gives the same proposals; whether one is kept is the guard's to say (session/tuning/experiment.h). A tunlet is a
/// file of families/.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/schema.h"

namespace attune::tunlet {

/// A knob that the program has declared itself.
struct DeclaredKnob {
  std::string name;
  int64_t low = 0;
  int64_t high = 0;
  int64_t value = 0;  ///< now
};

/// A knob that the programs have.
struct SeenKnob {
  std::vector<std::string> values;   ///< each that it has in some thread, socket or process
  std::vector<std::string> answers;  ///< classes of findings (model::Knob)
};

/// Present knowledge of the programs.
struct Observation {
  size_t cpus = 0;                       ///< that the programs may use
  std::string cpu_list;                  ///< these, in the kernel's list format
  double cpus_used = 0;                  ///< CPU time of the programs a second of late, in CPUs
  size_t processes = 0;                  ///< that run
  int64_t wall_ns = 0;                   ///< since the first of them began
  std::vector<model::Finding> findings;  ///< the open ones, the largest gain first
  std::map<std::string, SeenKnob>
      knobs;  ///< by name; those that the programs have, and that answer one of the findings
  std::vector<DeclaredKnob> declared;
  uint32_t widest_team = 0;        ///< most threads that a parallel region has asked for; 0: there was none
  bool has_runtime_loops = false;  ///< of OpenMP: schedule(runtime)
  bool has_dynamic_loops = false;  ///< schedule(dynamic) or schedule(guided)

  /// The finding with the largest gain that the knob answers; nullptr: there is none, or no such knob.
  const model::Finding* FindingFor(std::string_view knob) const;
  /// @pre FindingFor()
  const std::vector<std::string>& ValuesOf(std::string_view knob) const { return knobs.at(std::string(knob)).values; }
  /// Largest gain of the programs without the finding, as a part of their speed: 0.5 is half as fast again.
  double GainOf(const model::Finding& finding) const;
};

struct Proposal {
  std::string knob;
  std::string value;
  std::string reason;        ///< a sentence
  std::string finding;       ///< its id
  double expected_gain = 0;  ///< gain of the objective: 0.5 is half as much again
};

class Tunlet {
 public:
  virtual ~Tunlet() = default;
  virtual std::string_view Name() const = 0;
  /// Subject of the tunlet: a line, lower case, no full stop.
  virtual std::string_view About() const = 0;
  /// The best one first. What was tried already may be proposed again; it is not tried again.
  virtual std::vector<Proposal> Propose(const Observation& observation) const = 0;
};

/// Factories of all tunlets.
std::vector<std::unique_ptr<Tunlet> (*)()> AllTunlets();

/// The value as a number; `otherwise` where it is none.
int64_t NumberOf(std::string_view value, int64_t otherwise);

}  // namespace attune::tunlet
