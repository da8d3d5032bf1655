#pragma once
/// Writes the contents of ages into a kept file, on a thread of its own. An age stays until it is written.

#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "attune/flow/graph.h"
#include "base/thread_safety.h"
#include "dataflow/kept/writer.h"
#include "dataflow/runtime/implementations.h"
#include "dataflow/runtime/stored_age.h"

namespace attune::flow::detail {

class Keeper {
 public:
  /// @param written called for each age when it is not needed any more, by the keeper's thread
  explicit Keeper(std::function<void(StoredAge*)> written) : written_(std::move(written)) {}
  ~Keeper() { Finish("", {}); }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  /// Makes the file and starts the thread. @return false: problem() says why not
  bool Start(const std::string& path, const GraphInfo& graph, const std::vector<Chosen>& chosen);
  /// An age that is complete. It must not change until it is written. @thread any
  void Add(StoredAge* stored);
  /// An element of an age that is not complete; it is written at the end. @thread any
  void AddElement(const FieldAge& age, int64_t index, int64_t element_bytes);
  /// Writes what is left, and how the run ended, with the error that ended it; then the thread ends. A second call does
  /// nothing.
  /// @thread one at a time
  void Finish(const std::string& outcome, const Error& error);
  /// @pre Start() has failed, or Finish()
  const std::string& problem() const { return writer_.problem(); }

 private:
  void Loop();

  std::function<void(StoredAge*)> written_;
  kept::Writer writer_;
  Mutex mutex_;
  CondVar changed_;
  struct Element {
    int field;
    int64_t age;
    int64_t index;
    std::vector<std::byte> value;
  };
  std::vector<Element> elements_ ATTUNE_GUARDED_BY(mutex_);
  std::deque<StoredAge*> waiting_ ATTUNE_GUARDED_BY(mutex_);
  bool finish_ ATTUNE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace attune::flow::detail
