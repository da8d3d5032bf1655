#pragma once
/// Analyses of the data as a whole for the page, computed by src/analysis: the same for a session and for a recording.

#include <memory>
#include <string>

#include "live/analyses.h"
#include "model/source.h"

namespace attune::session {

/// Origin of a source. It decides which other files that the source names may be read.
enum class SourceIs {
  kThisSession,  ///< running here and now: programs, and their sources
  kRecording,    ///< file of attune's user: programs that by their build-id are those that ran, and their sources
  kForeign,      ///< a client's file: programs as above for their names, no sources
};

/// @param source must outlive the result @param title of a page that is saved as a file
std::unique_ptr<live::Analyses> MakePageAnalyses(model::Source& source, SourceIs what, std::string title = "");

}  // namespace attune::session
