// Elements that two stores write for certain: the same slices for the same instances.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "dataflow/language/checks.h"

namespace attune::flow::language {
namespace {

/// A slice with the kernel's variables by number, so that those of two kernels can be compared.
std::string Normalised(const SliceExpression& slice, const KernelDefinition& kernel, int rank) {
  std::string text = slice.field.text;
  if (slice.age.form != AgeForm::kNone)
    text += fmt::format("({}{})", slice.age.form == AgeForm::kVariable ? "a+" : "", slice.age.value);
  for (const IndexExpression& index : slice.indexes) {
    if (index.form == IndexForm::kWhole) {
      text += "[*]";
    } else if (index.form == IndexForm::kFixed) {
      text += fmt::format("[{}]", index.value);
    } else {
      text += fmt::format("[{}:{}]", kernel.Index(index.variable.text), index.value);
    }
  }
  for (int dim = static_cast<int>(slice.indexes.size()); dim < rank; ++dim) text += "[*]";
  return text;
}

bool MayWithhold(const KernelDefinition& kernel) { return kernel.Calls("skip") || kernel.Calls("finish"); }

struct Stored {
  const KernelDefinition* kernel;
  const StoreStatement* store;
};

}  // namespace

void CheckStores(const ProgramText& program, Diagnostics& diagnostics) {
  const auto rank_of = [&](const SliceExpression& slice) {
    return program.fields[static_cast<size_t>(program.Field(slice.field.text))].rank;
  };
  std::map<std::string, Stored> seen;
  for (const KernelDefinition& kernel : program.kernels) {
    if (MayWithhold(kernel)) continue;
    // Set of instances: the same fetches and bounds give the same ones.
    std::vector<std::string> parts;
    for (const FetchStatement& fetch : kernel.fetches)
      parts.push_back(Normalised(fetch.slice, kernel, rank_of(fetch.slice)));
    std::sort(parts.begin(), parts.end());
    for (const IndexDeclaration& index : kernel.indexes) parts.push_back("<" + index.bound);
    std::string instances = kernel.age ? "aged" : "once";
    for (const std::string& part : parts) instances += " " + part;
    for (const StoreStatement& store : kernel.stores) {
      const int rank = rank_of(store.slice);
      if (WholeDimensions(store.slice, rank) > 0) continue;
      const auto [first, is_new] =
          seen.insert({instances + " -> " + Normalised(store.slice, kernel, rank), {&kernel, &store}});
      if (is_new) continue;
      const Stored& other = first->second;
      diagnostics.Error(store.slice.field.at,
                        fmt::format("{} is stored twice: also by kernel '{}' in line {}", ToText(store.slice),
                                    other.kernel->name.text, other.store->slice.field.at.line),
                        "an element is stored once: take another age or another field");
    }
  }
}

}  // namespace attune::flow::language
