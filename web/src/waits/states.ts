// What a thread can wait for, as the page shows it.

export type State = 'lock' | 'condition' | 'barrier' | 'semaphore' | 'join' | 'futex' | 'openmp' | 'once' | 'future' | 'idle' | 'file' | 'mpi' | 'create' | 'child' | 'sleep' | 'poll'
  | 'pipe' | 'socket' | 'device' | 'event' | 'signal' | 'memory' | 'stopped' | 'call';

export const STATES: Record<State, { name: string; color: string }> = {
  lock: { name: 'lock', color: '--wait-lock' },
  condition: { name: 'condition', color: '--wait-condition' },
  barrier: { name: 'barrier', color: '--wait-barrier' },
  semaphore: { name: 'semaphore', color: '--wait-semaphore' },
  join: { name: 'join', color: '--wait-join' },
  futex: { name: 'futex', color: '--wait-futex' },
  openmp: { name: 'OpenMP', color: '--wait-openmp' },
  once: { name: 'initialiser', color: '--wait-once' },
  future: { name: 'future', color: '--wait-future' },
  idle: { name: 'no work', color: '--wait-idle' },
  file: { name: 'file', color: '--wait-file' },
  mpi: { name: 'MPI', color: '--wait-mpi' },
  create: { name: 'thread creation', color: '--wait-create' },
  child: { name: 'child', color: '--wait-child' },
  sleep: { name: 'sleep', color: '--wait-sleep' },
  poll: { name: 'poll', color: '--wait-poll' },
  pipe: { name: 'pipe', color: '--wait-pipe' },
  socket: { name: 'socket', color: '--wait-socket' },
  device: { name: 'device', color: '--wait-device' },
  event: { name: 'event', color: '--wait-event' },
  signal: { name: 'signal', color: '--wait-signal' },
  memory: { name: 'memory', color: '--wait-memory' },
  stopped: { name: 'stopped', color: '--wait-stopped' },
  call: { name: 'another system call', color: '--wait-call' },
};
export const ALL_STATES = Object.keys(STATES) as State[];

/** By the number in src/wire/sync.h. */
const BY_NUMBER: State[] = [];
// The same names as in an account (AccountName in src/analysis/account/account.h).
const NUMBERS: [number, State][] = [
  [1, 'lock'], [2, 'lock'], [3, 'lock'], [4, 'lock'], [5, 'condition'], [6, 'barrier'], [7, 'semaphore'], [8, 'join'], [9, 'semaphore'], [10, 'futex'], [11, 'lock'], [12, 'barrier'], [13, 'openmp'], [14, 'openmp'],
  [15, 'once'], [16, 'file'], [17, 'mpi'], [18, 'create'], [19, 'child'], [20, 'sleep'], [21, 'poll'], [22, 'future'], [23, 'idle'],
];
for (const [number, state] of NUMBERS) BY_NUMBER[number] = state;

/** Of a kind that this page does not know it is a lock. */
export function stateOfNumber(kind: number): State {
  return BY_NUMBER[kind] ?? 'lock';
}

/** @param kind as the server names it, or a line of an account: "mutex", "OpenMP barrier", "pipe" */
export function stateOf(kind: string): State {
  if (kind === 'OpenMP critical') return 'lock';
  if (kind === 'OpenMP barrier') return 'barrier';
  if (kind.startsWith('OpenMP')) return 'openmp';
  if (kind === 'MPI') return 'mpi';
  if (kind === 'thread creation') return 'create';
  if (kind === 'no work') return 'idle';
  return ALL_STATES.find((state) => state === kind) ?? 'lock';
}
