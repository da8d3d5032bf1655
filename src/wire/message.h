#pragma once
/// Message passing (MPI) in a ring: the rank of a process, its communicators, messages and collective operations.
/// Plain data, C11 and C++.
///
/// Each is one record of the thread whose call completed it (wire/ring.h), with these words behind word 0:
///
///   kRank                          4: time, id of the world, rank << 32 | size. At the end of MPI_Init
///   kCommunicator                  6: time, index, id, rank << 32 | size, id of the parent (0: none).
///                                  name: that of MPI, 0: none
///   kMessageSent, kMessageReceived 6: time, time of posting, peer << 32 | tag, bytes, site
///                                  8: the same, time at which the thread began to wait (0: it did not), site of that
///   kCollective                    7: time, time of posting, root << 32 | sequence, bytes sent, bytes received, site
///                                  8: the same, time at which the thread began to wait (0: it did not)
///
/// `aux` of the last three is the function that posted it, as numbered in wire/mpi_functions.h; their `name` is
/// communicator << 16 | CPU (kMessageNoCpu: not known). The longer form is for operations that one call began
/// (MPI_Isend, MPI_Start) and another one completed (MPI_Wait, MPI_Test; a test does not wait). In the shorter form the
/// thread waited from the posting on, at its site.
///
/// **Communicators** have an index within the process, from 1 on, which is never reused. Index 0: there was no room for
/// the communicator. Its kCommunicator record is committed before any record with its index, but in any ring of the
/// file: read all rings before looking it up. A later record with the same index has its new name. The id is the
/// same in all ranks, which compute it without a message, and differs from those of all other communicators of
/// the world. Size and rank of an intercommunicator are those in the local group.
///
/// **Peers** are ranks in MPI_COMM_WORLD; kMessageForeignPeer | rank in the communicator's remote group where the peer
/// is of another world. Messages from or to MPI_PROC_NULL and cancelled ones have no record. A received message has
/// the peer, tag and bytes of the message that arrived, not those of the request.
///
/// **Bytes** of a collective operation are those of this rank's own blocks: bytes given (each block once for each rank
/// that it is for, including itself) and bytes received.
///
/// **Channels** outside of MPI are pipes, sockets, message queues, and those that a program names itself
/// (attune_channel_send). A kCommunicator record with size 0 describes one: aux is the ChannelKind, the index counts
/// channels only, the id is the same at both ends, "rank" is the end of this process (0 if both ends are alike), and
/// the parent's word has the value that ChannelKind documents. Messages through it have that index, a function from
/// kMessageFirstChannelFunction on, no peer, and a tag only for channels with separate messages. A named channel has no
/// kCommunicator record: its index is kMessageNamedChannel, and the peer's word is the number of its name.
///
/// **Sequence** counts the collective operations on the communicator in the order of this rank's calls, from 1 on.
/// Records of all ranks with the same number are one operation.

#include <stdint.h>

#include "wire/event.h"

#ifdef __cplusplus
namespace attune::wire {
#endif

enum {
  kMessageRankWords = 4,
  kMessageCommunicatorWords = 6,
  kMessageWords = 6,
  kMessageLongWords = 8,
  kMessageCollectiveWords = 7,
  kMessageCollectiveLongWords = 8,
  kMessageMaxCommunicators = 0xffff,
  kMessageNoCpu = 0xffff,
  kMessageFirstChannelFunction = 0x8000,
  kMessageMaxChannels = 0x2000,
  kMessageNamedChannel = 0xffff,
};

/// Bit of a peer in another world.
#define ATTUNE_MESSAGE_FOREIGN_PEER UINT32_C(0x80000000)

#ifdef __cplusplus

enum class MessageKind : uint8_t { kNone = 0, kSent = 1, kReceived = 2 };

inline constexpr uint32_t kMessageForeignPeer = ATTUNE_MESSAGE_FOREIGN_PEER;

enum class ChannelKind : uint8_t {
  kNone = 0,
  // The value is the parent's word of the kCommunicator record.
  kPipe = 1,          ///< also one with a name. Value: its inode
  kUnixSocket = 2,    ///< end: its inode. Value: the inode of the other end, 0: not known. The id is of this end only
  kTcpSocket = 3,     ///< end: 1 for the higher address, else 0. Value: the ports, that of end 0 << 16
  kUdpSocket = 4,     ///< connected; the same
  kPosixQueue = 5,    ///< value: its inode
  kSystemVQueue = 6,  ///< value: its number
  kUnixDatagram = 7,  ///< as kUnixSocket
  kEvent = 8,         ///< eventfd. Value: process << 32 | descriptor that it was made as
};
inline constexpr ChannelKind kLastChannelKind = ChannelKind::kEvent;

/// The call that sent or received a message through a channel: kMessageFirstChannelFunction plus this value.
enum class ChannelFunction : uint8_t {
  kNone = 0,
  kRead,
  kReadv,
  kWrite,
  kWritev,
  kSend,
  kSendto,
  kSendmsg,
  kRecv,
  kRecvfrom,
  kRecvmsg,
  kMqSend,
  kMqReceive,
  kMsgsnd,
  kMsgrcv,
  kChannelSend,
  kChannelRecv,
};
/// "write"; "": there is no such function.
inline const char* ChannelFunctionName(uint16_t function) {
  constexpr const char* kNames[] = {"",
                                    "read",
                                    "readv",
                                    "write",
                                    "writev",
                                    "send",
                                    "sendto",
                                    "sendmsg",
                                    "recv",
                                    "recvfrom",
                                    "recvmsg",
                                    "mq_send",
                                    "mq_receive",
                                    "msgsnd",
                                    "msgrcv",
                                    "attune_channel_send",
                                    "attune_channel_recv"};
  const unsigned number = function - unsigned{kMessageFirstChannelFunction};
  return number < sizeof kNames / sizeof *kNames ? kNames[number] : "";
}
/// Whether the channel is a byte stream, without message boundaries.
inline bool IsStream(ChannelKind kind) {
  return kind == ChannelKind::kPipe || kind == ChannelKind::kUnixSocket || kind == ChannelKind::kTcpSocket;
}

// Records as they lie in a ring, word 0 first. Times are in the unit of RingHeader::clock.

struct RankRecord {
  uint64_t time;
  uint64_t world;
  int32_t rank;
  int32_t size;
};

struct CommunicatorRecord {
  uint64_t time;
  uint64_t index;
  uint64_t id;
  int32_t rank;
  int32_t size;
  uint64_t parent;  ///< id of the parent communicator; 0: none
};

struct MessageRecord {
  MessageKind kind;
  uint16_t function;
  uint16_t communicator;  ///< index
  uint16_t cpu;           ///< kMessageNoCpu: not known
  uint64_t time;
  uint64_t post_time;
  uint32_t peer;
  int32_t tag;
  uint64_t bytes;
  uint64_t site;
  uint64_t wait_time;  ///< 0: the thread did not wait for it
  uint64_t wait_site;
};

struct CollectiveRecord {
  uint16_t function;
  uint16_t communicator;
  uint16_t cpu;
  uint64_t time;
  uint64_t post_time;
  int32_t root;       ///< rank in the communicator; -1: it has none
  uint32_t sequence;  ///< 0: not known
  uint64_t bytes_sent;
  uint64_t bytes_received;
  uint64_t site;
  uint64_t wait_time;
};

/// Whether a record of this kind may have so many words. @pre kind is one of the five
inline bool MessageSizeFits(EventKind kind, uint64_t words) {
  if (kind == EventKind::kRank) return words == kMessageRankWords;
  if (kind == EventKind::kCommunicator) return words == kMessageCommunicatorWords;
  if (kind == EventKind::kCollective) return words == kMessageCollectiveWords || words == kMessageCollectiveLongWords;
  return words == kMessageWords || words == kMessageLongWords;
}

namespace message_word {
inline int32_t High(uint64_t word) { return static_cast<int32_t>(word >> 32); }
inline int32_t Low(uint64_t word) { return static_cast<int32_t>(word & 0xffffffff); }
inline uint16_t Aux(uint64_t word0) { return static_cast<uint16_t>(word0 >> 16); }
inline uint16_t Cpu(uint64_t word0) { return static_cast<uint16_t>(word0 >> 32); }
inline uint16_t Communicator(uint64_t word0) { return static_cast<uint16_t>(word0 >> 48); }
inline uint64_t Count(uint64_t word0) { return word0 >> 8 & 0xff; }
}  // namespace message_word

// @param words of a record whose length was checked, word 0 first

/// Whether it is a message through a channel named by the program.
inline bool IsOfNamedChannel(const uint64_t* words) {
  const auto kind = static_cast<EventKind>(words[0] & 0xff);
  return (kind == EventKind::kMessageSent || kind == EventKind::kMessageReceived) &&
         message_word::Aux(words[0]) >= kMessageFirstChannelFunction &&
         message_word::Communicator(words[0]) == kMessageNamedChannel;
}

inline RankRecord DecodeRank(const uint64_t* words) {
  return {words[1], words[2], message_word::High(words[3]), message_word::Low(words[3])};
}

inline CommunicatorRecord DecodeCommunicator(const uint64_t* words) {
  return {words[1], words[2], words[3], message_word::High(words[4]), message_word::Low(words[4]), words[5]};
}

inline MessageRecord DecodeMessage(const uint64_t* words) {
  const bool is_sent = (words[0] & 0xff) == static_cast<uint64_t>(EventKind::kMessageSent);
  const bool is_long = message_word::Count(words[0]) == kMessageLongWords;
  return {.kind = is_sent ? MessageKind::kSent : MessageKind::kReceived,
          .function = message_word::Aux(words[0]),
          .communicator = message_word::Communicator(words[0]),
          .cpu = message_word::Cpu(words[0]),
          .time = words[1],
          .post_time = words[2],
          .peer = static_cast<uint32_t>(words[3] >> 32),
          .tag = message_word::Low(words[3]),
          .bytes = words[4],
          .site = words[5],
          .wait_time = is_long ? words[6] : words[2],
          .wait_site = is_long ? words[7] : words[5]};
}

inline CollectiveRecord DecodeCollective(const uint64_t* words) {
  const bool is_long = message_word::Count(words[0]) == kMessageCollectiveLongWords;
  return {.function = message_word::Aux(words[0]),
          .communicator = message_word::Communicator(words[0]),
          .cpu = message_word::Cpu(words[0]),
          .time = words[1],
          .post_time = words[2],
          .root = message_word::High(words[3]),
          .sequence = static_cast<uint32_t>(words[3]),
          .bytes_sent = words[4],
          .bytes_received = words[5],
          .site = words[6],
          .wait_time = is_long ? words[7] : words[2]};
}

}  // namespace attune::wire
#endif
