// Rows of the timeline: findings, then ranks and processes with their threads. A group that is folded is one row, of its first thread
// and its calls of MPI.

import { shortCommand } from '../charts/format';
import { elementName, within } from '../charts/traces';
import { ElementKind, type Element, type SessionModel } from '../session/model';
import { ROW } from './draw';
import type { Mark } from './marks';

/** Whether threads of a group have rows of their own. */
export type Detail = 'groups' | 'threads';

export interface Row {
  kind: 'finding' | 'heading' | 'group' | 'thread';
  /** Named by the row; its waits and calls have those below. */
  element: Element | null;
  thread: Element | null;
  rank: Element | null;
  mark: Mark | null;
  /** Number of threads that a folded group stands for; of a finding without a mark: how many more there are. */
  threads: number;
  /** Lies below a group. */
  isInner: boolean;
  top: number;
  height: number;
}

export interface Group {
  rank: Element | null;
  process: Element | null;
  /** By their start. */
  threads: Element[];
}

export interface RowChoice {
  detail: Detail;
  /** Groups that are the other way round. */
  turned: ReadonlySet<number>;
  /** Words that names have. */
  words: string[];
  /** Elements that a person chose; none: all. */
  focused: ReadonlySet<number>;
  /** Height that there is, in pixels: few rows use all of it, and have room between them for arrows. */
  room: number;
}

const HEADING = 24;
/** A row that is higher is no better to read. */
const HIGHEST_ROW = 3 * ROW;

export function groupId(group: Group): number {
  return group.rank?.id ?? group.process?.id ?? 0;
}

/** Ranks of this recording by their job and number, then other processes by their start. */
export function groupsOf(model: SessionModel): Group[] {
  const groups = new Map<number, Group>();
  const groupOf = (rank: Element | null, process: Element | null): Group => {
    const id = rank?.id ?? process?.id ?? 0;
    let group = groups.get(id);
    if (!group) groups.set(id, (group = { rank, process, threads: [] }));
    group.process ??= process;
    return group;
  };
  for (const element of model.elements.values()) {
    // A rank without a host only has messages with one of this recording.
    if (element.kind === ElementKind.Rank && element.host !== '') groupOf(element, null);
    if (element.kind !== ElementKind.Thread) continue;
    groupOf(within(model, element.parent, ElementKind.Rank) ?? null, within(model, element.parent, ElementKind.Process) ?? null).threads.push(element);
  }
  // A rank's process may have no thread that is observed.
  for (const element of model.elements.values()) {
    if (element.kind !== ElementKind.Process) continue;
    const group = groups.get(element.parent);
    if (group) group.process ??= element;
  }
  for (const { threads } of groups.values()) threads.sort((a, b) => a.start - b.start || a.osId - b.osId);
  const job = ({ rank }: Group): string => (rank ? rank.name.replace(/^rank \d+/, '') : '\uffff');
  return [...groups.values()].sort((a, b) => (job(a) < job(b) ? -1 : job(a) > job(b) ? 1 : (a.rank?.osId ?? 0) - (b.rank?.osId ?? 0) || (a.rank && b.rank ? a.rank.id - b.rank.id : startOf(a) - startOf(b))));
}

function startOf({ process, threads }: Group): number {
  return process?.start ?? threads[0]?.start ?? 0;
}

/** A main thread has no name of its own. */
export function threadName(thread: Element, process: Element | null): string {
  if (thread.name !== '') return thread.name;
  return process ? shortCommand(elementName(process)).split(' ')[0] : elementName(thread);
}

/** Numbers are those of ranks, processes and threads; other words are part of a name. */
function fits(words: string[], names: string, numbers: (number | undefined)[]): boolean {
  return words.every((word) => (/^\d+$/.test(word) ? numbers.includes(Number(word)) || names.split(/[^\d]+/).includes(word) : names.includes(word)));
}

/** Rows of elements. @param marks get a row each, in front of them @param rest as many findings have none */
export function rowsOf(model: SessionModel, marks: Mark[], rest: number, { detail, turned, words, focused, room }: RowChoice): Row[] {
  const rows: Row[] = [];
  let top = 0;
  const add = (row: Partial<Row> & Pick<Row, 'kind'>, height: number): void => {
    rows.push({ element: null, thread: null, rank: null, mark: null, threads: 0, isInner: false, ...row, top, height });
    top += height;
  };
  for (const mark of marks) add({ kind: 'finding', mark }, ROW + 2);
  if (rest > 0) add({ kind: 'finding', threads: rest }, ROW + 2);
  const isChosen = ({ rank, process }: Group, thread: Element | null): boolean => focused.size === 0 || [rank, process, thread].some((one) => one !== null && focused.has(one.id));
  const all = groupsOf(model);
  const shown: Group[] = [];
  for (const group of all) {
    const { rank, process } = group;
    const groupText = [rank, process].flatMap((one) => (one ? elementName(one) : [])).join(' ').toLowerCase();
    const isWhole = words.length > 0 && fits(words, rank ? elementName(rank).toLowerCase() : groupText, [rank?.osId ?? process?.osId]);
    const threads = group.threads.filter((thread) => isChosen(group, thread) && (isWhole || fits(words, `${threadName(thread, process)} ${rank ? '' : groupText}`.toLowerCase(), [thread.osId])));
    if (threads.length > 0 || (rank && isChosen(group, null) && (isWhole || words.length === 0))) shown.push({ ...group, threads });
  }
  const isFolded = (group: Group): boolean => (detail === 'groups') !== turned.has(groupId(group));
  const lines = shown.reduce((sum, group) => sum + (isFolded(group) || group.threads.length < 2 ? 1 : group.threads.length + 1), 0);
  const height = Math.max(ROW, Math.min(HIGHEST_ROW, Math.floor((room - top) / Math.max(1, lines))));
  for (const group of shown) {
    const { rank, process, threads } = group;
    const [first] = threads;
    if (threads.length < 2 || isFolded(group)) {
      // The commands of processes with a thread each say more than the threads' names.
      const isOne = threads.length < 2 && !rank && (all.length === 1 || !process);
      add({ kind: isOne ? 'thread' : 'group', element: isOne ? first : (rank ?? process ?? first), thread: first ?? null, rank, threads: threads.length }, height);
      continue;
    }
    if (rank) add({ kind: 'group', element: rank, rank }, height);
    else if (process && shown.length > 1) add({ kind: 'heading', element: process }, HEADING);
    for (const thread of threads) add({ kind: 'thread', element: thread, thread, isInner: rank !== null }, height);
  }
  return rows;
}

/** Middles of rows, by the elements whose waits or calls they have. */
export function middlesOf(rows: Row[]): Map<number, number> {
  const middles = new Map<number, number>();
  for (const { kind, thread, rank, top, height } of rows) {
    if (kind === 'heading' || kind === 'finding') continue;
    if (thread) middles.set(thread.id, top + height / 2);
    if (rank) middles.set(rank.id, top + height / 2);
  }
  return middles;
}
