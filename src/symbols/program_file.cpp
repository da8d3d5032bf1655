#include "symbols/program_file.h"

#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "base/unique_fd.h"

namespace attune::symbols {
namespace {

/// As much of a first line as the kernel reads.
constexpr size_t kMaxScriptLine = 256;
/// More than any loader's path.
constexpr size_t kMaxInterpreter = 4096;

ProgramFile Script(std::string_view line) {
  line = line.substr(2, line.find('\n') - 2);
  const size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  const size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
  return {.interpreter = std::string(line.substr(begin, end - begin)), .is_script = true};
}

std::string ReadInterpreter(int fd, const GElf_Phdr& part) {
  std::string text(std::min<size_t>(part.p_filesz, kMaxInterpreter), '\0');
  const ssize_t got = ::pread(fd, text.data(), text.size(), static_cast<off_t>(part.p_offset));
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

std::vector<std::string> ReadNeeded(Elf* elf) {
  std::vector<std::string> needed;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNAMIC) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr) continue;
    GElf_Dyn entry;
    for (int i = 0; gelf_getdyn(data, i, &entry) != nullptr && entry.d_tag != DT_NULL; ++i) {
      if (entry.d_tag != DT_NEEDED) continue;
      const char* name = elf_strptr(elf, header.sh_link, entry.d_un.d_val);
      if (name != nullptr) needed.emplace_back(name);
    }
  }
  return needed;
}

/// Whether a segment of notes has the probe's own (src/probe/hook/real_static.cpp), which stripping leaves there.
bool HasProbeNote(Elf* elf, const GElf_Phdr& part) {
  constexpr std::string_view kOwner = "attune";
  Elf_Data* data = elf_getdata_rawchunk(elf, static_cast<int64_t>(part.p_offset), part.p_filesz,
                                        part.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
  if (data == nullptr) return false;
  GElf_Nhdr note;
  size_t name_at = 0, text_at = 0;
  for (size_t at = 0; (at = gelf_getnote(data, at, &note, &name_at, &text_at)) > 0;) {
    const std::string_view owner(static_cast<const char*>(data->d_buf) + name_at, note.n_namesz);
    if (owner.substr(0, owner.find('\0')) == kOwner) return true;
  }
  return false;
}

}  // namespace

Result<ProgramFile> ReadProgramFile(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return ErrnoError("opening " + path);
  char start[kMaxScriptLine];
  const ssize_t got = ::pread(fd.get(), start, sizeof start, 0);
  if (got > 2 && start[0] == '#' && start[1] == '!') return Script({start, static_cast<size_t>(got)});
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, decltype(&elf_end)> elf(elf_begin(fd.get(), ELF_C_READ, nullptr), &elf_end);
  GElf_Ehdr header;
  size_t parts = 0;
  if (elf == nullptr || gelf_getehdr(elf.get(), &header) == nullptr || elf_getphdrnum(elf.get(), &parts) != 0)
    return Error{Errc::kCorrupt, path + " is neither an ELF file nor a script", ""};
  ProgramFile file{.machine = header.e_machine, .bits = header.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32};
  for (size_t i = 0; i < parts; ++i) {
    GElf_Phdr part;
    if (gelf_getphdr(elf.get(), static_cast<int>(i), &part) == nullptr) continue;
    if (part.p_type == PT_INTERP) file.interpreter = ReadInterpreter(fd.get(), part);
    if (part.p_type == PT_NOTE && HasProbeNote(elf.get(), part)) file.has_hooks = true;
  }
  file.needed = ReadNeeded(elf.get());
  return file;
}

}  // namespace attune::symbols
