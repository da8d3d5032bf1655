#pragma once
/// Interface of a format to export.cpp, which gives the rows, block by block; the encoder appends their bytes.

#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "analysis/timeline/state_parts.h"
#include "export/export_format.h"
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
  /// For each table that is neither in Metadata nor samples or events, by number. @return false: the format has no
  /// place for it
  virtual bool BeginTable(const model::TableSchema& /*schema*/) { return false; }
  /// @param batch as it was written; foreign. @return false: stop
  virtual bool Rows(const model::TableSchema& /*schema*/, const model::Batch& /*batch*/) { return false; }
  /// @return false: the format does not show which send belongs to which receive
  virtual bool BeginPairs() { return false; }
  virtual bool Pair(const model::Message& /*sent*/, const model::Message& /*received*/) {
    return false;
  }  ///< false: stop
  /// @return false: the format does not show what threads did with their time
  virtual bool BeginStates() { return false; }
  virtual bool States(const analysis::StateParts& /*parts*/) { return false; }  ///< false: stop
  virtual void End() {}
};

/// ExportFormat::make of an encoder.
template <class Encoder>
std::unique_ptr<ExportEncoder> MakeEncoder(const model::Metadata& metadata,
                                           std::span<const model::Stream* const> streams, ExportOutput& output) {
  if constexpr (std::is_constructible_v<Encoder, decltype(metadata), decltype(streams), ExportOutput&>)
    return std::make_unique<Encoder>(metadata, streams, output);
  else
    return std::make_unique<Encoder>(metadata, output);
}

}  // namespace attune::exports
