#pragma once
/// Writes a kept file. After the first error nothing more is written; what is there stays readable.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attune/flow/storage.h"
#include "dataflow/kept/format.h"

namespace attune::flow::kept {

/// @thread one at a time. @cost of memory 256 KiB, whatever an age has
class Writer {
 public:
  Writer() = default;
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Makes the file, or empties the one that is there. @return false: problem() says why not
  bool Create(const std::string& path, const ProgramDescription& program);
  /// @param age complete @param element_bytes, stored of it
  void WriteAge(const detail::FieldAge& age, int64_t element_bytes, int64_t stored);
  /// An element of an age that is not complete, of a field with one dimension.
  void WriteElement(int field, int64_t age, int64_t index, const std::vector<std::byte>& value);
  /// The last record. @param outcome how the run ended @param failed what it ended at
  void WriteEnd(const std::string& outcome, const InstanceDescription& failed);
  /// "writing kmeans.kept: No space left on device"; empty: all is written.
  const std::string& problem() const { return problem_; }

 private:
  void Record(RecordHeader header, const std::string& payload);
  void BeginRecord(RecordHeader header);
  void Payload(const void* bytes, size_t count);
  void EndRecord();
  void Bitmap(const detail::FieldAge& age);
  void Elements(const detail::FieldAge& age, int64_t element_bytes);
  void Buffer(const void* bytes, size_t count);
  void Flush();
  void Fail(int error_number);

  int file_ = -1;
  std::string path_;
  std::string problem_;
  std::vector<std::byte> buffer_;
  Checksum payload_sum_;
};

}  // namespace attune::flow::kept
