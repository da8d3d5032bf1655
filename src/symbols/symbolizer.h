#pragma once
/// Symbolization: function, file and line of an address in a program's code.
///
/// Recordings keep a site as (module, address in the module's file), since addresses of the running program are
/// meaningless after its end and on other machines. Names are looked up on demand.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace attune::symbols {

/// Suffix of the name of a function without a symbol, after its begin: "libfoo.so+0x1230 (no symbols)".
inline constexpr std::string_view kNoSymbols = " (no symbols)";

/// A function at an address. Of an address in inlined code there are several, the innermost first.
struct CodeFrame {
  std::string
      function;      ///< demangled; without a symbol "libfoo.so+0x1230 (no symbols)", by where it begins; "": not known
  std::string file;  ///< as the compiler was given it; "": no debug information
  int line = 0;      ///< 0: not known
  bool inlined = false;  ///< into the frame that follows

  bool operator==(const CodeFrame&) const = default;
};

/// A program or library as it was when it ran.
struct CodeModule {
  std::string path;
  std::string build_id;  ///< hexadecimal; "": it has none

  auto operator<=>(const CodeModule&) const = default;
};

/// Reads symbols and debug information by elfutils: from the file itself, from where distributions put separate debug
/// files (.gnu_debuglink, /usr/lib/debug/.build-id), and from the servers of DEBUGINFOD_URLS where that is set.
/// @thread one at a time
class Symbolizer {
 public:
  Symbolizer();
  ~Symbolizer();
  Symbolizer(Symbolizer&&) noexcept;
  Symbolizer& operator=(Symbolizer&&) noexcept;

  /// The frames at an address, innermost first. Never empty: an unknown address has one frame without a name. In the C
  /// library it is the function alone.
  /// @param address in the file (what `nm` and `objdump` show), not in memory. Of a call it is the address that it
  ///        returns to: the frame is that of the call, one byte before
  /// @return kNotFound: there is no such file; kCorrupt: it is no ELF file, or not the one that ran (another build-id)
  /// @cost the first address of a module, and of each of its compilation units: its size; then some microseconds
  Result<std::vector<CodeFrame>> Resolve(const CodeModule& module, uint64_t address);
  /// The variable at an address, with the member that lies there: "book.lock", "shards[3].lock". "": none is known.
  /// @param address in the file  @return as Resolve  @cost as VariableIndex
  Result<std::string> Variable(const CodeModule& module, uint64_t address);
  /// The folder in which the compiler ran for the code at such an address: where a relative CodeFrame::file lies. "":
  /// not known. @return, @cost as Resolve
  Result<std::string> CompileFolder(const CodeModule& module, uint64_t address);

 private:
  class File;

  Result<File*> Open(const CodeModule& module);

  std::map<CodeModule, Result<std::unique_ptr<File>>> files_;
};

/// The build-id of a file, hexadecimal; "" where it has none. @return kNotFound, kCorrupt: it is no ELF file
Result<std::string> ReadBuildId(const std::string& path);

/// The address in the file (what `nm` shows) of the byte at an offset that is loaded into memory.
/// @return kNotFound, kCorrupt: it is no ELF file, or loads nothing from there
Result<uint64_t> AddressOfOffset(const std::string& path, uint64_t offset);

}  // namespace attune::symbols
