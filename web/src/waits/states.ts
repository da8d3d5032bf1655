// What a thread can wait for, as the page shows it.

export type State = 'lock' | 'condition' | 'barrier' | 'semaphore' | 'join' | 'futex' | 'openmp' | 'once' | 'future' | 'file' | 'mpi' | 'create' | 'child' | 'sleep' | 'poll';

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
  file: { name: 'file', color: '--wait-file' },
  mpi: { name: 'MPI', color: '--wait-mpi' },
  create: { name: 'thread creation', color: '--wait-create' },
  child: { name: 'child', color: '--wait-child' },
  sleep: { name: 'sleep', color: '--wait-sleep' },
  poll: { name: 'poll', color: '--wait-poll' },
};
export const ALL_STATES = Object.keys(STATES) as State[];

/** By the number in src/wire/sync.h. */
const BY_NUMBER: State[] = [];
const NUMBERS: [number, State][] = [
  [1, 'lock'], [2, 'lock'], [3, 'lock'], [4, 'lock'], [5, 'condition'], [6, 'barrier'], [7, 'semaphore'], [8, 'join'], [9, 'semaphore'], [10, 'futex'], [11, 'openmp'], [12, 'openmp'], [13, 'openmp'], [14, 'openmp'],
  [15, 'once'], [16, 'file'], [17, 'mpi'], [18, 'create'], [19, 'child'], [20, 'sleep'], [21, 'poll'], [22, 'future'],
];
for (const [number, state] of NUMBERS) BY_NUMBER[number] = state;

/** Of a kind that this page does not know it is a lock. */
export function stateOfNumber(kind: number): State {
  return BY_NUMBER[kind] ?? 'lock';
}

/** @param kind as the server names it: "mutex", "OpenMP barrier" */
export function stateOf(kind: string): State {
  if (kind.startsWith('OpenMP')) return 'openmp';
  if (kind === 'MPI') return 'mpi';
  if (kind === 'thread creation') return 'create';
  return ALL_STATES.find((state) => state === kind) ?? 'lock';
}
