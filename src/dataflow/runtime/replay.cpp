#include "dataflow/runtime/replay.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <new>

#include "dataflow/kept/reader.h"
#include "dataflow/runtime/domain.h"
#include "dataflow/runtime/instances.h"
#include "dataflow/runtime/stored_age.h"

namespace attune::flow::detail {
namespace {

constexpr int kSame = 0, kOther = 1, kImpossible = 2;
constexpr int64_t kMostShown = 16;

/// Why the instance cannot be run.
struct Impossible {
  std::string what;
};

std::vector<std::string> NamesOf(const GraphInfo& graph) {
  std::vector<std::string> names;
  for (const KernelInfo& kernel : graph.kernels) names.push_back(kernel.name);
  return names;
}

/// The run as the body sees it: there is nothing but this instance.
class ReplayRun final : public RunBase {
 public:
  explicit ReplayRun(const GraphInfo& graph) : RunBase(graph, {}, NamesOf(graph), {}) {}
  void Choose(Chosen chosen) { only_ = chosen; }
  const Chosen& only() const { return only_; }
  const std::string& failure() const { return failure_; }

  void Fail(Error error) override {
    if (failure_.empty()) failure_ = error.what;
  }
  void StopAfter(int64_t) override { std::puts("  stop() was called"); }
  void FinishSource(const Instances&) override { std::puts("  finish() was called"); }
  void NotifyReaders(RangeContext&, const Task&) override {}
  void Done(Instances*, int64_t) override {}
  void DoneWithDeadline(Instances*, int64_t, int64_t) override {}
  void OpenTargets(Instances*) override {}
  Instances* Pin(int, int64_t, int64_t) override { return nullptr; }
  void Unpin(Instances*) override {}

 private:
  Chosen only_;
  std::string failure_;
};

class Replayer {
 public:
  Replayer(const GraphInfo& graph, const ProgramOptions& options)
      : graph_(graph), options_(options), request_(options.replay), run_(graph) {}
  ~Replayer() {
    if (file_ >= 0) ::close(file_);
  }
  Replayer(const Replayer&) = delete;
  Replayer& operator=(const Replayer&) = delete;

  /// @throws Impossible
  int Run(const char* name) {
    OpenFile();
    FindKernel();
    const std::string note = Choose();
    Fetch();
    const int64_t number = FindInstance();
    PrepareStores();
    if (!note.empty()) std::fprintf(stderr, "%s: %s\n", name, note.c_str());
    std::printf("%s (%s)\n", Title().c_str(), std::string(CapabilityName(run_.only().capability)).c_str());
    PrintFetches(Id());
    const int code = ExecuteAndCompare(name, number, false);
    if (code != kOther || kernel().deadline_ns == 0 || !run_.failure().empty()) return code;
    std::puts("its alternate, whose result counts where the deadline was missed:");
    stored_.clear();
    PrepareStores();
    return ExecuteAndCompare(name, number, true);
  }

 private:
  using Place = std::pair<int, int64_t>;  // field and age

  const KernelInfo& kernel() const { return graph_.kernels[static_cast<size_t>(kernel_)]; }
  const kept::FieldDescription& Described(int field) const {
    return kept_.program().fields[static_cast<size_t>(field)];
  }
  [[noreturn]] void Refuse(const std::string& what) const { throw Impossible{what}; }

  // ---- what is asked for

  void OpenFile() {
    file_ = ::open(request_.file.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) Refuse(request_.file + ": " + std::strerror(errno));
    std::string problem;
    if (!kept_.Open(file_, &problem)) Refuse(request_.file + " " + problem);
    const auto& fields = kept_.program().fields;
    bool same = fields.size() == graph_.fields.size();
    for (size_t f = 0; f < fields.size() && same; ++f) {
      const FieldInfo& own = graph_.fields[f];
      same = fields[f].name == own.name && fields[f].kind == own.kind && fields[f].rank == own.rank &&
             fields[f].aged == own.aged && fields[f].element_bytes == own.element_bytes;
    }
    if (!same) Refuse(request_.file + " is of another program: its fields are not those of this one");
  }

  void FindKernel() {
    if (request_.kernel.empty()) {
      const kept::InstanceDescription& failed = kept_.failed();
      if (failed.kernel.empty())
        Refuse("no instance of " + request_.file + " has failed: give --kernel NAME, and --age N and --index I where " +
               "it has them");
      request_.kernel = failed.kernel;
      request_.age = failed.age;
      request_.index = failed.index;
    }
    std::string names;
    for (size_t k = 0; k < graph_.kernels.size(); ++k) {
      if (graph_.kernels[k].name == request_.kernel) kernel_ = static_cast<int>(k);
      names += (k == 0 ? "" : ", ") + graph_.kernels[k].name;
    }
    if (kernel_ < 0) Refuse("there is no kernel '" + request_.kernel + "': kernels are " + names);
    const std::string which = "kernel '" + request_.kernel + "'";
    if (kernel().aged && request_.age < 0) Refuse(which + " has ages: give --age N");
    if (!kernel().aged && request_.age > 0) Refuse(which + " has no ages: leave --age out");
    const auto variables = static_cast<size_t>(kernel().variables);
    if (request_.index.size() == variables) return;
    if (variables == 0) Refuse(which + " has no index variable: leave --index out");
    Refuse(which + " has " + std::to_string(variables) + (variables == 1 ? " index variable" : " index variables") +
           ": give --index " +
           (variables == 1   ? "I"
            : variables == 2 ? "I,J"
            : variables == 3 ? "I,J,K"
                             : "I,J,K,L"));
  }

  /// The code that the run had, unless another one is asked for. @return what is to be said about that
  std::string Choose() {
    std::vector<Chosen> chosen;
    std::string wanted = options_.run.implementation;
    std::string note;
    if (wanted.empty()) {
      const kept::KernelDescription* before = kept_.Kernel(request_.kernel);
      wanted = before == nullptr ? "" : before->implementation;
      if (const auto error = ChooseImplementations(graph_, wanted, HasCapability, &chosen)) {
        note = "the run had code for " + wanted + ", this replay has not: " + error->what;
        wanted.clear();
      }
    }
    if (const auto error = ChooseImplementations(graph_, wanted, HasCapability, &chosen)) Refuse(error->what);
    run_.Choose(chosen[static_cast<size_t>(kernel_)]);
    return note;
  }

  // ---- what it fetches

  std::unique_ptr<StoredAge> Empty(int field, int64_t age) {
    const FieldInfo& info = graph_.fields[static_cast<size_t>(field)];
    auto made = std::make_unique<StoredAge>();
    made->rank = info.rank;
    made->sparse = info.sparse;
    made->field = field;
    made->field_name = info.name.c_str();
    made->age = age;
    made->max_extent = options_.run.max_extent;
    made->element_bytes = info.element_bytes;
    made->live_bytes = &bytes_;
    return made;
  }

  /// nullptr: the file does not have it.
  std::unique_ptr<StoredAge> Load(int field, int64_t age) {
    const kept::AgeEntry* entry = kept_.Find(field, age);
    if (entry == nullptr) return nullptr;
    kept::AgeContents contents;
    std::string problem;
    if (!kept_.Read(*entry, &contents, &problem)) Refuse(request_.file + ": " + problem);
    std::unique_ptr<StoredAge> made = Empty(field, age);
    std::array<int64_t, kMaxRank> extents = {};
    std::copy_n(entry->extent, made->rank, extents.begin());
    made->Reserve(extents);
    std::memcpy(made->first.data, contents.values.data(), contents.values.size());
    for (int64_t i = 0; i < entry->elements; ++i) {
      if (contents.Has(i)) ClaimRange(made->first.written, i, 1);
    }
    made->Finish();
    return made;
  }

  /// An age of which only one element is known: that which the instance that failed had fetched.
  std::unique_ptr<StoredAge> LoadElement(int field, int64_t age) {
    const kept::SingleElement* element = kept_.FindElement(field, age);
    if (element == nullptr) return nullptr;
    std::unique_ptr<StoredAge> made = Empty(field, age);
    made->Reserve({element->index + 1, 0, 0, 0});
    std::memcpy(made->first.data + element->index * made->element_bytes, element->value.data(), element->value.size());
    ClaimRange(made->first.written, element->index, 1);
    made->Finish();
    return made;
  }

  void Fetch() {
    instances_.kernel = kernel_;
    instances_.age = kernel().aged ? request_.age : 0;
    for (size_t s = 0; s < kernel().fetches.size(); ++s) {
      const SliceInfo& fetch = kernel().fetches[s];
      const Place place = {fetch.field, AgeIn(fetch)};
      if (place.second < 0) Refuse("there is no such instance: it would fetch an age before 0");
      auto& stored = fetched_[place];
      if (stored == nullptr) stored = Load(place.first, place.second);
      if (stored == nullptr) stored = LoadElement(place.first, place.second);
      if (stored == nullptr)
        Refuse(request_.file + " has no " + run_.FieldText(place.first, place.second) +
               ", which the instance fetches: it was not complete when the run ended, or nothing was stored");
      instances_.in[s] = stored.get();
    }
  }

  int64_t AgeIn(const SliceInfo& slice) const {
    return slice.kind == AgeKind::kVariable ? instances_.age + slice.age : slice.age;
  }

  /// @return its number among the instances of its age
  int64_t FindInstance() {
    ExtentConflict conflict;
    instances_.total = FindDomain(kernel(), &instances_, &conflict);
    if (instances_.total < 0)
      Refuse(conflict.one == nullptr ? "the kernel has more instances in that age than can be counted"
                                     : "the extents of what the kernel fetches disagree in that age");
    int64_t number = 0;
    for (int v = 0; v < kernel().variables; ++v) {
      const int64_t low = instances_.low[v], count = instances_.count[v];
      const int64_t index = request_.index[static_cast<size_t>(v)];
      if (index < low || index >= low + count)
        Refuse("there is no such instance: index variable " + std::to_string(v) +
               (count == 0 ? " has no values"
                           : " goes from " + std::to_string(low) + " to " + std::to_string(low + count - 1)) +
               " in that age");
      number = number * count + index - low;
    }
    return number;
  }

  InstanceId Id() const {
    InstanceId id{kernel_, instances_.age, {}};
    std::copy(request_.index.begin(), request_.index.end(), id.index);
    return id;
  }

  /// "kernel 'assign', age 7, index [42]"
  std::string Title() const {
    const std::string text = run_.ErrorAt(Id(), ErrorKind::kNone, "").what;
    return text.substr(0, text.size() - 2);
  }

  // ---- running

  void PrepareStores() {
    for (size_t s = 0; s < kernel().stores.size(); ++s) {
      const SliceInfo& store = kernel().stores[s];
      const Place place = {store.field, AgeIn(store)};
      if (place.second < 0) Refuse("there is no such instance: it would store into an age before 0");
      auto& stored = stored_[place];
      if (stored == nullptr) stored = Empty(place.first, place.second);
      std::array<int64_t, kMaxRank> extents = {};
      for (size_t dim = 0; dim < static_cast<size_t>(store.rank); ++dim) {
        const int variable = store.variable[dim];
        if (variable >= 0) extents[dim] = request_.index[static_cast<size_t>(variable)] + store.offset[dim] + 1;
        if (variable == kFixedIndex) extents[dim] = store.offset[dim] + 1;
      }
      stored->Reserve(extents);
      instances_.out[s] = stored.get();
    }
    if (kernel().deadline_ns == 0) return;
    instances_.decisions = std::make_unique<std::atomic<uint8_t>[]>(static_cast<size_t>(instances_.total));
    instances_.decided = instances_.decisions.get();
  }

  int ExecuteAndCompare(const char* name, int64_t number, bool alternate) {
    std::fflush(stdout);
    const int64_t executed = Execute(number, alternate);
    if (!run_.failure().empty()) {
      std::fflush(stdout);
      std::fprintf(stderr, "%s: failed: %s\n", name, run_.failure().c_str());
      return kOther;
    }
    if (executed == 0) throw Impossible{"there is no such instance: an element that it fetches was not stored"};
    return Compare(Id());
  }

  int64_t Execute(int64_t number, bool alternate) {
    RangeContext context;
    context.alternate = alternate;
    context.engine = static_cast<RunBase*>(&run_);
    context.instances = &instances_;
    context.begin = number;
    context.end = number + 1;
    run_.only().run(run_.only().body, context);
    return context.executed;
  }

  // ---- what it stored

  std::string SliceText(const SliceInfo& slice, const InstanceId& id) const {
    std::string text = run_.FieldText(slice.field, AgeIn(slice));
    for (size_t dim = 0; dim < static_cast<size_t>(slice.rank); ++dim) {
      const int variable = slice.variable[dim];
      const int64_t index = slice.offset[dim] + (variable >= 0 ? id.index[variable] : 0);
      text += variable == kWhole ? "[*]" : "[" + std::to_string(index) + "]";
    }
    return text;
  }

  void PrintFetches(const InstanceId& id) const {
    for (size_t s = 0; s < kernel().fetches.size(); ++s) {
      const SliceInfo& fetch = kernel().fetches[s];
      const FieldAge& in = *instances_.in[s];
      int64_t position = 0, elements = 1;
      bool inside = true;
      for (size_t dim = 0; dim < static_cast<size_t>(fetch.rank); ++dim) {
        const int variable = fetch.variable[dim];
        const int64_t index = fetch.offset[dim] + (variable >= 0 ? id.index[variable] : 0);
        if (variable == kWhole) elements *= in.extent[dim];
        inside = inside && (variable == kWhole || index < in.extent[dim]);
        if (variable != kWhole) position += index * (fetch.rank == 1 ? 1 : in.stride[dim]);
      }
      const std::string value =
          !fetch.element ? std::to_string(elements) + (elements == 1 ? " element" : " elements")
          : inside && IsWritten(in.whole.written, position)
              ? kept::ValueText(Described(fetch.field), in.whole.data + position * fetch.element_bytes)
              : "nothing";
      std::printf("  fetched %s: %s\n", SliceText(fetch, id).c_str(), value.c_str());
    }
  }

  int Compare(const InstanceId& id) {
    int64_t all = 0, compared = 0, other = 0;
    for (auto& [place, stored] : stored_) {
      stored->Finish();
      const std::unique_ptr<StoredAge> before = Load(place.first, place.second);
      if (before == nullptr)
        std::printf("  %s has no %s to compare with\n", request_.file.c_str(),
                    run_.FieldText(place.first, place.second).c_str());
      for (int64_t i = 0; i < stored->whole.capacity; ++i) {
        if (!IsWritten(stored->whole.written, i)) continue;
        ++all;
        compared += before == nullptr ? 0 : 1;
        if (!Element(*stored, i, before.get(), all <= kMostShown, other < kMostShown)) ++other;
      }
    }
    other += Withheld(id);
    if (kernel().ordered && kernel().variables == 0)
      std::puts("  an ordered kernel may have state from earlier ages, which a file does not have");
    return Conclude(all, compared, other);
  }

  int Conclude(int64_t all, int64_t compared, int64_t other) const {
    const std::string& file = request_.file;
    const auto counted = [](int64_t count, const char* what) {
      return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
    };
    if (other > 0) {
      std::printf("other than in %s: %s\n", file.c_str(), counted(other, "difference").c_str());
      return kOther;
    }
    if (compared < all) {
      std::printf("not compared: %s has %lld of %s\n", file.c_str(), static_cast<long long>(compared),
                  counted(all, "element").c_str());
      return kImpossible;
    }
    std::printf("the same as in %s: %s stored\n", file.c_str(), counted(all, "element").c_str());
    return kSame;
  }

  /// Prints a stored element. @return whether the file has the same; true where it cannot tell
  bool Element(const StoredAge& stored, int64_t position, const StoredAge* before, bool show, bool show_other) const {
    const auto index = stored.IndexOf(position);
    const kept::FieldDescription& field = Described(stored.field);
    const std::byte* value = stored.whole.data + position * stored.element_bytes;
    std::string name = run_.FieldText(stored.field, stored.age);
    for (size_t dim = 0; dim < static_cast<size_t>(stored.rank); ++dim) name += "[" + std::to_string(index[dim]) + "]";
    const std::byte* old = before == nullptr ? nullptr : ValueAt(*before, index);
    const bool same = before == nullptr ||
                      (old != nullptr && std::memcmp(value, old, static_cast<size_t>(stored.element_bytes)) == 0);
    if (same ? show : show_other)
      std::printf("  stored %s = %s%s\n", name.c_str(), kept::ValueText(field, value).c_str(),
                  same             ? ""
                  : old == nullptr ? ", in the file nothing"
                                   : (", in the file " + kept::ValueText(field, old)).c_str());
    return same;
  }

  static const std::byte* ValueAt(const StoredAge& stored, const std::array<int64_t, kMaxRank>& index) {
    int64_t position = 0;
    for (int dim = 0; dim < stored.rank; ++dim) {
      const int64_t here = index[static_cast<size_t>(dim)];
      if (here >= stored.extent[dim]) return nullptr;
      position += here * (stored.rank == 1 ? 1 : stored.stride[dim]);
    }
    return IsWritten(stored.whole.written, position) ? stored.whole.data + position * stored.element_bytes : nullptr;
  }

  /// Single elements that the file has and the instance has not stored now, where nobody else can have stored them.
  int64_t Withheld(const InstanceId& id) {
    int64_t count = 0;
    for (size_t s = 0; s < kernel().stores.size(); ++s) {
      const SliceInfo& store = kernel().stores[s];
      const auto same_field = [&](const SliceInfo& each) { return each.field == store.field; };
      int64_t writers = 0;
      for (const KernelInfo& each : graph_.kernels)
        writers += std::count_if(each.stores.begin(), each.stores.end(), same_field);
      if (!store.element || writers != 1) continue;
      std::array<int64_t, kMaxRank> index = {};
      for (size_t dim = 0; dim < static_cast<size_t>(store.rank); ++dim)
        index[dim] = store.offset[dim] + (store.variable[dim] >= 0 ? id.index[store.variable[dim]] : 0);
      const std::unique_ptr<StoredAge> before = Load(store.field, AgeIn(store));
      const std::byte* old = before == nullptr ? nullptr : ValueAt(*before, index);
      if (old == nullptr || ValueAt(static_cast<const StoredAge&>(*instances_.out[s]), index) != nullptr) continue;
      std::printf("  stored nothing in %s, in the file %s\n", SliceText(store, id).c_str(),
                  kept::ValueText(Described(store.field), old).c_str());
      ++count;
    }
    return count;
  }

  const GraphInfo& graph_;
  const ProgramOptions& options_;
  ReplayRequest request_;
  ReplayRun run_;
  int file_ = -1;
  kept::File kept_;
  int kernel_ = -1;
  std::atomic<int64_t> bytes_ = 0;
  std::map<Place, std::unique_ptr<StoredAge>> fetched_, stored_;
  Instances instances_;
};

}  // namespace

int Replay(const char* name, const GraphInfo& graph, const ProgramOptions& options) {
  try {
    const int code = Replayer(graph, options).Run(name);
    return std::fflush(stdout) == 0 ? code : kOther;
  } catch (const Impossible& impossible) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s: %s\n", name, impossible.what.c_str());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: there is not enough memory for what the instance fetches\n", name);
  }
  return kImpossible;
}

}  // namespace attune::flow::detail
