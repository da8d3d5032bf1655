#pragma once
/// Messages between two ranks: blocking calls, and the begin of non-blocking ones. Each function has the name of its
/// role in catalog/mpi.txt.

#include "probe/mpi/exchange.h"

namespace attune::probe::mpi {

/// Whether the result of a call means that its message arrived truncated.
template <class Abi>
inline bool CameTruncated(int result) {
  if (result == Abi::kTruncated) return true;
  int error_class = 0;
  const KeptErrno kept;
  return result != 0 && Helper<Abi>::Error_class()(result, &error_class) == 0 && error_class == Abi::kTruncated;
}

/// Records a received message by its status, except from MPI_PROC_NULL or a cancelled one.
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

/// Requests a status even if the program does not.
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

/// Begins a send. A small message may be complete already; its handle is then a shared one.
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
    TellRequest(call, request, 0);
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

/// Only counted: the status at completion says whether the cancellation was in time.
template <class Abi, class Real>
inline int Cancel(Call&& call, const Real& real, typename Abi::Handle*) {
  return Plain(static_cast<Call&&>(call), real);
}

/// Records an active send now, since its end will not be observed.
template <class Abi, class Real>
inline int RequestFree(Call&& call, const Real& real, typename Abi::Handle* handle) {
  const uint64_t key = Abi::Key(*handle);
  const int result = call.Make(real);
  call.Count();
  Request request;
  if (result == 0 && DropRequest(key, call.Begin(), request) && request.kind == RequestKind::kSend && request.is_active)
    TellRequest(call, request, 0);
  return result;
}

template <class Abi>
inline void KeepProbed(const Call& call, Communicator* communicator, typename Abi::Handle message) {
  Request request = ReceiveRequest(call, communicator);
  request.kind = RequestKind::kProbed;
  KeepRequest(ProbedKey(Abi::Key(message)), request);
}

/// The communicator of a probed message. @param key of its handle before the receive
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
