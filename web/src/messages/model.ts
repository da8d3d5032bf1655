// What of the messages is looked at: how large a pair is, which ones a filter leaves, and the matrix of all ranks.

import { formatBytes, formatCount, formatDuration } from '../charts/format';
import { placeText, type Place } from '../waits/documents';
import type { Link, Messages, Pair, Rank } from './documents';

export type Measure = 'bytes' | 'count' | 'waited';
export const MEASURES: [Measure, string][] = [['bytes', 'bytes'], ['count', 'messages'], ['waited', 'time waited']];

/** A rank, or a pair of them; null: nothing in particular. */
export type Choice = { rank: number } | { source: number; destination: number } | null;

export function sameChoice(a: Choice, b: Choice): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

export function measureOf(pair: Pair, measure: Measure): number {
  if (measure === 'waited') return pair.sender.waited_ns + pair.receiver.waited_ns;
  return measure === 'bytes' ? pair.bytes : pair.count;
}

export function measureText(value: number, measure: Measure): string {
  if (measure === 'waited') return formatDuration(Number(value.toPrecision(3)));
  return measure === 'bytes' ? formatBytes(value) : `${formatCount(value)} ${value === 1 ? 'message' : 'messages'}`;
}

export function placeOfLink(link: Link): Place {
  return { id: link.site_id, name: link.site, function: link.code, file: link.file, line: link.line };
}

/** Ranks by their element, and what the pages ask of them. */
export class Ranks {
  private readonly byId: Map<number, Rank>;

  constructor(readonly all: Rank[]) {
    this.byId = new Map(all.map((rank) => [rank.id, rank]));
  }

  get(id: number): Rank | undefined {
    return this.byId.get(id);
  }

  nameOf(id: number): string {
    return this.byId.get(id)?.name ?? `rank ${id}`;
  }

  /** As short as it can be: the number, where all have one of their own. */
  labelOf(rank: Rank): string {
    return rank.rank === null ? rank.name : /^rank \d+$/.test(rank.name) ? String(rank.rank) : rank.name.replace(/^rank /, '');
  }
}

function matches(words: string[], numbers: (number | null | undefined)[], text: string): boolean {
  // A number is a rank: 3 is not 13.
  return words.every((word) => (/^\d+$/.test(word) ? numbers.includes(Number(word)) : text.includes(word)));
}

export interface Filtered {
  pairs: Pair[];
  links: Link[];
}

/** @param words of ranks, functions, places and distances */
export function filtered({ pairs, links }: Messages, ranks: Ranks, words: string[]): Filtered {
  if (words.length === 0) return { pairs, links };
  const numbersOf = (row: { source: number; destination: number }): (number | null | undefined)[] => [ranks.get(row.source)?.rank, ranks.get(row.destination)?.rank];
  const namesOf = (row: { source: number; destination: number }): string => `${ranks.nameOf(row.source)} ${ranks.nameOf(row.destination)}`;
  const keptLinks = links.filter((link) => matches(words, numbersOf(link), `${namesOf(link)} ${link.function} ${placeText(placeOfLink(link))} ${link.side}`.toLowerCase()));
  const kept = new Set(keptLinks.map((link) => `${link.source} ${link.destination}`));
  return { pairs: pairs.filter((pair) => kept.has(`${pair.source} ${pair.destination}`) || matches(words, numbersOf(pair), `${namesOf(pair)} ${pair.apart}`.toLowerCase())), links: keptLinks };
}

/** Rows of a choice. */
export function chosenOf({ pairs, links }: Filtered, choice: Choice): Filtered {
  if (choice === null) return { pairs, links };
  const belongs = (row: { source: number; destination: number }): boolean =>
    'rank' in choice ? row.source === choice.rank || row.destination === choice.rank : row.source === choice.source && row.destination === choice.destination;
  return { pairs: pairs.filter(belongs), links: links.filter(belongs) };
}

/** What each rank (row) sends to each (column). */
export interface Matrix {
  ranks: Rank[];
  /** By row and column; NaN: nothing was sent. */
  values: Float64Array;
  pairs: (Pair | undefined)[];
  most: number;
  least: number;
  sent: Float64Array;
  received: Float64Array;
}

export function matrixOf(ranks: Ranks, pairs: Pair[], measure: Measure): Matrix {
  const all = ranks.all;
  const at = new Map(all.map((rank, i) => [rank.id, i]));
  const count = all.length;
  const matrix: Matrix = { ranks: all, values: new Float64Array(count * count).fill(NaN), pairs: new Array<Pair | undefined>(count * count), most: 0, least: Infinity, sent: new Float64Array(count), received: new Float64Array(count) };
  for (const pair of pairs) {
    const [row, column] = [at.get(pair.source), at.get(pair.destination)];
    if (row === undefined || column === undefined) continue;
    const value = measureOf(pair, measure);
    matrix.values[row * count + column] = value;
    matrix.pairs[row * count + column] = pair;
    matrix.sent[row] += value;
    matrix.received[column] += value;
    matrix.most = Math.max(matrix.most, value);
    if (value > 0) matrix.least = Math.min(matrix.least, value);
  }
  if (matrix.least === Infinity) matrix.least = matrix.most;
  return matrix;
}

/** Where a value lies between the least and the most of the matrix, by its order of magnitude: 0 to 1. */
export function shareOf({ least, most }: { least: number; most: number }, value: number): number {
  if (!(value > 0)) return 0;
  if (most <= least) return 1;
  return 0.15 + (0.85 * Math.log(value / least)) / Math.log(most / least);
}
