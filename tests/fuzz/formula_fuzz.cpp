// Formulas over signals: what is parsed can be computed.

#include <cstdint>
#include <string_view>

#include "analysis/derived/derived_operator.h"
#include "analysis/derived/formula.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto formula = attune::analysis::Formula::Parse({reinterpret_cast<const char*>(data), size});
  if (!formula.ok()) return 0;
  const attune::analysis::DerivedOperator values({&formula->series()});
  static_cast<void>(values.Find(formula->series(), 0)->At(0));
  return 0;
}
