#include "dataflow/kept/writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace attune::flow::kept {
namespace {

constexpr size_t kBufferBytes = size_t{256} << 10;

std::string Packed(const ProgramDescription& program) {
  Packer packer;
  packer.Text(program.executable);
  packer.Number(static_cast<uint32_t>(program.fields.size()));
  for (const FieldDescription& field : program.fields) {
    packer.Text(field.name);
    packer.Number(field.kind);
    packer.Number(static_cast<uint8_t>(field.rank));
    packer.Number(static_cast<uint8_t>(field.aged ? 1 : 0));
    packer.Number(static_cast<uint8_t>(field.sparse ? 1 : 0));
    packer.Number(field.element_bytes);
  }
  packer.Number(static_cast<uint32_t>(program.kernels.size()));
  for (const KernelDescription& kernel : program.kernels) {
    packer.Text(kernel.name);
    packer.Text(kernel.implementation);
    packer.Number(static_cast<uint32_t>(kernel.stores.size()));
    for (const uint32_t field : kernel.stores) packer.Number(field);
  }
  return packer.text();
}

/// Calls for each row of an age, in order, with the position of its first element in memory. A row is the last
/// dimension.
template <typename Function>
void EachRow(const detail::FieldAge& age, const Function& function) {
  if (age.rank == 1) return function(int64_t{0});
  int64_t index[kMaxRank] = {};
  for (;;) {
    int64_t position = 0;
    for (int dim = 0; dim + 1 < age.rank; ++dim) position += index[dim] * age.stride[dim];
    function(position);
    int dim = age.rank - 2;
    while (dim >= 0 && ++index[dim] == age.extent[dim]) index[dim--] = 0;
    if (dim < 0) return;
  }
}

int64_t ElementsWithin(const detail::FieldAge& age) {
  int64_t elements = 1;
  for (int dim = 0; dim < age.rank; ++dim) elements *= age.extent[dim];
  return elements;
}

}  // namespace

Writer::~Writer() {
  if (file_ >= 0) ::close(file_);
}

bool Writer::Create(const std::string& path, const ProgramDescription& program) {
  path_ = path;
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) {
    Fail(errno);
    return false;
  }
  FileHeader header;
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  Buffer(&header, sizeof header);
  Record({.kind = RecordKind::kProgram}, Packed(program));
  return problem_.empty();
}

void Writer::Fail(int error_number) {
  if (problem_.empty()) problem_ = "writing " + path_ + ": " + std::strerror(error_number);
}

void Writer::WriteEnd(const std::string& outcome, const InstanceDescription& failed) {
  Packer packer;
  packer.Text(outcome);
  packer.Text(failed.kernel);
  packer.Number(failed.age);
  packer.Number(static_cast<uint32_t>(failed.index.size()));
  for (const int64_t index : failed.index) packer.Number(index);
  Record({.kind = RecordKind::kEnd}, packer.text());
}

void Writer::WriteElement(int field, int64_t age, int64_t index, const std::vector<std::byte>& value) {
  RecordHeader header;
  header.kind = RecordKind::kElement;
  header.field = static_cast<uint32_t>(field);
  header.age = age;
  header.extent[0] = index;
  Record(header, {reinterpret_cast<const char*>(value.data()), value.size()});
}

void Writer::WriteAge(const detail::FieldAge& age, int64_t element_bytes, int64_t stored) {
  if (!problem_.empty()) return;
  const int64_t elements = ElementsWithin(age);
  const bool has_holes = stored < elements;
  RecordHeader header;
  header.field = static_cast<uint32_t>(age.field);
  header.has_holes = has_holes ? 1 : 0;
  header.age = age.age;
  std::copy_n(age.extent, age.rank, header.extent);
  header.stored = stored;
  header.bytes = static_cast<uint64_t>(elements * element_bytes + (has_holes ? (elements + 63) / 64 * 8 : 0));
  BeginRecord(header);
  if (has_holes) Bitmap(age);
  Elements(age, element_bytes);
  EndRecord();
}

void Writer::Bitmap(const detail::FieldAge& age) {
  uint64_t word = 0;
  int bits = 0;
  EachRow(age, [&](int64_t position) {
    for (int64_t i = 0; i < age.extent[age.rank - 1]; ++i) {
      word |= static_cast<uint64_t>(detail::IsWritten(age.whole.written, position + i)) << bits;
      if (++bits < 64) continue;
      Payload(&word, sizeof word);
      word = 0;
      bits = 0;
    }
  });
  if (bits > 0) Payload(&word, sizeof word);
}

void Writer::Elements(const detail::FieldAge& age, int64_t element_bytes) {
  const int64_t row = age.extent[age.rank - 1];
  const std::vector<std::byte> zero(static_cast<size_t>(element_bytes));
  const auto bytes = static_cast<size_t>(element_bytes);
  EachRow(age, [&](int64_t position) {
    const std::byte* first = age.whole.data + position * element_bytes;
    if (!age.has_holes.load(std::memory_order_relaxed)) return Payload(first, static_cast<size_t>(row) * bytes);
    for (int64_t i = 0; i < row; ++i)
      Payload(detail::IsWritten(age.whole.written, position + i) ? first + i * element_bytes : zero.data(), bytes);
  });
}

// ---- records and bytes

void Writer::Record(RecordHeader header, const std::string& payload) {
  header.bytes = payload.size();
  BeginRecord(header);
  Payload(payload.data(), payload.size());
  EndRecord();
}

void Writer::BeginRecord(RecordHeader header) {
  header.checksum = ChecksumOf(header);
  Buffer(&header, sizeof header);
  payload_sum_ = {};
}

void Writer::Payload(const void* bytes, size_t count) {
  payload_sum_.Add(bytes, count);
  Buffer(bytes, count);
}

void Writer::EndRecord() {
  const uint64_t sum = payload_sum_.Value();
  Buffer(&sum, sizeof sum);
  Flush();
}

void Writer::Buffer(const void* bytes, size_t count) {
  const auto* next = static_cast<const std::byte*>(bytes);
  while (count > 0) {
    const size_t here = std::min(count, kBufferBytes - buffer_.size());
    buffer_.insert(buffer_.end(), next, next + here);
    next += here;
    count -= here;
    if (buffer_.size() == kBufferBytes) Flush();
  }
}

void Writer::Flush() {
  for (size_t done = 0; done < buffer_.size() && problem_.empty();) {
    const ssize_t written = ::write(file_, buffer_.data() + done, buffer_.size() - done);
    if (written > 0) {
      done += static_cast<size_t>(written);
    } else if (written < 0 && errno != EINTR) {
      Fail(errno);
    }
  }
  buffer_.clear();
}

}  // namespace attune::flow::kept
