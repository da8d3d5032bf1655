#pragma once
/// Interface of consumers of batches: the store, an external sink, a test.

#include "base/result.h"
#include "model/schema.h"

namespace attune::model {

class Sink {
 public:
  virtual ~Sink() = default;
  /// Called for each batch in the order in which it was published. Must not block for long: a slow sink keeps its own
  /// queue, drops rows and counts them. @thread the pipeline's only
  virtual void Consume(const BatchPtr& batch) = 0;
};

}  // namespace attune::model
