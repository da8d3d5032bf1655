#include "symbols/process_code.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "symbols/debug_file.h"
#include "symbols/debug_function.h"
#include "symbols/variable_path.h"

namespace attune::symbols {
namespace {

constexpr size_t kMostFrames = 256;

std::string BaseName(const char* path) {
  return path == nullptr ? "" : std::filesystem::path(path).filename().string();
}

/// Name in a symbol table without its version, "f@@V1" and "f@V1".
std::string_view WithoutVersion(std::string_view name) { return name.substr(0, name.find('@')); }

/// "ns::f(int)" is called ns::f, too.
bool IsCalled(const char* symbol, std::string_view name, bool is_qualified) {
  if (WithoutVersion(symbol) == name) return true;
  if (!is_qualified || std::strncmp(symbol, "_Z", 2) != 0) return false;
  const std::string text = Demangled(symbol);
  return text == name || std::string_view(text).substr(0, text.find('(')) == name;
}

}  // namespace

struct ProcessCode::Session {
  pid_t pid = 0;
  Dwfl_Callbacks callbacks{};
  Dwfl* dwfl = nullptr;

  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    if (dwfl != nullptr) dwfl_end(dwfl);
  }

  /// By way of the process: it may have another root.
  static int FindElf(Dwfl_Module* module, void** user_data, const char* name, Dwarf_Addr base, char** file_name,
                     Elf** elf) {
    const auto* session = static_cast<const Session*>(*user_data);
    if (session != nullptr && name[0] == '/') {
      const std::string path = fmt::format("/proc/{}/root{}", session->pid, name);
      if (const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); fd >= 0) {
        *file_name = strdup(path.c_str());
        return fd;
      }
    }
    return dwfl_linux_proc_find_elf(module, user_data, name, base, file_name, elf);
  }

  /// @param visit (module, its path) -> whether to go on
  template <class Visit>
  void ForEachModule(Visit visit) const {
    const auto call = [](Dwfl_Module* module, void**, const char* name, Dwarf_Addr, void* argument) -> int {
      return (*static_cast<Visit*>(argument))(module, name) ? DWARF_CB_OK : DWARF_CB_ABORT;
    };
    dwfl_getmodules(dwfl, call, &visit, 0);
  }
};

ProcessCode::ProcessCode(std::unique_ptr<Session> session) : session_(std::move(session)) {}
ProcessCode::ProcessCode(ProcessCode&&) noexcept = default;
ProcessCode& ProcessCode::operator=(ProcessCode&&) noexcept = default;
ProcessCode::~ProcessCode() = default;

Result<ProcessCode> ProcessCode::Open(pid_t pid) {
  auto session = std::make_unique<Session>();
  session->pid = pid;
  session->callbacks.find_elf = &Session::FindElf;
  session->callbacks.find_debuginfo = &FindDebugFile;
  session->dwfl = dwfl_begin(&session->callbacks);
  if (session->dwfl == nullptr) return Error{Errc::kInternal, "libdwfl does not start", ""};
  const std::string what = fmt::format("the memory map of process {}", pid);
  if (const int error = dwfl_linux_proc_report(session->dwfl, pid); error != 0)
    return error > 0 ? ErrnoError(what, error) : Error{Errc::kIo, what + ": " + dwfl_errmsg(-1), ""};
  if (dwfl_report_end(session->dwfl, nullptr, nullptr) != 0) return Error{Errc::kIo, what + ": " + dwfl_errmsg(-1), ""};
  const auto adopt = [](Dwfl_Module*, void** user_data, const char*, Dwarf_Addr, void* argument) -> int {
    *user_data = argument;
    return DWARF_CB_OK;
  };
  dwfl_getmodules(session->dwfl, adopt, session.get(), 0);
  return ProcessCode(std::move(session));
}

Result<ProcessFunction> ProcessCode::FindFunction(std::string_view name) const {
  const VariablePath path = SplitVariablePath(name);
  const std::string_view wanted = path.library.empty() ? name : name.substr(path.library.size() + 1);
  std::error_code no_link;
  const std::string program = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", session_->pid), no_link);
  const bool is_qualified = wanted.find(':') != std::string_view::npos || wanted.find('(') != std::string_view::npos;
  std::optional<ProcessFunction> found;
  bool is_resolver = false;
  session_->ForEachModule([&](Dwfl_Module* module, const char* file) {
    if (!BaseName(file).starts_with(path.library)) return true;
    Dwarf_Addr from = 0, to = 0;
    dwfl_module_info(module, nullptr, &from, &to, nullptr, nullptr, nullptr, nullptr);
    const int count = dwfl_module_getsymtab(module);
    for (int i = 1; i < count; ++i) {
      GElf_Sym symbol;
      GElf_Addr address = 0;
      GElf_Word section = 0;
      const char* text = dwfl_module_getsym_info(module, i, &symbol, &address, &section, nullptr, nullptr);
      const auto type = GELF_ST_TYPE(symbol.st_info);
      if (text == nullptr || section == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC)) continue;
      if (!IsCalled(text, wanted, is_qualified)) continue;
      is_resolver = type == STT_GNU_IFUNC;
      if (!is_resolver) {
        found = ProcessFunction{address, from, to, file != program};
        return false;
      }
    }
    return true;
  });
  if (found) return *found;
  if (is_resolver)
    return Error{Errc::kUnavailable, fmt::format("{} has several implementations, chosen when it is linked", name), ""};
  return Error{Errc::kNotFound, fmt::format("process {} has no function '{}'", session_->pid, name),
               "inlined functions cannot be called; nm -DC and nm -C list those of a file"};
}

Result<Variable> ProcessCode::FindVariable(std::string_view expression, const ReadMemory& read) const {
  const VariablePath path = SplitVariablePath(expression);
  std::optional<Result<FoundVariable>> found;
  std::optional<Variable> without_type;
  session_->ForEachModule([&](Dwfl_Module* module, const char* file) {
    if (!BaseName(file).starts_with(path.library)) return true;
    Dwarf_Addr bias = 0;
    for (Dwarf_Die* unit = nullptr; (unit = dwfl_module_nextcu(module, unit, &bias)) != nullptr;) {
      auto in_unit = FindInUnit(*unit, path.name, bias);
      if (!in_unit.ok() && in_unit.error().code == Errc::kNotFound) continue;
      // A declaration without a place may be defined in another unit.
      const bool is_there = in_unit.ok();
      found = std::move(in_unit);
      if (is_there) return false;
    }
    const int count = dwfl_module_getsymtab(module);
    for (int i = 1; i < count && !without_type; ++i) {
      GElf_Sym symbol;
      GElf_Addr address = 0;
      GElf_Word section = 0;
      const char* text = dwfl_module_getsym_info(module, i, &symbol, &address, &section, nullptr, nullptr);
      if (text == nullptr || section == SHN_UNDEF || GELF_ST_TYPE(symbol.st_info) != STT_OBJECT) continue;
      if (!IsCalled(text, path.name, path.name.find(':') != std::string::npos)) continue;
      without_type = Variable{.address = address, .bytes = symbol.st_size, .type = "", .words = {}};
    }
    return true;
  });
  if (found && found->ok()) return FollowSteps(**found, path.steps, read);
  if (found && !without_type) return found->error();
  if (!without_type)
    return Error{Errc::kNotFound, fmt::format("process {} has no variable '{}'", session_->pid, path.name),
                 "nm -C lists those of a file that is not stripped; local variables have no name outside of theirs"};
  const size_t bytes = without_type->bytes;
  if (path.steps.empty() && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8)) return *without_type;
  return Error{Errc::kUnavailable, fmt::format("{} has no debug information: its members are not known", path.name),
               "compile with -g, or install the package with its debug information"};
}

void ProcessCode::PrepareFrames() {
  dwfl_linux_proc_attach(session_->dwfl, session_->pid, true);
  session_->ForEachModule([](Dwfl_Module* module, const char*) {
    Dwarf_Addr bias = 0;
    dwfl_module_eh_cfi(module, &bias);
    dwfl_module_getsymtab(module);
    return true;
  });
}

ThreadFrames ProcessCode::Frames(pid_t tid) const {
  struct Taken {
    Dwfl* dwfl;
    ThreadFrames result;
  } taken{session_->dwfl, {}};
  const auto take = [](Dwfl_Frame* frame, void* argument) -> int {
    auto& [dwfl, result] = *static_cast<Taken*>(argument);
    Dwarf_Addr address = 0;
    bool is_activation = false;
    if (result.frames.size() == kMostFrames || !dwfl_frame_pc(frame, &address, &is_activation)) return DWARF_CB_ABORT;
    const Dwarf_Addr inside = address - (is_activation ? 0 : 1);
    ThreadFrame row{.address = address, .function = "", .file = ""};
    if (Dwfl_Module* module = dwfl_addrmodule(dwfl, inside); module != nullptr) {
      const char* function = dwfl_module_addrname(module, inside);
      row.function = function != nullptr ? WithoutVersion(function) : "";
      row.file = BaseName(dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr));
    }
    result.frames.push_back(std::move(row));
    return DWARF_CB_OK;
  };
  taken.result.is_whole = dwfl_getthread_frames(session_->dwfl, tid, take, &taken) == 0;
  return std::move(taken.result);
}

}  // namespace attune::symbols
