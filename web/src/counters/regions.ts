// Regions of the program: the document `regions`, and what its tables are made of.

import type { Counted } from './rows';

/** As `program.regions[]` of docs/report.md. */
export interface Region {
  name: string;
  processes: number;
  threads: number;
  count: number;
  total_ns: number;
  self_ns: number;
  mean_ns: number;
  p50_ns: number;
  p99_ns: number;
  max_ns: number;
  begins_without_end: number;
  ends_without_begin: number;
  counts: { event: string; unit: string; total: number }[];
  metrics: { metric: string; unit: string; value: number }[];
}

declare module '../session/documents' {
  interface DocumentTypes {
    'regions': { regions: Region[]; regions_in_all: number };
  }
}

interface Named {
  name: string;
  unit: string;
}

export interface RegionColumns {
  events: Named[];
  metrics: Named[];
}

/** In formulas: how often the region was entered. */
export const CALLS = 'calls';

/** Events and metrics that any region has, in the order in which they come. */
export function columnsOf(regions: readonly Region[]): RegionColumns {
  const [events, metrics] = [new Map<string, string>(), new Map<string, string>()];
  for (const { counts, metrics: ofRegion } of regions) {
    for (const { event, unit } of counts) events.set(event, unit);
    for (const { metric, unit } of ofRegion) metrics.set(metric, unit);
  }
  const named = (of: Map<string, string>): Named[] => [...of].map(([name, unit]) => ({ name, unit }));
  return { events: named(events), metrics: named(metrics) };
}

/** @param names of events, and CALLS */
export function countedOf({ counts, count, total_ns }: Region, names: readonly string[]): Counted {
  const of = new Map(counts.map(({ event, total }) => [event, total]));
  return { events: names, counts: names.map((name) => (name === CALLS ? count : (of.get(name) ?? NaN))), seconds: total_ns / 1e9 };
}
