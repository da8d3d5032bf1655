#pragma once
/// What the page shows of the data as a whole, computed by src/analysis: the same for a session and for a recording.

#include <memory>

#include "live/analyses.h"
#include "model/source.h"

namespace attune::session {

/// Where a source comes from: which other files may be read that it names.
enum class SourceIs {
  kThisSession,  ///< what runs here and now: programs, and their sources
  kRecording,    ///< of whoever started attune: programs that by their build-id are those that ran, and their sources
  kForeign,      ///< a client's file: programs as above for their names, no sources
};

/// @param source must outlive the result
std::unique_ptr<live::Analyses> MakePageAnalyses(model::Source& source, SourceIs what);

}  // namespace attune::session
