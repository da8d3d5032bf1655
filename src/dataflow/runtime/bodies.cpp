// What the code of kernels, which is compiled in the program, calls in the library.

#include <algorithm>
#include <exception>
#include <string>

#include "dataflow/runtime/instances.h"
#include "dataflow/runtime/stored_age.h"
#include "wire/tsc.h"

namespace attune::flow::detail {
namespace {

/// An error that a view or an out has found; the handler around the body adds the instance.
struct Fault {
  ErrorKind kind;
  std::string field;
  std::string what;
};

std::string Place(const FieldAge& age, const std::array<int64_t, kMaxRank>& index, int rank) {
  std::string text = std::string(age.field_name) + "(" + std::to_string(age.age) + ")";
  for (int dim = 0; dim < rank; ++dim) text += "[" + std::to_string(index[static_cast<size_t>(dim)]) + "]";
  return text;
}

std::string StoredTwice(const FieldAge& age, const int64_t* element) {
  std::array<int64_t, kMaxRank> index = {};
  std::copy_n(element, age.rank, index.begin());
  return Place(age, index, age.rank) + " is stored a second time";
}

RunBase& RunOf(RangeContext& context) { return *static_cast<RunBase*>(context.engine); }
Instances& InstancesOf(RangeContext& context) { return *static_cast<Instances*>(context.instances); }

}  // namespace

// Behind what was begun: a CPU would read it before a body of some dozen instructions has ended.
uint64_t Ticks() { return ReadTscBehind(); }

void ThrowHole(const FieldAge& age, int64_t position) {
  const auto& stored = static_cast<const StoredAge&>(age);
  throw Fault{ErrorKind::kHole, age.field_name,
              "nobody stored " + Place(age, stored.IndexOf(position), age.rank) + ", and the age is complete"};
}

void ThrowNoDimension(int dim, int rank) {
  throw std::out_of_range("a view of " + std::to_string(rank) + (rank == 1 ? " dimension" : " dimensions") +
                          " has no extent " + std::to_string(dim));
}

void ThrowOutside(const FieldAge& age, int dim, int64_t index) {
  const auto& stored = static_cast<const StoredAge&>(age);
  const std::string where = std::string(age.field_name) + "(" + std::to_string(age.age) + ")";
  const std::string what =
      "index " + std::to_string(index) + " of dimension " + std::to_string(dim) + " is outside of " + where;
  const std::string limit = stored.complete ? ", whose extent is " + std::to_string(age.extent[dim]) : "";
  throw Fault{ErrorKind::kOutside, age.field_name, what + limit};
}

void ThrowColumn(const FieldAge& age) {
  throw Fault{ErrorKind::kOutside, age.field_name,
              "a column of " + std::string(age.field_name) + " is no array: read its elements one by one"};
}

void ThrowStoredTwice(const FieldAge& age, const int64_t* index) {
  throw Fault{ErrorKind::kStoredTwice, age.field_name, StoredTwice(age, index)};
}

void ReportException(RangeContext& context, const int64_t* index) {
  RunBase& run = RunOf(context);
  try {
    throw;
  } catch (const Fault& fault) {
    Error error = run.ErrorAt(InstancesOf(context), index, fault.kind, fault.what);
    error.field = fault.field;
    run.Fail(std::move(error));
  } catch (const std::exception& exception) {
    run.Fail(
        run.ErrorAt(InstancesOf(context), index, ErrorKind::kException, std::string("exception: ") + exception.what()));
  } catch (...) {
    run.Fail(run.ErrorAt(InstancesOf(context), index, ErrorKind::kException,
                         "exception of a type that is no std::exception"));
  }
}

void ReportStoredTwice(RangeContext& context, const int64_t* index, const FieldAge& age, const int64_t* element) {
  RunBase& run = RunOf(context);
  Error error = run.ErrorAt(InstancesOf(context), index, ErrorKind::kStoredTwice, StoredTwice(age, element));
  error.field = age.field_name;
  run.Fail(std::move(error));
}

void Notify(RangeContext& context, FieldAge* age, int64_t begin, int64_t end) {
  RunBase& run = RunOf(context);
  for (int i = 0; i < age->stream_count; ++i) {
    const StreamReader& stream = age->streams[i];
    // Instances are counted from the smallest index on that exists.
    const int64_t low = stream.reader->low[0];
    const int64_t first = std::max<int64_t>(0, begin - stream.offset - low);
    const int64_t last = end - stream.offset - low;
    if (first < last) run.NotifyReaders(context, {static_cast<Instances*>(stream.reader), first, last});
  }
}

void StopAfter(RangeContext& context) { RunOf(context).StopAfter(context.instances->age); }
void FinishSource(RangeContext& context) { RunOf(context).FinishSource(InstancesOf(context)); }

bool Decide(RangeContext& context, int64_t instance) {
  uint8_t undecided = 0;
  return context.instances->decided[instance].compare_exchange_strong(undecided, 1, std::memory_order_acq_rel);
}

}  // namespace attune::flow::detail
