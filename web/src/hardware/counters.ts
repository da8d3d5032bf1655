// What is known of the counters of cores besides their values: which event they are here, and what this machine cannot count.

import type { SessionModel } from '../session/model';

const SKIPPED = 'skipped.hardware';

/** The event behind a signal of the sensor `hardware`, by RTM's name and how it differs; '': nothing is said. @param key "hardware.l2_hits" */
export function eventOf(model: SessionModel, key: string): string {
  const found = [...model.info].filter(([name]) => name === `counter.${key}` || name.startsWith(`counter.${key} (`));
  return found.map(([name, text]) => (name === `counter.${key}` ? text : `${name.slice(`counter.${key} `.length)}: ${text}`)).join('; ');
}

/** Counters that cannot be had, with why. */
export function missingCounters(model: SessionModel): [string, string][] {
  return [...model.info].filter(([name]) => name.startsWith(`${SKIPPED}.`) || name === SKIPPED)
    .map(([name, why]): [string, string] => [name === SKIPPED ? 'Hardware counters' : name.slice(SKIPPED.length + 1), why]);
}

/** Columns of a mesh of so many cores: as near to a square as can be, wider than high. */
export function meshColumns(cores: number): number {
  return Math.max(1, Math.ceil(Math.sqrt(cores)));
}
