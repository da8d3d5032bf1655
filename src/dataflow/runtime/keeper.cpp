#include "dataflow/runtime/keeper.h"

#include <unistd.h>

#include <climits>

#include "dataflow/runtime/idle.h"

namespace attune::flow::detail {
namespace {

kept::ProgramDescription Describe(const GraphInfo& graph, const std::vector<Chosen>& chosen) {
  kept::ProgramDescription program;
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  if (length > 0) program.executable.assign(path, static_cast<size_t>(length));
  for (const FieldInfo& field : graph.fields)
    program.fields.push_back({field.name, field.kind, field.rank, field.aged, field.sparse, field.element_bytes});
  for (size_t k = 0; k < graph.kernels.size(); ++k) {
    kept::KernelDescription kernel{graph.kernels[k].name, std::string(CapabilityName(chosen[k].capability)), {}};
    for (const SliceInfo& store : graph.kernels[k].stores) kernel.stores.push_back(static_cast<uint32_t>(store.field));
    program.kernels.push_back(std::move(kernel));
  }
  return program;
}

}  // namespace

bool Keeper::Start(const std::string& path, const GraphInfo& graph, const std::vector<Chosen>& chosen) {
  if (!writer_.Create(path, Describe(graph, chosen))) return false;
  thread_ = std::thread([this] { Loop(); });
  return true;
}

void Keeper::Add(StoredAge* stored) {
  const MutexLock lock(mutex_);
  waiting_.push_back(stored);
  changed_.NotifyAll();
}

void Keeper::AddElement(const FieldAge& age, int64_t index, int64_t element_bytes) {
  const Piece piece = Locate(age, index);
  const std::byte* value = piece.data + piece.position * element_bytes;
  const MutexLock lock(mutex_);
  elements_.push_back({age.field, age.age, index, {value, value + element_bytes}});
}

void Keeper::Finish(const std::string& outcome, const Error& error) {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    finish_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
  const MutexLock lock(mutex_);
  for (const Element& each : elements_) writer_.WriteElement(each.field, each.age, each.index, each.value);
  if (!outcome.empty()) writer_.WriteEnd(outcome, {error.kernel, error.age, error.index});
}

void Keeper::Loop() {
  for (;;) {
    StoredAge* stored = nullptr;
    {
      MutexLock lock(mutex_);
      const Idle idle;
      changed_.Wait(lock, [this]() ATTUNE_REQUIRES(mutex_) { return finish_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      stored = waiting_.front();
      waiting_.pop_front();
    }
    writer_.WriteAge(*stored, stored->element_bytes, stored->stored);
    written_(stored);
  }
}

}  // namespace attune::flow::detail
