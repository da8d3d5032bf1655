#pragma once
/// Waits and tests: records the completed operations, with the time of their begin and whether the thread waited. Each
/// function has the name of its role in catalog/mpi.txt.

#include "probe/mpi/point_to_point.h"
#include "probe/mpi/polls.h"

namespace attune::probe::mpi {

/// Records the completion of one request. @param key of its handle before the call  @param error of this request
/// @param since when the thread waits for it; 0: it does not
template <class Abi>
inline void Completed(const Call& call, uint64_t key, const typename Abi::Status& status, int error, uint64_t since) {
  Request request;
  if (error == Abi::kPending || !TakeRequest(key, call.Begin(), request)) return;
  if (Abi::IsCancelled(status) || (error != 0 && !CameTruncated<Abi>(error))) return;
  if (request.kind == RequestKind::kReceive) {
    if (status.source == Abi::kProcNull) return;
    request.peer = request.communicator->Peer(status.source);
    request.tag = status.tag;
    request.bytes = Abi::Bytes(status);
  }
  TellRequest(call, request, since != 0 && since < request.known ? request.known : since);
}

/// Copies of the handles that a call with many requests overwrites, and statuses that the program does not request. On
/// the stack for up to kOwn requests.
template <class Abi>
class Scratch {
 public:
  /// @param statuses the program's statuses, used if there are any; nullptr: not needed
  Scratch(int count, const typename Abi::Handle* handles, typename Abi::Status* statuses)
      : count_(count > 0 ? static_cast<uint32_t>(count) : 0), keys_(own_keys_), statuses_(own_statuses_) {
    if (count_ > kOwn) {
      mapped_ = Map(Bytes());
      if (mapped_ == nullptr) {
        count_ = 0;
        statuses_ = statuses;
        return;
      }
      keys_ = static_cast<uint64_t*>(mapped_);
      statuses_ = reinterpret_cast<typename Abi::Status*>(keys_ + count_);
    }
    for (uint32_t i = 0; i < count_; ++i) keys_[i] = Abi::Key(handles[i]);
    if (statuses != Abi::StatusIgnore()) statuses_ = statuses;
  }
  ~Scratch() {
    if (mapped_ != nullptr) Unmap(mapped_, Bytes());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  uint32_t Count() const { return count_; }  ///< 0 also without memory: nothing is recorded then
  typename Abi::Status* Statuses() const { return statuses_; }
  uint64_t Key(uint32_t index) const { return keys_[index]; }

 private:
  static constexpr uint32_t kOwn = 64;
  uint64_t Bytes() const { return uint64_t{count_} * (sizeof(uint64_t) + sizeof(typename Abi::Status)); }

  uint32_t count_;
  void* mapped_ = nullptr;
  uint64_t* keys_;
  typename Abi::Status* statuses_;
  uint64_t own_keys_[kOwn];
  typename Abi::Status own_statuses_[kOwn];
};

/// Records the completion of all requests of a call. @param result of the call
template <class Abi>
inline void CompletedAll(const Call& call, const Scratch<Abi>& scratch, int result, uint64_t since) {
  if (result != 0 && result != Abi::kInStatus) return;
  for (uint32_t i = 0; i < scratch.Count(); ++i) {
    const typename Abi::Status& status = scratch.Statuses()[i];
    Completed<Abi>(call, scratch.Key(i), status, result == 0 ? 0 : status.error, since);
  }
}

/// Records the completion of the requests at `indices`.
template <class Abi>
inline void CompletedSome(const Call& call, const Scratch<Abi>& scratch, int completed, const int* indices, int result,
                          uint64_t since) {
  if ((result != 0 && result != Abi::kInStatus) || completed == Abi::kUndefined) return;
  for (int i = 0; i < completed; ++i) {
    if (indices[i] < 0 || static_cast<uint32_t>(indices[i]) >= scratch.Count()) continue;
    const typename Abi::Status& status = scratch.Statuses()[i];
    Completed<Abi>(call, scratch.Key(static_cast<uint32_t>(indices[i])), status, result == 0 ? 0 : status.error, since);
  }
}

template <class Abi>
inline void CompletedAny(const Call& call, const Scratch<Abi>& scratch, int index, const typename Abi::Status& status,
                         int result, uint64_t since) {
  if (index >= 0 && static_cast<uint32_t>(index) < scratch.Count())
    Completed<Abi>(call, scratch.Key(static_cast<uint32_t>(index)), status, result, since);
}

template <class Abi, class Real>
inline int Wait(Call&& call, const Real& real, typename Abi::Handle* handle, typename Abi::Status* status) {
  typename Abi::Status own;
  typename Abi::Status* asked = status == Abi::StatusIgnore() ? &own : status;
  const uint64_t key = Abi::Key(*handle);
  const int result = call.Make(real, asked);
  call.Count();
  Completed<Abi>(call, key, *asked, result, call.Begin());
  return result;
}

template <class Abi, class Real>
inline int Test(Call&& call, const Real& real, typename Abi::Handle* handle, const int* flag,
                typename Abi::Status* status) {
  typename Abi::Status own;
  typename Abi::Status* asked = status == Abi::StatusIgnore() ? &own : status;
  const uint64_t key = Abi::Key(*handle);
  const int result = call.Make(real, asked);
  call.Count();
  if (result == 0 && *flag == 0) NotePoll(call);
  if ((result == 0 && *flag != 0) || CameTruncated<Abi>(result))
    Completed<Abi>(call, key, *asked, result, EndPolls(call));
  return result;
}

template <class Abi, class Real>
inline int Waitall(Call&& call, const Real& real, int count, typename Abi::Handle* handles,
                   typename Abi::Status* statuses) {
  const Scratch<Abi> scratch(count, handles, statuses);
  const int result = call.Make(real, scratch.Statuses());
  call.Count();
  CompletedAll(call, scratch, result, call.Begin());
  return result;
}

template <class Abi, class Real>
inline int Testall(Call&& call, const Real& real, int count, typename Abi::Handle* handles, const int* flag,
                   typename Abi::Status* statuses) {
  const Scratch<Abi> scratch(count, handles, statuses);
  const int result = call.Make(real, scratch.Statuses());
  call.Count();
  if (result == 0 && *flag == 0) NotePoll(call);
  if (result == Abi::kInStatus || (result == 0 && *flag != 0)) CompletedAll(call, scratch, result, EndPolls(call));
  return result;
}

template <class Abi, class Real>
inline int Waitany(Call&& call, const Real& real, int count, typename Abi::Handle* handles, const int* index,
                   typename Abi::Status* status) {
  typename Abi::Status own;
  typename Abi::Status* asked = status == Abi::StatusIgnore() ? &own : status;
  const Scratch<Abi> scratch(count, handles, Abi::StatusIgnore());
  const int result = call.Make(real, asked);
  call.Count();
  if (result == 0 || CameTruncated<Abi>(result)) CompletedAny(call, scratch, *index, *asked, result, call.Begin());
  return result;
}

template <class Abi, class Real>
inline int Testany(Call&& call, const Real& real, int count, typename Abi::Handle* handles, const int* index,
                   const int* flag, typename Abi::Status* status) {
  typename Abi::Status own;
  typename Abi::Status* asked = status == Abi::StatusIgnore() ? &own : status;
  const Scratch<Abi> scratch(count, handles, Abi::StatusIgnore());
  const int result = call.Make(real, asked);
  call.Count();
  if (result == 0 && *flag == 0) NotePoll(call);
  if ((result == 0 && *flag != 0) || CameTruncated<Abi>(result))
    CompletedAny(call, scratch, *index, *asked, result, EndPolls(call));
  return result;
}

template <class Abi, class Real>
inline int Waitsome(Call&& call, const Real& real, int count, typename Abi::Handle* handles, const int* completed,
                    const int* indices, typename Abi::Status* statuses) {
  const Scratch<Abi> scratch(count, handles, statuses);
  const int result = call.Make(real, scratch.Statuses());
  call.Count();
  CompletedSome(call, scratch, *completed, indices, result, call.Begin());
  return result;
}

template <class Abi, class Real>
inline int Testsome(Call&& call, const Real& real, int count, typename Abi::Handle* handles, const int* completed,
                    const int* indices, typename Abi::Status* statuses) {
  const Scratch<Abi> scratch(count, handles, statuses);
  const int result = call.Make(real, scratch.Statuses());
  call.Count();
  if (result == 0 && *completed == 0) {
    NotePoll(call);
  } else {
    CompletedSome(call, scratch, *completed, indices, result, EndPolls(call));
  }
  return result;
}

}  // namespace attune::probe::mpi
