#pragma once
/// Reads a kept file. It may come from anywhere, may be cut, and may still grow: what is whole can be read.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dataflow/kept/format.h"

namespace attune::flow::kept {

/// An age of a field that the file has.
struct AgeEntry {
  int field = 0;
  int64_t age = 0;
  int64_t extent[kMaxRank] = {};
  int64_t elements = 0;  ///< within the extents
  int64_t stored = 0;
  bool has_holes = false;
  uint64_t offset = 0;  ///< of the payload
  uint64_t bytes = 0;   ///< of the payload
};

/// An element that the instance which failed had fetched from an age that was not complete, of one dimension.
struct SingleElement {
  int field = 0;
  int64_t age = 0;
  int64_t index = 0;
  std::string value;  ///< its bytes
};

/// Elements of an age, the last index innermost.
struct AgeContents {
  std::vector<std::byte> values;
  std::vector<uint64_t> written;  ///< a bit for each element; empty: all are stored
  bool Has(int64_t position) const {
    return written.empty() || (written[static_cast<size_t>(position) / 64] >> (position % 64) & 1) != 0;
  }
};

/// @thread one at a time
class File {
 public:
  /// Reads the headers of all records, not what is in the ages. @param file for pread; it must stay open
  /// @return false: it is no kept file, or of another version; `problem` says which
  bool Open(int file, std::string* problem);

  const ProgramDescription& program() const { return program_; }
  /// By field and age.
  const std::vector<AgeEntry>& ages() const { return ages_; }
  const std::vector<SingleElement>& elements() const { return elements_; }
  /// Outcome of the run; empty: the file ends before, as that of a program that was killed or still runs.
  const std::string& end() const { return end_; }
  /// Instance at which the run failed; its kernel is empty: there is none.
  const InstanceDescription& failed() const { return failed_; }
  /// Record that cannot be read, with all behind it: "damaged at byte 4711"; empty: there is none.
  const std::string& damage() const { return damage_; }

  /// @return its number, or -1
  int Field(const std::string& name) const;
  const KernelDescription* Kernel(const std::string& name) const;
  /// nullptr: the file does not have it.
  const AgeEntry* Find(int field, int64_t age) const;
  /// nullptr: the file has none of that age.
  const SingleElement* FindElement(int field, int64_t age) const;
  /// @return false: `problem` says why not
  bool Read(const AgeEntry& age, AgeContents* contents, std::string* problem) const;

 private:
  bool ReadAt(uint64_t offset, void* bytes, size_t count) const;
  /// @return false: the records end here
  bool NextRecord(uint64_t* offset, uint64_t size);
  bool AddAge(const RecordHeader& header, uint64_t offset);
  bool AddElement(const RecordHeader& header, uint64_t offset);
  bool TextPayload(const RecordHeader& header, uint64_t offset, std::string* text) const;
  bool TakeProgram(const std::string& text);
  bool TakeEnd(const std::string& text);

  int file_ = -1;
  bool has_program_ = false;
  ProgramDescription program_;
  std::vector<AgeEntry> ages_;
  std::vector<SingleElement> elements_;
  std::string end_;
  InstanceDescription failed_;
  std::string damage_;
};

/// "m_data(3)[7][0]", the index of a position within the extents.
std::string ElementName(const FieldDescription& field, const AgeEntry& age, int64_t position);
/// "m_data(3)"
std::string AgeName(const FieldDescription& field, int64_t age);
/// A number as C++ reads it, exactly; bytes in hexadecimal.
std::string ValueText(const FieldDescription& field, const std::byte* value);
/// "int32", as the language names it; "24 bytes" of a struct.
std::string TypeText(const FieldDescription& field);

}  // namespace attune::flow::kept
