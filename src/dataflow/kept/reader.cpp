#include "dataflow/kept/reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <tuple>

namespace attune::flow::kept {
namespace {

constexpr uint32_t kMaxNames = 1 << 16;
constexpr int64_t kMaxAge = INT64_MAX / 4;
constexpr int64_t kMaxIndex = int64_t{1} << 40;

int64_t BytesOf(ElementKind kind) {
  switch (kind) {
    case ElementKind::kBytes: return 0;
    case ElementKind::kBool:
    case ElementKind::kInt8:
    case ElementKind::kUint8: return 1;
    case ElementKind::kInt16:
    case ElementKind::kUint16: return 2;
    case ElementKind::kInt32:
    case ElementKind::kUint32:
    case ElementKind::kFloat32: return 4;
    case ElementKind::kInt64:
    case ElementKind::kUint64:
    case ElementKind::kFloat64: return 8;
  }
  return -1;
}

bool IsRight(const FieldDescription& field) {
  const int64_t bytes = BytesOf(field.kind);
  return field.rank >= 1 && field.rank <= kMaxRank && field.element_bytes >= 1 &&
         field.element_bytes <= kMaxElementBytes && (bytes == 0 || bytes == field.element_bytes);
}

template <typename T>
std::string NumberText(const std::byte* value) {
  T number{};
  std::memcpy(&number, value, sizeof number);
  char text[64];
  const auto [end, error] = std::to_chars(text, text + sizeof text, number);
  return {text, end};
}

}  // namespace

bool File::ReadAt(uint64_t offset, void* bytes, size_t count) const {
  auto* next = static_cast<char*>(bytes);
  while (count > 0) {
    const ssize_t got = ::pread(file_, next, count, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    next += got;
    offset += static_cast<uint64_t>(got);
    count -= static_cast<size_t>(got);
  }
  return true;
}

bool File::Open(int file, std::string* problem) {
  file_ = file;
  struct stat status = {};
  FileHeader header;
  if (::fstat(file, &status) != 0 || !ReadAt(0, &header, sizeof header) ||
      std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) {
    *problem = "is no file of kept fields";
    return false;
  }
  if (header.version != kVersion || header.header_bytes != sizeof header) {
    *problem = "is a file of kept fields of version " + std::to_string(header.version) + ", and this attune reads " +
               std::to_string(kVersion);
    return false;
  }
  uint64_t offset = sizeof header;
  while (damage_.empty() && end_.empty() && NextRecord(&offset, static_cast<uint64_t>(status.st_size))) {
  }
  if (!has_program_) {
    *problem = "is cut before the description of its fields";
    return false;
  }
  std::stable_sort(ages_.begin(), ages_.end(), [](const AgeEntry& one, const AgeEntry& other) {
    return std::tie(one.field, one.age) < std::tie(other.field, other.age);
  });
  return true;
}

bool File::NextRecord(uint64_t* offset, uint64_t size) {
  RecordHeader header;
  if (size - *offset < sizeof header || !ReadAt(*offset, &header, sizeof header)) return false;
  const uint64_t payload = *offset + sizeof header;
  if (header.magic != kRecordMagic || header.checksum != ChecksumOf(header)) {
    damage_ = "damaged at byte " + std::to_string(*offset);
    return false;
  }
  // A record that is being written, or was when its program was killed.
  if (header.bytes > size - payload || size - payload - header.bytes < sizeof(uint64_t)) return false;
  std::string text;
  bool is_right = has_program_ != (header.kind == RecordKind::kProgram);
  if (header.kind == RecordKind::kAge) {
    is_right = is_right && AddAge(header, payload);
  } else if (header.kind == RecordKind::kElement) {
    is_right = is_right && AddElement(header, payload);
  } else if (header.kind == RecordKind::kProgram) {
    is_right = is_right && TextPayload(header, payload, &text) && TakeProgram(text);
  } else if (header.kind == RecordKind::kEnd) {
    is_right = is_right && TextPayload(header, payload, &text) && TakeEnd(text);
  }
  if (!is_right) damage_ = "damaged at byte " + std::to_string(*offset);
  *offset = payload + header.bytes + sizeof(uint64_t);
  return is_right;
}

bool File::TextPayload(const RecordHeader& header, uint64_t offset, std::string* text) const {
  if (header.bytes > kMaxProgramBytes) return false;
  text->resize(header.bytes);
  uint64_t sum = 0;
  return ReadAt(offset, text->data(), text->size()) && ReadAt(offset + header.bytes, &sum, sizeof sum) &&
         sum == ChecksumOf(text->data(), text->size());
}

bool File::TakeProgram(const std::string& text) {
  Unpacker unpacker(text);
  program_.executable = unpacker.Text();
  const auto fields = unpacker.Number<uint32_t>();
  if (fields > kMaxNames) return false;
  for (uint32_t i = 0; i < fields && unpacker.ok(); ++i) {
    FieldDescription field;
    field.name = unpacker.Text();
    field.kind = static_cast<ElementKind>(unpacker.Number<uint8_t>());
    field.rank = unpacker.Number<uint8_t>();
    field.aged = unpacker.Number<uint8_t>() != 0;
    field.sparse = unpacker.Number<uint8_t>() != 0;
    field.element_bytes = unpacker.Number<int64_t>();
    if (!IsRight(field)) return false;
    program_.fields.push_back(std::move(field));
  }
  const auto kernels = unpacker.Number<uint32_t>();
  if (kernels > kMaxNames) return false;
  for (uint32_t i = 0; i < kernels && unpacker.ok(); ++i) {
    KernelDescription kernel;
    kernel.name = unpacker.Text();
    kernel.implementation = unpacker.Text();
    const auto stores = unpacker.Number<uint32_t>();
    if (stores > kMaxNames) return false;
    for (uint32_t s = 0; s < stores && unpacker.ok(); ++s) {
      kernel.stores.push_back(unpacker.Number<uint32_t>());
      if (kernel.stores.back() >= fields) return false;
    }
    program_.kernels.push_back(std::move(kernel));
  }
  has_program_ = unpacker.ok();
  return has_program_;
}

bool File::TakeEnd(const std::string& text) {
  Unpacker unpacker(text);
  std::string outcome = unpacker.Text();
  InstanceDescription failed;
  failed.kernel = unpacker.Text();
  failed.age = unpacker.Number<int64_t>();
  const auto variables = unpacker.Number<uint32_t>();
  for (uint32_t v = 0; v < variables && v < kMaxRank; ++v) failed.index.push_back(unpacker.Number<int64_t>());
  if (!unpacker.ok() || outcome.empty() || variables > kMaxRank) return false;
  end_ = std::move(outcome);
  failed_ = std::move(failed);
  return true;
}

bool File::AddAge(const RecordHeader& header, uint64_t offset) {
  if (header.field >= program_.fields.size() || header.age < 0 || header.age > kMaxAge) return false;
  const FieldDescription& field = program_.fields[header.field];
  AgeEntry age;
  age.field = static_cast<int>(header.field);
  age.age = header.age;
  age.elements = 1;
  // Each element has a byte at least, so more of them than bytes are wrong.
  const auto most = static_cast<int64_t>(std::min<uint64_t>(header.bytes, INT64_MAX));
  for (int dim = 0; dim < field.rank; ++dim) {
    age.extent[dim] = header.extent[dim];
    if (age.extent[dim] < 1 || age.extent[dim] > most / age.elements) return false;
    age.elements *= age.extent[dim];
  }
  age.stored = header.stored;
  age.has_holes = header.has_holes != 0;
  age.offset = offset;
  age.bytes = header.bytes;
  if (age.elements > most / field.element_bytes) return false;
  const uint64_t values = static_cast<uint64_t>(age.elements * field.element_bytes);
  const uint64_t bits = age.has_holes ? (static_cast<uint64_t>(age.elements) + 63) / 64 * 8 : 0;
  if (values + bits != header.bytes || age.stored < 1 || age.stored > age.elements ||
      (age.stored < age.elements) != age.has_holes)
    return false;
  ages_.push_back(age);
  return true;
}

bool File::AddElement(const RecordHeader& header, uint64_t offset) {
  SingleElement element{static_cast<int>(header.field), header.age, header.extent[0], {}};
  if (header.field >= program_.fields.size() || header.age < 0 || header.age > kMaxAge) return false;
  const FieldDescription& field = program_.fields[header.field];
  if (field.rank != 1 || static_cast<int64_t>(header.bytes) != field.element_bytes || element.index < 0 ||
      element.index > kMaxIndex || !TextPayload(header, offset, &element.value))
    return false;
  elements_.push_back(std::move(element));
  return true;
}

int File::Field(const std::string& name) const {
  for (size_t i = 0; i < program_.fields.size(); ++i) {
    if (program_.fields[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

const KernelDescription* File::Kernel(const std::string& name) const {
  for (const KernelDescription& kernel : program_.kernels) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

const SingleElement* File::FindElement(int field, int64_t age) const {
  for (const SingleElement& element : elements_) {
    if (element.field == field && element.age == age) return &element;
  }
  return nullptr;
}

const AgeEntry* File::Find(int field, int64_t age) const {
  const auto found = std::lower_bound(
      ages_.begin(), ages_.end(), std::pair(field, age),
      [](const AgeEntry& entry, const auto& wanted) { return std::pair(entry.field, entry.age) < wanted; });
  return found != ages_.end() && found->field == field && found->age == age ? &*found : nullptr;
}

bool File::Read(const AgeEntry& age, AgeContents* contents, std::string* problem) const {
  const FieldDescription& field = program_.fields[static_cast<size_t>(age.field)];
  contents->values.resize(static_cast<size_t>(age.elements * field.element_bytes));
  contents->written.resize(age.has_holes ? static_cast<size_t>(age.elements + 63) / 64 : 0);
  const size_t bits = contents->written.size() * sizeof(uint64_t);
  uint64_t sum = 0;
  const bool is_there = ReadAt(age.offset, contents->written.data(), bits) &&
                        ReadAt(age.offset + bits, contents->values.data(), contents->values.size()) &&
                        ReadAt(age.offset + age.bytes, &sum, sizeof sum);
  Checksum checksum;
  checksum.Add(contents->written.data(), bits);
  checksum.Add(contents->values.data(), contents->values.size());
  if (is_there && checksum.Value() == sum) return true;
  *problem = AgeName(field, age.age) + (is_there ? " is damaged: its checksum is another one" : " cannot be read");
  return false;
}

// ---- texts

std::string AgeName(const FieldDescription& field, int64_t age) {
  return field.aged ? field.name + "(" + std::to_string(age) + ")" : field.name;
}

std::string ElementName(const FieldDescription& field, const AgeEntry& age, int64_t position) {
  std::string index;
  for (int dim = field.rank - 1; dim >= 0; --dim) {
    index = "[" + std::to_string(position % age.extent[dim]) + "]" + index;
    position /= age.extent[dim];
  }
  return AgeName(field, age.age) + index;
}

std::string ValueText(const FieldDescription& field, const std::byte* value) {
  switch (field.kind) {
    case ElementKind::kBool: return *value == std::byte{0} ? "false" : "true";
    case ElementKind::kInt8: return std::to_string(static_cast<int8_t>(*value));
    case ElementKind::kUint8: return std::to_string(static_cast<uint8_t>(*value));
    case ElementKind::kInt16: return NumberText<int16_t>(value);
    case ElementKind::kInt32: return NumberText<int32_t>(value);
    case ElementKind::kInt64: return NumberText<int64_t>(value);
    case ElementKind::kUint16: return NumberText<uint16_t>(value);
    case ElementKind::kUint32: return NumberText<uint32_t>(value);
    case ElementKind::kUint64: return NumberText<uint64_t>(value);
    case ElementKind::kFloat32: return NumberText<float>(value);
    case ElementKind::kFloat64: return NumberText<double>(value);
    case ElementKind::kBytes: break;
  }
  std::string text = "0x";
  for (int64_t i = 0; i < field.element_bytes; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(value[i]));
    text += digits;
  }
  return text;
}

std::string TypeText(const FieldDescription& field) {
  constexpr const char* kNames[] = {"",      "bool",   "int8",   "int16",  "int32",   "int64",
                                    "uint8", "uint16", "uint32", "uint64", "float32", "float64"};
  if (field.kind == ElementKind::kBytes) return std::to_string(field.element_bytes) + " bytes";
  return kNames[static_cast<size_t>(field.kind)];
}

}  // namespace attune::flow::kept
