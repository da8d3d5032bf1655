#pragma once
/// What export.cpp asks of a format: it gives the rows, block by block, and the encoder appends their bytes.

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "export/export_output.h"
#include "model/source.h"

namespace attune::exports {

/// Calls come in the order in which they are declared here. @thread one
class ExportEncoder {
 public:
  virtual ~ExportEncoder() = default;
  virtual void Begin() = 0;
  /// Samples() are of this stream from now on, all columns.
  virtual void BeginStream(const model::Stream& stream) = 0;
  virtual bool Samples(const model::SampleBlock& block) = 0;  ///< false: stop
  /// @return false: the format has no place for events
  virtual bool BeginEvents() { return false; }
  virtual bool Events(const model::EventBlock& /*block*/) { return false; }  ///< false: stop
  /// Of each table that is neither in Metadata nor samples or events, by number. @return false: the format has no place
  /// for it
  virtual bool BeginTable(const model::TableSchema& /*schema*/) { return false; }
  /// @param batch as it was written; foreign. @return false: stop
  virtual bool Rows(const model::TableSchema& /*schema*/, const model::Batch& /*batch*/) { return false; }
  /// @return false: the format does not show which send belongs to which receive
  virtual bool BeginPairs() { return false; }
  virtual bool Pair(const model::Message& /*sent*/, const model::Message& /*received*/) {
    return false;
  }  ///< false: stop
  virtual void End() {}
};

// `metadata` and `output` outlive the encoder.
std::unique_ptr<ExportEncoder> MakeJsonEncoder(const model::Metadata& metadata, ExportOutput& output);
std::unique_ptr<ExportEncoder> MakeCsvEncoder(const model::Metadata& metadata, ExportOutput& output);
std::unique_ptr<ExportEncoder> MakePerfettoEncoder(const model::Metadata& metadata, ExportOutput& output);
/// @param streams all that will come; of one sensor
std::unique_ptr<ExportEncoder> MakeNumascopeEncoder(const model::Metadata& metadata,
                                                    std::span<const model::Stream* const> streams,
                                                    ExportOutput& output);

}  // namespace attune::exports
