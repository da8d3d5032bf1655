#pragma once
/// The code that the kernel maps into every process, as it is in this one.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace attune::symbols {

/// Its image: an ELF file. Empty: this kernel maps none. @thread any
std::span<const std::byte> OwnVdso();
/// The function at an address of the image; "": none. @cost 10 us
std::string VdsoFunction(uint64_t address);

}  // namespace attune::symbols
