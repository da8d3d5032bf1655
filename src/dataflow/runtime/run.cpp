#include "attune/flow.h"
#include "dataflow/runtime/engine.h"

namespace attune::flow {

RunningGraph::RunningGraph(std::unique_ptr<detail::Engine> engine) : engine_(std::move(engine)) {}
RunningGraph::RunningGraph(RunningGraph&&) noexcept = default;
RunningGraph::~RunningGraph() = default;
const Report& RunningGraph::Wait() { return engine_->Wait(); }
void RunningGraph::Cancel() { engine_->Cancel(); }
void RunningGraph::SetThreads(int threads) { engine_->SetThreads(threads); }
int RunningGraph::Threads() const { return engine_->Threads(); }
void RunningGraph::SetTiming(bool on) { engine_->SetTiming(on); }
std::vector<KernelCost> RunningGraph::Costs() const { return engine_->Costs(); }
std::vector<Decision> RunningGraph::Decisions() const { return engine_->Decisions(); }
std::vector<KernelCost> RunningGraph::CostsSinceLast() { return engine_->CostsSinceLast(); }

RunningGraph Graph::Start(const RunOptions& options) const {
  return RunningGraph(std::make_unique<detail::Engine>(*info_, options));
}
Report Graph::Run(const RunOptions& options) const { return Start(options).Wait(); }

namespace detail {

bool PushFeed(Engine* engine, int field, const void* values, int64_t count) {
  return engine->PushFeed(field, values, count);
}
void CloseFeed(Engine* engine, int field) { engine->CloseFeed(field); }
const FieldAge* KeptAge(const Engine* engine, int field, int64_t age) { return engine->KeptAge(field, age); }

}  // namespace detail
}  // namespace attune::flow
