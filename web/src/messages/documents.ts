// What ranks of MPI jobs send each other, as the server says it (docs/task-graph.md).

/** What one side of messages takes. */
export interface Side {
  count: number;
  bytes: number;
  time_ns: number;
  waited_ns: number;
  cycles: number | null;
  cycles_per_word: number | null;
  /** Bytes a second; null: there is no such time. */
  bandwidth: number | null;
}

export interface Rank {
  id: number;
  name: string;
  rank: number | null;
  /** '': not this recording's. */
  host: string;
  pid: number | null;
  cpu: number | null;
  life_ns: number | null;
  calls: number;
  mpi_ns: number;
  sent: Side;
  received: Side;
  collectives: number;
  collective_ns: number;
  collective_waited_ns: number;
}

export interface Pair {
  source: number;
  destination: number;
  count: number;
  bytes: number;
  /** 0: the same CPU, to 5: other hosts. */
  distance: number | null;
  apart: string;
  sender: Side;
  receiver: Side;
}

/** What one side does at a place in the code. */
export interface Link extends Side {
  source: number;
  destination: number;
  side: 'sender' | 'receiver';
  /** Of MPI. */
  function: string;
  site_id: number;
  site: string;
  code: string;
  file: string;
  line: number | null;
}

export interface Collective {
  communicator: number;
  name: string;
  function: string;
  operations: number;
  parts: number;
  bytes_sent: number;
  bytes_received: number;
  time_ns: number;
  waited_ns: number;
}

export interface SizeClass {
  low_bytes: number;
  high_bytes: number;
  count: number;
  bytes: number;
}

export interface Messages {
  unmatched_sent: number;
  unmatched_received: number;
  elsewhere: number;
  incomplete_collectives: number;
  efficiency: { ranks: number; parallel: number; load_balance: number; communication: number } | null;
  ranks: Rank[];
  pairs: Pair[];
  links: Link[];
  collectives: Collective[];
  sizes: SizeClass[];
  ranks_in_all: number;
  pairs_in_all: number;
  links_in_all: number;
  collectives_in_all: number;
}

declare module '../session/documents' {
  interface DocumentTypes {
    'messages': Messages;
  }
}
