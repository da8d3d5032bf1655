#include "session/probes/python_stacks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <span>
#include <string_view>

#include "base/privilege.h"
#include "session/probes/process_files.h"
#include "symbols/exported_symbol.h"

namespace attune::session {
namespace {

/// "python3.11", "libpython3.11.so.1.0". A program that has the interpreter in itself has other names, and no places.
bool IsPython(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.starts_with("lib")) name.remove_prefix(3);
  return name.starts_with("python3");
}

/// Reads by one descriptor for as long as the process is the same program.
profile::ReadProcess ReaderOf(int32_t pid) {
  const KernelFileRights rights;
  const auto memory = std::make_shared<UniqueFd>(open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC));
  return [memory](uint64_t address, std::span<std::byte> into) {
    return *memory && pread(memory->get(), into.data(), into.size(), static_cast<off_t>(address)) ==
                          static_cast<ssize_t>(into.size());
  };
}

/// The part of a sample's stack that a function has.
std::vector<uint64_t> WordsOf(const profile::CpuSample& sample, const profile::StackPart& part) {
  const uint64_t start = sample.registers.general[profile::kStackPointer];
  if (part.begin < start || part.end <= part.begin || part.end - start > sample.stack_copy.size()) return {};
  std::vector<uint64_t> words((part.end - part.begin) / sizeof(uint64_t));
  std::memcpy(words.data(), sample.stack_copy.data() + (part.begin - start), words.size() * sizeof(uint64_t));
  return words;
}

}  // namespace

const PythonStacks::Interpreter* PythonStacks::InterpreterOf(int32_t pid, const track::MappedFile& mapped) {
  if (!IsPython(mapped.path)) return nullptr;
  const auto found = files_.find({mapped.path, mapped.inode});
  if (found != files_.end()) return found->second ? &*found->second : nullptr;
  if (files_.size() >= kMaxFiles) return nullptr;
  auto& interpreter = files_[{mapped.path, mapped.inode}];
  const auto fd = OpenMapped(pid, mapped);
  if (!fd.ok()) return nullptr;
  const auto evaluation = symbols::FindExportedSymbol(fd->get(), "_PyEval_EvalFrameDefault");
  const auto code_type = symbols::FindExportedSymbol(fd->get(), "PyCode_Type");
  const auto version = symbols::FindExportedSymbol(fd->get(), "Py_Version");
  if (!evaluation || !code_type || !version) return nullptr;
  interpreter = {.begin = evaluation->address,
                 .end = evaluation->address + evaluation->bytes,
                 .code_type = code_type->address,
                 .version = version->address};
  return &*interpreter;
}

PythonStacks::Process* PythonStacks::ProcessOf(int32_t pid, const Interpreter& interpreter, uint64_t bias) {
  const auto found = processes_.find(pid);
  if (found != processes_.end()) return found->second && found->second->bias == bias ? &*found->second : nullptr;
  if (processes_.size() >= kMaxProcesses) processes_.clear();
  auto read = ReaderOf(pid);
  uint64_t version = 0;
  const bool is_read = read(interpreter.version + bias, std::as_writable_bytes(std::span(&version, 1)));
  std::optional<Process>& process = processes_[pid];
  if (!is_read || version < wire::kPythonFirst || version >= wire::kPythonBehind) return nullptr;
  process = {.bias = bias, .reader = profile::PythonReader(interpreter.code_type + bias, std::move(read))};
  return &*process;
}

PythonStacks::Executed PythonStacks::Find(const profile::CpuSample& sample, uint64_t address,
                                          const track::MappedFile& file, uint64_t bias,
                                          const profile::StackPart& part) {
  const Interpreter* const interpreter = InterpreterOf(sample.pid, file);
  if (interpreter == nullptr || address - bias < interpreter->begin || address - bias >= interpreter->end) return {};
  Process* const process = ProcessOf(sample.pid, *interpreter, bias);
  if (process == nullptr) return {};
  Executed executed;
  const auto places = process->reader.PlacesOf(WordsOf(sample, part), part.registers);
  for (const profile::PythonPlace& place : places)
    executed.sites.push_back(sites_.Add(sample.pid, SourcePosition(place.file, place.line, place.function)));
  executed.spins = !places.empty() && places.front().spins;
  return executed;
}

void PythonStacks::CopyMemory(int32_t parent, int32_t child) {
  const auto found = processes_.find(parent);
  if (found == processes_.end() || !found->second) return;
  processes_.insert_or_assign(
      child, Process{.bias = found->second->bias, .reader = found->second->reader.CopyFor(ReaderOf(child))});
}

}  // namespace attune::session
