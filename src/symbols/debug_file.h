#pragma once
/// The file that holds the debug information of a program or library.

#include <elfutils/libdwfl.h>

namespace attune::symbols {

/// Dwfl_Callbacks::find_debuginfo: as dwfl_standard_find_debuginfo, but that nothing other than a regular file is
/// opened beside the program's own, and that libdebuginfod is loaded only where DEBUGINFOD_URLS names a server: it
/// brings libcurl and thirty more libraries, which takes 6 ms.
int FindDebugFile(Dwfl_Module* module, void** user, const char* module_name, Dwarf_Addr base, const char* file,
                  const char* debug_link, GElf_Word crc, char** found);

}  // namespace attune::symbols
