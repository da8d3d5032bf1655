#include "sensor/declared/register_block.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/root_helper.h"

namespace attune::sensor {
namespace {

static_assert(std::endian::native == std::endian::little);

uint64_t Reversed(uint64_t value, int bytes) { return __builtin_bswap64(value) >> (64 - 8 * bytes); }

/// The bytes of a register, first byte lowest.
uint64_t Assemble(const unsigned char* bytes, int count) {
  uint64_t value = 0;
  std::memcpy(&value, bytes, static_cast<size_t>(count));
  return value;
}

}  // namespace

Result<RegisterSource> OpenRegisterSource(const HostRoot& host, std::string_view path, bool writable,
                                          std::string_view description) {
  RegisterSource source;
  if (!description.empty() && host.IsThisMachine() && RootHelperSocket() >= 0) {
    auto fd = AskRoot(fmt::format("registers{} {}\n{}", writable ? "+write" : "", description, path));
    if (fd.ok()) return RegisterSource{.fd = *std::move(fd), .mapped = true};
  }
  const auto open = [&](int flags) -> Status {
    auto fd = writable ? host.OpenWritable(path, flags) : host.Open(path, flags);
    if (!fd.ok()) {
      Error error = fd.error();
      if (error.code == Errc::kPermission)
        error.hint = "reading hardware registers needs root, under sudo also a description that only root can change";
      return error;
    }
    source.fd = *std::move(fd);
    return {};
  };
  ATTUNE_CHECK_OK(open(O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  struct statfs system{};
  if (fstat(source.fd.get(), &status) != 0 || fstatfs(source.fd.get(), &system) != 0) return ErrnoError(path);
  if (S_ISCHR(status.st_mode) || system.f_type == SYSFS_MAGIC) {
    source.mapped = true;
    // Not cached, also where the registers lie in what the kernel takes for memory.
    ATTUNE_CHECK_OK(open(O_SYNC));
  } else if (!S_ISREG(status.st_mode)) {
    return Error{Errc::kInvalidArgument, fmt::format("{}: neither a device nor a file", path), ""};
  }
  source.size_bytes = status.st_size;
  return source;
}

Result<RegisterBlock> RegisterBlock::Open(const RegisterSource& source, int64_t address, const RegisterLayout& layout) {
  RegisterBlock block(layout);
  block.fd_ = source.fd.get();
  block.address_ = address;
  if (address < 0) return Error{Errc::kInvalidArgument, fmt::format("no block can be at address {:#x}", address), ""};
  if (!source.mapped) {
    if (source.size_bytes - layout.size_bytes < address) {
      return Error{Errc::kUnavailable,
                   fmt::format("the block at {:#x} lies behind the end of the file, which has {} bytes", address,
                               source.size_bytes),
                   ""};
    }
    block.bytes_.resize(static_cast<size_t>(layout.size_bytes));
    return block;
  }
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t start = address / page * page;
  block.mapping_bytes_ = static_cast<size_t>(address - start + layout.size_bytes);
  const int protection = layout.writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* mapping = mmap(nullptr, block.mapping_bytes_, protection, MAP_SHARED, block.fd_, start);
  if (mapping == MAP_FAILED) {
    Error error = ErrnoError(fmt::format("mapping the registers at {:#x}", address));
    error.hint = "a kernel that is locked down, or has CONFIG_IO_STRICT_DEVMEM, does not let programs read registers";
    return error;
  }
  block.mapping_ = mapping;
  block.mapped_ = static_cast<volatile unsigned char*>(mapping) + (address - start);
  return block;
}

RegisterBlock::RegisterBlock(RegisterBlock&& other) noexcept
    : layout_(other.layout_),
      mapped_(std::exchange(other.mapped_, nullptr)),
      mapping_(std::exchange(other.mapping_, nullptr)),
      mapping_bytes_(other.mapping_bytes_),
      fd_(other.fd_),
      address_(other.address_),
      bytes_(std::move(other.bytes_)) {}

RegisterBlock::~RegisterBlock() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

bool RegisterBlock::Fetch(int64_t low, int64_t high) {
  if (mapped_ != nullptr) return true;
  const ssize_t wanted = high - low;
  ssize_t n = 0;
  do {
    n = pread(fd_, bytes_.data() + low, static_cast<size_t>(wanted), address_ + low);
  } while (n < 0 && errno == EINTR);
  return n == wanted;
}

uint64_t RegisterBlock::LoadMapped(int64_t offset, int bytes) const {
  const volatile unsigned char* at = mapped_ + offset;
  switch (bytes) {
    case 1: return *at;
    case 2: return *reinterpret_cast<const volatile uint16_t*>(at);
    case 4: return *reinterpret_cast<const volatile uint32_t*>(at);
    default: return *reinterpret_cast<const volatile uint64_t*>(at);
  }
}

uint64_t RegisterBlock::Load(const BitField& field) const {
  uint64_t value = 0;
  if (mapped_ == nullptr) {
    value = Assemble(bytes_.data() + field.offset, field.bytes);
  } else {
    const int step = std::min(field.bytes, layout_.access_bytes);
    for (int done = 0; done < field.bytes; done += step) value |= LoadMapped(field.offset + done, step) << (8 * done);
  }
  if (layout_.big_endian) value = Reversed(value, field.bytes);
  value >>= field.low_bit;
  return field.bits >= 64 ? value : value & ((uint64_t{1} << field.bits) - 1);
}

bool RegisterBlock::Store(int64_t offset, int bytes, uint64_t value) {
  if (layout_.big_endian) value = Reversed(value, bytes);
  if (mapped_ == nullptr)
    return pwrite(fd_, &value, static_cast<size_t>(bytes), address_ + offset) == static_cast<ssize_t>(bytes);
  volatile unsigned char* at = mapped_ + offset;
  switch (bytes) {
    case 1: *at = static_cast<unsigned char>(value); break;
    case 2: *reinterpret_cast<volatile uint16_t*>(at) = static_cast<uint16_t>(value); break;
    case 4: *reinterpret_cast<volatile uint32_t*>(at) = static_cast<uint32_t>(value); break;
    default: *reinterpret_cast<volatile uint64_t*>(at) = value;
  }
  return true;
}

}  // namespace attune::sensor
