#pragma once
/// A whole recording in formats that other programs read. docs/export.md says what is where in each.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/source.h"

namespace attune::store {

enum class ExportFormat {
  kJson,       ///< one object with all tables
  kCsv,        ///< the samples, a value a row (RFC 4180)
  kPerfetto,   ///< a trace for ui.perfetto.dev: regions, instants, messages, labels, and the samples as counters
  kNumascope,  ///< what NUMAscope records: rows of rates of one sensor, and labels
};

/// Takes the next bytes of the result. An Error ends the export.
using ExportWriter = std::function<Status(std::string_view bytes)>;
/// Called now and then with what part of the recording is done, 0 to 1.
using ExportProgress = std::function<void(double done)>;

/// Writes what the source has at this moment; of a session that goes on, nothing later. Errors: what reading and
/// `write` say; a sensor that is not in the recording (kNotFound); several sensors where the format holds one
/// (kInvalidArgument). @param progress may be empty @param sensor only the samples of this one; empty: of all
/// @cost memory for a block of rows, however long the recording is
Status Export(model::Source& source, ExportFormat format, const ExportWriter& write,
              const ExportProgress& progress = {}, const std::string& sensor = {});

}  // namespace attune::store
