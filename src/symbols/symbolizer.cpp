#include "symbols/symbolizer.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/user_file.h"
#include "symbols/debug_file.h"
#include "symbols/debug_function.h"
#include "symbols/outlined_regions.h"
#include "symbols/program_entry.h"
#include "symbols/source_place.h"
#include "symbols/symbol_index.h"
#include "symbols/unwind_table.h"
#include "symbols/variable_index.h"

namespace attune::symbols {
namespace {

std::string Hexadecimal(const unsigned char* bytes, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

/// Only what belongs to the file's own build-id is taken, wherever it lies.
const Dwfl_Callbacks kCallbacks = {.find_elf = dwfl_build_id_find_elf,
                                   .find_debuginfo = FindDebugFile,
                                   .section_address = dwfl_offline_section_address,
                                   .debuginfo_path = nullptr};

/// Whether it is a part of the C library, of which functions' names suffice: nobody has its sources at hand, and
/// reading its debug information (Debian's libc6-dbg) takes 20 to 40 ms, as long as all else at the end of a session.
bool IsCLibrary(std::string_view file) {
  constexpr std::string_view kParts[] = {"libc.so.", "libm.so.", "libpthread.so.", "ld-linux"};
  return std::ranges::any_of(kParts, [file](std::string_view part) { return file.starts_with(part); });
}

struct EndDwfl {
  void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
};

/// DIEs by the addresses that they say they have. libdw finds units by the table .debug_aranges, which clang does not
/// write, and no functions that are described inside their namespace, as clang does.
class RangeIndex {
 public:
  void Add(const Dwarf_Die& die) {
    Dwarf_Die copy = die;
    Dwarf_Addr base = 0, begin = 0, end = 0;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(&copy, at, &base, &begin, &end)) > 0;) {
      if (begin < end) ranges_.push_back({begin, end, die});
    }
  }
  void Sort() { std::ranges::sort(ranges_, {}, &Range::begin); }

  std::optional<Dwarf_Die> At(Dwarf_Addr address) const {
    const auto after = std::ranges::upper_bound(ranges_, address, {}, &Range::begin);
    if (after == ranges_.begin() || address >= std::prev(after)->end) return std::nullopt;
    return std::prev(after)->die;
  }

 private:
  struct Range {
    Dwarf_Addr begin, end;
    Dwarf_Die die;
  };
  std::vector<Range> ranges_;  // by begin; they do not overlap
};

/// @param elf may be nullptr
UnwindTable ReadUnwindTable(Elf* elf) {
  size_t names = 0;
  if (elf == nullptr || elf_getshdrstrndx(elf, &names) != 0) return {};
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name == nullptr || std::string_view(name) != ".eh_frame") continue;
    const Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) return {};
    return {std::span(static_cast<const std::byte*>(data->d_buf), data->d_size), header.sh_addr,
            gelf_getclass(elf) == ELFCLASS32 ? size_t{4} : size_t{8}};
  }
  return {};
}

}  // namespace

class Symbolizer::File {
 public:
  /// @param name what its functions without a symbol are called by
  File(std::unique_ptr<Dwfl, EndDwfl> dwfl, Dwfl_Module* module, std::string name)
      : dwfl_(std::move(dwfl)), module_(module), name_(std::move(name)) {
    elf_ = dwfl_module_getelf(module_, &bias_);
    entry_ = ReadProgramEntry(elf_);
  }

  /// @param address in the file
  std::vector<CodeFrame> At(Dwarf_Addr address);
  std::string VariableAt(Dwarf_Addr address);
  std::string CompileFolder(Dwarf_Addr address);

 private:
  std::optional<Dwarf_Die> UnitAt(Dwarf_Addr address);
  std::vector<CodeFrame> FromDebugInformation(Dwarf_Addr address);
  std::string FunctionName(Dwarf_Die unit, std::span<Dwarf_Die> chain);
  std::string WithoutSymbol(Dwarf_Addr address);

  std::unique_ptr<Dwfl, EndDwfl> dwfl_;
  Dwfl_Module* module_;
  const std::string name_;
  Elf* elf_ = nullptr;
  Dwarf_Addr bias_ = 0;                           // libdwfl adds it to the file's addresses
  Dwarf_Addr debug_bias_ = 0;                     // and to those of its debug information, which may be another file
  std::optional<RangeIndex> units_;               // read when they are needed first
  std::map<Dwarf_Off, RangeIndex> functions_;     // functions of the units that were asked for, by their place
  std::map<Dwarf_Off, OutlinedRegions> regions_;  // outlined regions of these units
  std::optional<ProgramEntry> entry_;
  std::optional<UnwindTable> unwind_;   // read when it is needed first
  std::optional<SymbolIndex> symbols_;  // the same
  std::optional<VariableIndex> variables_;
};

/// The unit of an address in libdwfl's count. Sets debug_bias_.
std::optional<Dwarf_Die> Symbolizer::File::UnitAt(Dwarf_Addr address) {
  if (!units_) {
    units_.emplace();
    for (Dwarf_Die* unit = nullptr; (unit = dwfl_module_nextcu(module_, unit, &debug_bias_)) != nullptr;)
      units_->Add(*unit);
    units_->Sort();
  }
  return units_->At(address - debug_bias_);
}

/// @param chain of inlined functions, the innermost last: that of a region begins with its line, its parts come later
std::string Symbolizer::File::FunctionName(Dwarf_Die unit, std::span<Dwarf_Die> chain) {
  if (IsOutlinedRegion(&chain.back())) {
    const auto other =
        std::find_if_not(chain.rbegin(), chain.rend(), [](Dwarf_Die& die) { return IsOutlinedRegion(&die); });
    const auto regions = regions_.try_emplace(dwarf_dieoffset(&unit), unit).first;
    if (std::string name = regions->second.NameOf(&*other.base()); !name.empty()) return name;
  }
  return Demangled(CompilerName(&chain.back()));
}

/// One frame for each inlined function around the address, and the one for the function that is really there.
std::vector<CodeFrame> Symbolizer::File::FromDebugInformation(Dwarf_Addr address) {
  std::optional<Dwarf_Die> unit = UnitAt(address);
  if (!unit) return {};
  address -= debug_bias_;
  const auto [functions, fresh] = functions_.try_emplace(dwarf_dieoffset(&*unit));
  if (fresh) {
    ForEachFunction(*unit, [&](Dwarf_Die& function) { functions->second.Add(function); });
    functions->second.Sort();
  }
  const std::optional<Dwarf_Die> function = functions->second.At(address);
  if (!function) return {};
  std::vector<Dwarf_Die> chain = {*function};
  AddInlined(chain.front(), address, chain);
  std::vector<CodeFrame> frames;
  for (size_t i = chain.size(); i-- > 0;) {
    CodeFrame& frame = frames.emplace_back(
        CodeFrame{.function = FunctionName(*unit, std::span(chain).first(i + 1)), .file = "", .inlined = i > 0});
    SourcePlace place = i + 1 < chain.size() ? CallSiteOf(&*unit, &chain[i + 1]) : PlaceOf(&*unit, chain, address);
    frame.file = std::move(place.file);
    frame.line = place.line;
  }
  return frames;
}

/// Name of a function that has no symbol: known where a program begins (main, _start), else made of its address.
/// "": not known.
std::string Symbolizer::File::WithoutSymbol(Dwarf_Addr address) {
  if (!unwind_) unwind_ = ReadUnwindTable(elf_);
  const std::optional<CodeRange> range = unwind_->At(address);
  if (range && entry_) {
    if (range->begin == entry_->main) return "main";
    if (range->begin == entry_->start) return "_start";
  }
  return range ? fmt::format("{}+{:#x}{}", name_, range->begin, kNoSymbols) : "";
}

std::vector<CodeFrame> Symbolizer::File::At(Dwarf_Addr address) {
  const Dwarf_Addr in_file = address;
  address += bias_;
  std::vector<CodeFrame> frames;
  if (!IsCLibrary(name_)) frames = FromDebugInformation(address);
  if (frames.empty()) frames.emplace_back();
  CodeFrame& outermost = frames.back();
  if (outermost.function.empty()) {
    if (!symbols_) symbols_.emplace(module_);
    outermost.function = Demangled(symbols_->At(address).c_str());
    if (outermost.function.empty()) outermost.function = WithoutSymbol(in_file);
  }
  return frames;
}

std::string Symbolizer::File::VariableAt(Dwarf_Addr address) {
  if (!variables_) variables_.emplace(module_);
  return variables_->At(address + bias_);
}

std::string Symbolizer::File::CompileFolder(Dwarf_Addr address) {
  std::optional<Dwarf_Die> unit = UnitAt(address + bias_);
  Dwarf_Attribute attribute;
  if (!unit || dwarf_attr(&*unit, DW_AT_comp_dir, &attribute) == nullptr) return "";
  const char* folder = dwarf_formstring(&attribute);
  return folder != nullptr ? folder : "";
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
  ATTUNE_TRY(UniqueFd fd, OpenUserFile(path));
  Reported reported{std::unique_ptr<Dwfl, EndDwfl>(dwfl_begin(&kCallbacks)), nullptr};
  if (reported.dwfl != nullptr) {
    reported.module = dwfl_report_elf(reported.dwfl.get(), path.c_str(), path.c_str(), fd.get(), 0, true);
    if (reported.module != nullptr) static_cast<void>(fd.release());  // libdwfl closes it
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
    return std::make_unique<File>(std::move(reported.dwfl), reported.module,
                                  module.path.substr(module.path.rfind('/') + 1));
  };
  auto& kept = files_.emplace(module, open()).first->second;
  if (!kept.ok()) return kept.error();
  return kept->get();
}

Result<std::vector<CodeFrame>> Symbolizer::Resolve(const CodeModule& module, uint64_t address) {
  ATTUNE_TRY(File* const file, Open(module));
  // The byte before: a call that is a function's last instruction returns to the function behind it.
  return file->At(address - 1);
}

Result<std::string> Symbolizer::Variable(const CodeModule& module, uint64_t address) {
  ATTUNE_TRY(File* const file, Open(module));
  return file->VariableAt(address);
}

Result<std::string> Symbolizer::CompileFolder(const CodeModule& module, uint64_t address) {
  ATTUNE_TRY(File* const file, Open(module));
  return file->CompileFolder(address - 1);
}

Result<uint64_t> AddressOfOffset(const std::string& path, uint64_t offset) {
  ATTUNE_TRY(const UniqueFd fd, OpenUserFile(path));
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, decltype(&elf_end)> elf(elf_begin(fd.get(), ELF_C_READ, nullptr), &elf_end);
  size_t count = 0;
  if (elf == nullptr || elf_getphdrnum(elf.get(), &count) != 0)
    return Error{Errc::kCorrupt, path + ": " + elf_errmsg(-1), "it is no ELF file"};
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr part;
    if (gelf_getphdr(elf.get(), static_cast<int>(i), &part) == nullptr || part.p_type != PT_LOAD) continue;
    if (offset >= part.p_offset && offset - part.p_offset < part.p_filesz)
      return part.p_vaddr + (offset - part.p_offset);
  }
  return Error{Errc::kCorrupt, fmt::format("{}: nothing is loaded from offset {}", path, offset), ""};
}

Result<std::string> ReadBuildId(const std::string& path) {
  ATTUNE_TRY(const Reported reported, Report(path));
  return BuildIdOf(reported.module);
}

}  // namespace attune::symbols
