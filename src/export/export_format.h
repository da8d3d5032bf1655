#pragma once
/// The formats of rows that Export() writes.

#include <memory>
#include <span>

#include "export/export_output.h"
#include "model/source.h"

namespace attune::exports {

class ExportEncoder;

/// A format of rows: its encoder. Each is defined beside that, as src/cli/commands/export.cpp offers it.
struct ExportFormat {
  /// `metadata` and `output` outlive the encoder. @param streams all that will come
  std::unique_ptr<ExportEncoder> (*make)(const model::Metadata& metadata, std::span<const model::Stream* const> streams,
                                         ExportOutput& output);
  bool holds_one_sensor = false;

  static const ExportFormat kJson;  ///< one object with all tables
  static const ExportFormat kCsv;   ///< the samples, a value a row (RFC 4180)
  static const ExportFormat
      kPerfetto;  ///< a trace for ui.perfetto.dev: regions, calls of MPI, messages, labels, samples
  static const ExportFormat kNumascope;  ///< NUMAscope's own format: rows of rates of one sensor, and labels
};

}  // namespace attune::exports
