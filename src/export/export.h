#pragma once
/// A whole recording in formats that other programs read. docs/export.md says what is where in each.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "export/export_format.h"
#include "export/export_output.h"
#include "model/source.h"

namespace attune::exports {

/// Called now and then with what part of the recording is done, 0 to 1.
using ExportProgress = std::function<void(double done)>;

/// Sees the two sides of a message. Returns false to stop.
using PairVisitor = std::function<bool(const model::Message& sent, const model::Message& received)>;
/// Pairs sends with their receives, for the formats that show it. The caller of Export() chooses the method
/// (analysis/messages/message_match.h); without it there are no arrows.
using PairReader = std::function<Status(model::Source& source, const PairVisitor& visit)>;

/// Writes what the source has at this moment; of a session that goes on, nothing later. Errors: what reading and
/// `write` say; a sensor that is not in the recording (kNotFound); several sensors where the format holds one
/// (kInvalidArgument). @param progress may be empty @param sensor only the samples of this one; empty: of all @param
/// pairs may be empty
/// @cost memory for a block of rows, however long the recording is; where the format shows states of threads, that of
/// analysis::PlaceAccount
Status Export(model::Source& source, const ExportFormat& format, const ExportWriter& write,
              const ExportProgress& progress = {}, const std::string& sensor = {}, const PairReader& pairs = {});

}  // namespace attune::exports
