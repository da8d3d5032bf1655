#include "analysis/symbolizer.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/unique_fd.h"

namespace attune::analysis {
namespace {

std::string Hexadecimal(const unsigned char* bytes, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

std::string Demangled(const char* name) {
  if (name == nullptr) return "";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text ? text.get() : name;
}

/// Only what belongs to the file's own build-id is taken, wherever it lies.
const Dwfl_Callbacks kCallbacks = {.find_elf = dwfl_build_id_find_elf,
                                   .find_debuginfo = dwfl_standard_find_debuginfo,
                                   .section_address = dwfl_offline_section_address,
                                   .debuginfo_path = nullptr};

struct EndDwfl {
  void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
};

/// The linkage name where there is one, so that it can be demangled with its parameters.
std::string FunctionName(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  for (const unsigned kind : {unsigned{DW_AT_linkage_name}, unsigned{DW_AT_MIPS_linkage_name}}) {
    if (dwarf_attr_integrate(die, kind, &attribute) != nullptr) return Demangled(dwarf_formstring(&attribute));
  }
  const char* name = dwarf_diename(die);
  return name != nullptr ? name : "";
}

bool IsInlined(Dwarf_Die* die) { return dwarf_tag(die) == DW_TAG_inlined_subroutine; }

using Scopes = std::pair<std::unique_ptr<Dwarf_Die, decltype(&std::free)>, int>;

/// The innermost first.
Scopes ScopesAt(Dwarf_Die* unit, Dwarf_Addr address) {
  Dwarf_Die* by_address = nullptr;
  const int found = dwarf_getscopes(unit, address, &by_address);
  const std::unique_ptr<Dwarf_Die, decltype(&std::free)> owner(by_address, &std::free);
  Dwarf_Die* scopes = nullptr;
  // Beyond an inlined function these are the scopes in which that was written: where it runs is asked for apart.
  const int count = found > 0 ? dwarf_getscopes_die(&by_address[0], &scopes) : 0;
  return {std::unique_ptr<Dwarf_Die, decltype(&std::free)>(scopes, &std::free), std::max(count, 0)};
}

/// Where an inlined function was called.
void SetCallSite(Dwarf_Die* unit, Dwarf_Die* inlined, CodeFrame& caller) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &value) == 0)
    caller.line = static_cast<int>(value);
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &value) != 0 ||
      dwarf_getsrcfiles(unit, &files, &count) != 0 || value >= count) {
    return;
  }
  const char* file = dwarf_filesrc(files, value, nullptr, nullptr);
  caller.file = file != nullptr ? file : "";
}

}  // namespace

struct Symbolizer::File {
  std::unique_ptr<Dwfl, EndDwfl> dwfl;
  Dwfl_Module* module = nullptr;
  Dwarf_Addr bias = 0;  ///< what libdwfl adds to the file's addresses

  std::vector<CodeFrame> At(Dwarf_Addr address) const;
  std::vector<CodeFrame> FromDebugInformation(Dwarf_Addr address) const;
};

/// One frame for each inlined function around the address, and the one for the function that is really there.
std::vector<CodeFrame> Symbolizer::File::FromDebugInformation(Dwarf_Addr address) const {
  Dwarf_Addr unit_bias = 0;
  Dwarf_Die* unit = dwfl_module_addrdie(module, address, &unit_bias);
  if (unit == nullptr) return {};
  const auto [owner, count] = ScopesAt(unit, address - unit_bias);
  Dwarf_Die* scopes = owner.get();
  std::vector<CodeFrame> frames;
  Dwarf_Die* inner = nullptr;
  for (int i = 0; i < count; ++i) {
    Dwarf_Die* scope = &scopes[i];
    if (!IsInlined(scope) && dwarf_tag(scope) != DW_TAG_subprogram) continue;
    CodeFrame frame{.function = FunctionName(scope), .file = "", .inlined = IsInlined(scope)};
    if (inner != nullptr) {
      SetCallSite(unit, inner, frame);
    } else if (Dwfl_Line* line = dwfl_module_getsrc(module, address); line != nullptr) {
      const char* file = dwfl_lineinfo(line, nullptr, &frame.line, nullptr, nullptr, nullptr);
      frame.file = file != nullptr ? file : "";
    }
    frames.push_back(std::move(frame));
    if (!IsInlined(scope)) break;
    inner = scope;
  }
  return frames;
}

std::vector<CodeFrame> Symbolizer::File::At(Dwarf_Addr address) const {
  std::vector<CodeFrame> frames = FromDebugInformation(address);
  if (frames.empty()) frames.emplace_back();
  CodeFrame& outermost = frames.back();
  if (outermost.function.empty()) {
    GElf_Off offset = 0;
    GElf_Sym symbol;
    outermost.function = Demangled(dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr));
  }
  return frames;
}

Symbolizer::Symbolizer() = default;
Symbolizer::~Symbolizer() = default;
Symbolizer::Symbolizer(Symbolizer&&) noexcept = default;
Symbolizer& Symbolizer::operator=(Symbolizer&&) noexcept = default;

namespace {

std::string BuildIdOf(Dwfl_Module* module) {
  const unsigned char* bytes = nullptr;
  GElf_Addr address = 0;
  const int count = dwfl_module_build_id(module, &bytes, &address);
  return count > 0 ? Hexadecimal(bytes, count) : "";
}

struct Reported {
  std::unique_ptr<Dwfl, EndDwfl> dwfl;
  Dwfl_Module* module = nullptr;
};

Result<Reported> Report(const std::string& path) {
  // libdwfl would take a folder or a device for an archive.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return ErrnoError("opening " + path);
  Reported reported{std::unique_ptr<Dwfl, EndDwfl>(dwfl_begin(&kCallbacks)), nullptr};
  if (reported.dwfl != nullptr) {
    reported.module = dwfl_report_elf(reported.dwfl.get(), path.c_str(), path.c_str(), -1, 0, true);
    dwfl_report_end(reported.dwfl.get(), nullptr, nullptr);
  }
  if (reported.module == nullptr)
    return Error{Errc::kCorrupt, fmt::format("{}: {}", path, dwfl_errmsg(-1)), "it is no ELF file"};
  return reported;
}

}  // namespace

Result<Symbolizer::File*> Symbolizer::Open(const CodeModule& module) {
  const auto found = files_.find(module);
  if (found != files_.end()) {
    if (!found->second.ok()) return found->second.error();
    return found->second->get();
  }
  auto open = [&]() -> Result<std::unique_ptr<File>> {
    ATTUNE_TRY(Reported reported, Report(module.path));
    if (const std::string now = BuildIdOf(reported.module); !module.build_id.empty() && now != module.build_id) {
      return Error{Errc::kCorrupt,
                   fmt::format("{} is not the file that ran: its build-id is {}, not {}", module.path,
                               now.empty() ? "missing" : now, module.build_id),
                   "put the one of then in its place, or look on the machine where it ran"};
    }
    auto file = std::make_unique<File>();
    file->dwfl = std::move(reported.dwfl);
    file->module = reported.module;
    dwfl_module_getelf(file->module, &file->bias);
    return file;
  };
  auto& kept = files_.emplace(module, open()).first->second;
  if (!kept.ok()) return kept.error();
  return kept->get();
}

Result<std::vector<CodeFrame>> Symbolizer::Resolve(const CodeModule& module, uint64_t address) {
  ATTUNE_TRY(const File* file, Open(module));
  // The byte before: a call that is a function's last instruction returns to the function behind it.
  return file->At(address + file->bias - 1);
}

Result<std::string> ReadBuildId(const std::string& path) {
  ATTUNE_TRY(const Reported reported, Report(path));
  return BuildIdOf(reported.module);
}

}  // namespace attune::analysis
