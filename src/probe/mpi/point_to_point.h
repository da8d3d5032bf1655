#pragma once
/// Messages between two ranks: those that one call completes, and the begin of others. Each function has the name of
/// its role in catalog/mpi.txt.

#include "probe/mpi/exchange.h"

namespace attune::probe::mpi {

/// Whether a call that ended so had its message all the same: it was longer than there was room.
template <class Abi>
inline bool CameTruncated(int result) {
  if (result == Abi::kTruncated) return true;
  int error_class = 0;
  const KeptErrno kept;
  return result != 0 && Helper<Abi>::Error_class()(result, &error_class) == 0 && error_class == Abi::kTruncated;
}

/// What a receive's status says. Nothing is told of what came from nobody, or was cancelled.
template <class Abi>
inline void TellReceived(const Call& call, const Communicator* communicator, const typename Abi::Status& status) {
  if (status.source == Abi::kProcNull || Abi::IsCancelled(status)) return;
  TellMessage(wire::EventKind::kMessageReceived, call, communicator, communicator->Peer(status.source), status.tag,
              Abi::Bytes(status));
}

template <class Abi, class Real>
[[gnu::always_inline]] inline int Send(Call&& call, const Real& real, int count, typename Abi::Handle datatype,
                                       int dest, int tag, typename Abi::Handle comm) {
  Communicator* communicator = CommunicatorOf<Abi>(comm);
  const bool is_measured = !FollowsAtOnce(call.Function(), count);
  const int result = is_measured ? call.Make(real) : call.MakeUntimed(real);
  const uint64_t bytes = result == 0 ? BytesOf<Abi>(count, datatype) : 0;
  if (!is_measured) call.SetBegin(LikelyBegin(call.End(), bytes));
  call.Count();
  if (is_measured) {
    NoteSent(call, bytes);
  } else {
    NoteCall(call, false);
  }
  if (__builtin_expect(result == 0 && dest != Abi::kProcNull, 1))
    TellMessage(wire::EventKind::kMessageSent, call, communicator, communicator->Peer(dest), tag, bytes);
  return result;
}

/// Where the program asks for no status, we do.
template <class Abi, class Real>
[[gnu::always_inline]] inline int Recv(Call&& call, const Real& real, typename Abi::Handle comm,
                                       typename Abi::Status* status) {
  typename Abi::Status own;
  Communicator* communicator = CommunicatorOf<Abi>(comm);
  typename Abi::Status* asked = status == Abi::StatusIgnore() ? &own : status;
  const int result = call.Make(real, asked);
  if (result == 0 && PutOff<Abi>(call, communicator, *asked)) return result;
  call.Count();
  NoteReceived(call);
  if (__builtin_expect(result == 0, 1) || CameTruncated<Abi>(result)) TellReceived<Abi>(call, communicator, *asked);
  return result;
}

template <class Abi, class Real>
inline int Sendrecv(Call&& call, const Real& real, int count, typename Abi::Handle datatype, int dest, int tag,
                    typename Abi::Handle comm, typename Abi::Status* status) {
  typename Abi::Status own;
  Communicator* communicator = CommunicatorOf<Abi>(comm);
  typename Abi::Status* asked = status == Abi::StatusIgnore() ? &own : status;
  const int result = call.Make(real, asked);
  call.Count();
  if (result != 0 && !CameTruncated<Abi>(result)) return result;
  if (dest != Abi::kProcNull)
    TellMessage(wire::EventKind::kMessageSent, call, communicator, communicator->Peer(dest), tag,
                BytesOf<Abi>(count, datatype));
  TellReceived<Abi>(call, communicator, *asked);
  return result;
}

template <class Abi, class Real>
inline int SendrecvReplace(Call&& call, const Real& real, int count, typename Abi::Handle datatype, int dest, int tag,
                           typename Abi::Handle comm, typename Abi::Status* status) {
  return Sendrecv<Abi>(static_cast<Call&&>(call), real, count, datatype, dest, tag, comm, status);
}

template <class Abi>
inline Request SendRequest(const Call& call, int count, typename Abi::Handle datatype, int dest, int tag,
                           Communicator* communicator) {
  return {.post = call.Begin(),
          .known = call.End(),
          .site = call.Site(),
          .bytes = BytesOf<Abi>(count, datatype),
          .bytes_received = 0,
          .communicator = communicator,
          .peer = communicator->Peer(dest),
          .tag = tag,
          .function = call.Function(),
          .kind = RequestKind::kSend,
          .is_persistent = false,
          .is_active = true};
}

inline Request ReceiveRequest(const Call& call, Communicator* communicator) {
  return {.post = call.Begin(),
          .known = call.End(),
          .site = call.Site(),
          .bytes = 0,
          .bytes_received = 0,
          .communicator = communicator,
          .peer = 0,
          .tag = 0,
          .function = call.Function(),
          .kind = RequestKind::kReceive,
          .is_persistent = false,
          .is_active = true};
}

/// A small message may be gone already: its request is then no own one.
template <class Abi, class Real>
inline int Isend(Call&& call, const Real& real, int count, typename Abi::Handle datatype, int dest, int tag,
                 typename Abi::Handle comm, typename Abi::Handle* handle) {
  Communicator* communicator = CommunicatorOf<Abi>(comm);
  const int result = call.Make(real);
  call.Count();
  if (result != 0 || dest == Abi::kProcNull) return result;
  const Request request = SendRequest<Abi>(call, count, datatype, dest, tag, communicator);
  const uint64_t key = Abi::Key(*handle);
  if (Abi::IsDone(key)) {
    TellRequest(call, request, false);
  } else {
    KeepRequest(key, request);
  }
  return result;
}

template <class Abi, class Real>
inline int Irecv(Call&& call, const Real& real, int source, typename Abi::Handle comm, typename Abi::Handle* handle) {
  Communicator* communicator = CommunicatorOf<Abi>(comm);
  const int result = call.Make(real);
  call.Count();
  if (result == 0 && source != Abi::kProcNull && !Abi::IsDone(Abi::Key(*handle)))
    KeepRequest(Abi::Key(*handle), ReceiveRequest(call, communicator));
  return result;
}

template <class Abi, class Real>
inline int SendInit(Call&& call, const Real& real, int count, typename Abi::Handle datatype, int dest, int tag,
                    typename Abi::Handle comm, typename Abi::Handle* handle) {
  Communicator* communicator = CommunicatorOf<Abi>(comm);
  const int result = call.Make(real);
  call.Count();
  if (result != 0 || dest == Abi::kProcNull) return result;
  Request request = SendRequest<Abi>(call, count, datatype, dest, tag, communicator);
  request.is_persistent = true;
  request.is_active = false;
  KeepRequest(Abi::Key(*handle), request);
  return result;
}

template <class Abi, class Real>
inline int RecvInit(Call&& call, const Real& real, int source, typename Abi::Handle comm,
                    typename Abi::Handle* handle) {
  Communicator* communicator = CommunicatorOf<Abi>(comm);
  const int result = call.Make(real);
  call.Count();
  if (result != 0 || source == Abi::kProcNull) return result;
  Request request = ReceiveRequest(call, communicator);
  request.is_persistent = true;
  request.is_active = false;
  KeepRequest(Abi::Key(*handle), request);
  return result;
}

template <class Abi>
inline void Started(const Call& call, typename Abi::Handle handle) {
  Request* request = PersistentRequest(Abi::Key(handle), call.Begin());
  if (request == nullptr) return;
  request->post = call.Begin();
  request->site = call.Site();
  request->function = call.Function();
  request->is_active = true;
}

template <class Abi, class Real>
inline int Start(Call&& call, const Real& real, typename Abi::Handle* handle) {
  const int result = call.Make(real);
  call.Count();
  if (result == 0) Started<Abi>(call, *handle);
  return result;
}

template <class Abi, class Real>
inline int Startall(Call&& call, const Real& real, int count, typename Abi::Handle* handles) {
  const int result = call.Make(real);
  call.Count();
  for (int i = 0; result == 0 && i < count; ++i) Started<Abi>(call, handles[i]);
  return result;
}

/// Whether it was in time is said by the status of whoever completes it.
template <class Abi, class Real>
inline int Cancel(Call&& call, const Real& real, typename Abi::Handle*) {
  return Plain(static_cast<Call&&>(call), real);
}

/// A send goes on, and nobody will be told when it ends.
template <class Abi, class Real>
inline int RequestFree(Call&& call, const Real& real, typename Abi::Handle* handle) {
  const uint64_t key = Abi::Key(*handle);
  const int result = call.Make(real);
  call.Count();
  Request request;
  if (result == 0 && DropRequest(key, call.Begin(), request) && request.kind == RequestKind::kSend && request.is_active)
    TellRequest(call, request, false);
  return result;
}

template <class Abi>
inline void KeepProbed(const Call& call, Communicator* communicator, typename Abi::Handle message) {
  Request request = ReceiveRequest(call, communicator);
  request.kind = RequestKind::kProbed;
  KeepRequest(ProbedKey(Abi::Key(message)), request);
}

/// The communicator of a message that was found before. @param key as it was before the message was received
inline Communicator* TakeProbed(const Call& call, uint64_t key) {
  Request request;
  return TakeRequest(ProbedKey(key), call.Begin(), request) ? request.communicator : NoRoom();
}

template <class Abi, class Real>
inline int Mprobe(Call&& call, const Real& real, typename Abi::Handle comm, typename Abi::Handle* message) {
  Communicator* communicator = CommunicatorOf<Abi>(comm);
  const int result = call.Make(real);
  call.Count();
  if (result == 0) KeepProbed<Abi>(call, communicator, *message);
  return result;
}

template <class Abi, class Real>
inline int Improbe(Call&& call, const Real& real, typename Abi::Handle comm, const int* flag,
                   typename Abi::Handle* message) {
  Communicator* communicator = CommunicatorOf<Abi>(comm);
  const int result = call.Make(real);
  call.Count();
  if (result == 0 && *flag != 0) KeepProbed<Abi>(call, communicator, *message);
  return result;
}

template <class Abi, class Real>
inline int Mrecv(Call&& call, const Real& real, typename Abi::Handle* message, typename Abi::Status* status) {
  typename Abi::Status own;
  typename Abi::Status* asked = status == Abi::StatusIgnore() ? &own : status;
  const uint64_t key = Abi::Key(*message);
  const int result = call.Make(real, asked);
  call.Count();
  const Communicator* communicator = TakeProbed(call, key);
  if (result == 0 || CameTruncated<Abi>(result)) TellReceived<Abi>(call, communicator, *asked);
  return result;
}

template <class Abi, class Real>
inline int Imrecv(Call&& call, const Real& real, typename Abi::Handle* message, typename Abi::Handle* handle) {
  const uint64_t key = Abi::Key(*message);
  const int result = call.Make(real);
  call.Count();
  Communicator* communicator = TakeProbed(call, key);
  if (result == 0 && !Abi::IsDone(Abi::Key(*handle)))
    KeepRequest(Abi::Key(*handle), ReceiveRequest(call, communicator));
  return result;
}

}  // namespace attune::probe::mpi
