#pragma once
/// What a batch is handed to: the store, a stream to elsewhere, a test.

#include "base/result.h"
#include "model/schema.h"

namespace attune::model {

class Sink {
 public:
  virtual ~Sink() = default;
  /// Called for each batch in the order in which it was published. Must not block for long: a sink that is slow queues
  /// and drops by itself, and counts. @thread the pipeline's only
  virtual void Consume(const BatchPtr& batch) = 0;
};

}  // namespace attune::model
