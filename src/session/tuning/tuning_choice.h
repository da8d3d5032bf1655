#pragma once
#include <string>
#include <vector>

namespace attune::session {

/// A knob and the value that it is to have.
struct KnobChoice {
  std::string knob;
  std::string value;
  std::string finding = {};  ///< class of what it mends; empty: not known
};

/// Options of tuning.
struct TuningChoice {
  bool on = false;                     ///< tunlets propose
  std::vector<KnobChoice> settings;    ///< set from the start, without a trial
  std::vector<KnobChoice> remembered;  ///< kept of this program before: tried before anything else
  bool placebo = false;                ///< decides, and writes nothing: what the guard says then is noise
  bool dry_run = false;                ///< only says what it would try
  bool allow_machine = false;          ///< knobs beyond the program's own processes, too
  bool from_page = false;              ///< whoever has the page's token may try knobs and take them back
  std::string objective;               ///< part of a candidate's name; empty: the best one
  std::vector<std::string> only;       ///< tunlets or knobs; empty: all
  std::vector<std::string> never;      ///< tunlets or knobs
};

}  // namespace attune::session
