// Lines of the program by CPU time and by sampled events: the document `hot-lines`.

import { formatCount, formatDuration } from '../charts/format';
import type { Place } from '../waits/documents';
import type { Counted } from './rows';

export interface LineEvent {
  /** "cpu-time", or as it was asked for. */
  event: string;
  /** "ns": a time; else '': how often. */
  unit: string;
  /** Of all lines. */
  count: number;
  samples: number;
}

export interface HotLine {
  /** null: where it was is not known. */
  site: (Place & { module: string }) | null;
  /** In the order of the events. */
  counts: number[];
  /** The largest of its shares of an event. */
  share: number;
}

export interface HotLines {
  events: LineEvent[];
  lines: HotLine[];
  lines_in_all: number;
}

declare module '../session/documents' {
  interface DocumentTypes {
    'hot-lines': HotLines;
  }
}

export function lineAmount({ unit }: LineEvent, count: number): string {
  return unit === 'ns' ? formatDuration(Number(count.toPrecision(4))) : formatCount(count);
}

/** @param events the names of `hot.events`, the same as long as they are @param seconds that the counts are of */
export function countedAt(line: HotLine, events: readonly string[], seconds: number): Counted {
  return { events, counts: line.counts, seconds };
}

/** Counts at each line of a file, an event each; those that no line of it has are left out. */
export function countsOfFile({ events, lines }: HotLines, file: string): { event: LineEvent; counts: Map<number, number> }[] {
  const own = lines.flatMap(({ site, counts }) => (site?.file === file && site.line !== null ? [{ line: site.line, counts }] : []));
  return events
    .map((event, i) => ({ event, counts: new Map(own.filter(({ counts }) => counts[i] > 0).map(({ line, counts }) => [line, counts[i]])) }))
    .filter(({ counts }) => counts.size > 0);
}
