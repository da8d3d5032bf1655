// What changed between two recordings, as the server says it (docs/compare.md), and how it is written.

import { formatBytes, formatDuration, formatValue, displayOf, type Display } from '../charts/format';
import { ElementKind, SeriesKind, SessionModel, SumRule, type RawMessage, type Series } from '../session/model';
import { placeText, type FlameColumns, type FlameFrame, type FlameKind, type Place } from '../waits/documents';

export interface Change {
  sensor: string;
  signal: string;
  /** '': all elements together. */
  element: string;
  unit: string;
  rate: boolean;
  before: number;
  after: number;
  /** after / before - 1; null: there was nothing before. */
  relative: number | null;
  difference_low: number;
  difference_high: number;
  changed: boolean;
  /** Of what there can be, where that is known. */
  before_percent?: number;
  after_percent?: number;
  /** 600 for six boards. */
  most_percent?: number;
}

export interface Figure {
  name: string;
  unit: string;
  before: number;
  after: number;
}

/** Shares of the CPUs' time; null: not known. */
interface Cpus {
  cpus: number;
  program: number;
  others: number | null;
  idle: number | null;
}

/** Seconds of all threads together; null: it was not found in that run. */
export interface FindingChange {
  class: string;
  site: Place | null;
  before: number | null;
  after: number | null;
}

export interface WaitChange {
  kind: string;
  site: Place | null;
  before: number;
  after: number;
  before_waits: number;
  after_waits: number;
}

/** Flame graphs of a run, of all threads together. */
export type RunFlames = Partial<Record<FlameKind, { frames: FlameFrame[]; together: FlameColumns }>>;

/** The part of the JSON that the page shows. */
interface Document {
  run: Figure[];
  /** Absent from older servers, as is what is marked so below. */
  cpus?: { before: Cpus | null; after: Cpus | null };
  /** The run in which other programs had clearly more of the CPUs. */
  busier?: 'before' | 'after' | null;
  findings: FindingChange[];
  waits_seen: boolean;
  waits: WaitChange[];
  flames?: { before: RunFlames; after: RunFlames };
  signals: Change[];
  changed: number;
  only_before: string[];
  only_after: string[];
}

export interface Comparison {
  title: string;
  beforeNs: number;
  afterNs: number;
  run: Figure[];
  /** '': neither run was. */
  busier: string;
  findings: FindingChange[];
  /** null: not seen in both. */
  waits: WaitChange[] | null;
  flames: { before: RunFlames; after: RunFlames };
  signals: Change[];
  changed: number;
  onlyBefore: string[];
  onlyAfter: string[];
  /** Elements and series of the other recording. */
  other: SessionModel;
}

/** @throws SyntaxError on a document that is none */
export function readComparison({ envelope, frames }: RawMessage): Comparison {
  const document = JSON.parse(envelope.get('result') ?? '') as Document;
  const other = new SessionModel();
  other.applyTables(frames);
  return {
    title: envelope.get('title') ?? '', beforeNs: Number(envelope.get('before_ns')), afterNs: Number(envelope.get('after_ns')),
    run: document.run.filter(({ before, after }) => before !== 0 || after !== 0), busier: busierText(document),
    findings: document.findings, waits: document.waits_seen ? document.waits : null, flames: document.flames ?? { before: {}, after: {} }, signals: document.signals, changed: document.changed, onlyBefore: document.only_before, onlyAfter: document.only_after, other,
  };
}

/** "The machine was busier after: …"; '': it was not, or that is not known. */
function busierText({ cpus, busier }: Document): string {
  const share = (run: Cpus | null | undefined): string => `${Math.round((run?.others ?? 0) * 100)} %`;
  if (!busier || !cpus) return '';
  return `The machine was busier ${busier}: other programs had ${share(cpus.before)} of the CPUs before, and ${share(cpus.after)} after. Part of the difference may be theirs.`;
}

/** "lock-contention at flush_table (many_threads.c:61)" */
export function atPlace(what: string, site: Place | null): string {
  const place = placeText(site);
  return place === '' ? what : `${what} at ${place}`;
}

export type Better = 'lower' | 'higher' | null;

const FIGURES: Record<string, Better> = { parallel_efficiency: 'higher', messages: null, bytes_in_messages: null };
/** Signals of which less is better, whatever the program does: what it waits for, loses or does again. */
const COSTS = /(^|[ ._])(faults?|pgmajfault|switches|ctxt|steal|iowait|swap(_?in|_?out)?|pswp(in|out)|throttled|stall(ed)?|pressure|retrans(mits?)?|drop(s|ped)?|errors?|misses|left_out|wait)($|[ ._])/i;

/** Direction of improvement of a run's figure. */
export function betterFigure(name: string): Better {
  return FIGURES[name] === undefined ? 'lower' : FIGURES[name];
}

/** Direction of improvement of a signal; null: that depends. */
export function betterSignal({ sensor, signal }: Pick<Change, 'sensor' | 'signal'>): Better {
  return COSTS.test(`${sensor} ${signal}`) ? 'lower' : null;
}

/** @return whether the change is for the better, for the worse, or neither can be said */
export function judgeChange(before: number, after: number, better: Better): 'good' | 'bad' | '' {
  if (better === null || before === after) return '';
  return (after < before) === (better === 'lower') ? 'good' : 'bad';
}

/** A single value scatters: less is no news. */
const LEAST_NEWS = 0.05;

/** The same of one value of a run. */
export function judgeFigure({ name, before, after }: Figure): 'good' | 'bad' | '' {
  const relative = relativeOf({ before, after });
  return relative !== null && Math.abs(relative) < LEAST_NEWS ? '' : judgeChange(before, after, betterFigure(name));
}

/** The series that a row of the comparison is made of. */
export function seriesOf(model: SessionModel, change: Change, discrete: boolean): Series[] {
  return [...model.series.values()].filter((series) => {
    if (series.sensor !== change.sensor || series.signal !== change.signal) return false;
    if (!discrete) return true;
    const element = model.elements.get(series.element);
    return change.element === (element && element.kind !== ElementKind.Machine ? element.name : '');
  });
}

export function displayOfChange(change: Change): Display {
  return displayOf({
    id: 0, element: 0, kind: change.rate ? SeriesKind.Counter : SeriesKind.Gauge, maxPerSecond: NaN, sensor: change.sensor,
    signal: change.signal, unit: change.unit, sum: SumRule.Sum, interval: 0,
  });
}

/** A mean of one of the recordings. */
export function formatMean(change: Change, which: 'before' | 'after'): string {
  const percent = which === 'before' ? change.before_percent : change.after_percent;
  return percent === undefined ? formatValue(change[which], displayOfChange(change)) : formatValue(percent, { unit: '%', factor: 1, prefixes: 'none' });
}

export function formatFigure({ unit }: Figure, value: number): string {
  if (unit === 'bytes') return formatBytes(value);
  if (unit === 's') return formatDuration(value * 1e9);
  if (unit === '%') return `${value.toFixed(1)} %`;
  return formatValue(value, { unit: '', factor: 1, prefixes: 'decimal' });
}

/** "+12.5 %", "x 14", "new" where there was nothing before. */
export function formatRelative(relative: number | null): string {
  if (relative === null || !Number.isFinite(relative)) return 'from nothing';
  if (relative >= 9.5) return `× ${(relative + 1).toPrecision(3)}`;
  const percent = relative * 100;
  return `${percent > 0 ? '+' : percent < 0 ? '−' : ''}${Math.abs(percent).toFixed(Math.abs(percent) < 10 ? 1 : 0)} %`;
}

export function relativeOf({ before, after }: { before: number; after: number }): number | null {
  if (before === after) return 0;
  return before === 0 ? null : (after - before) / Math.abs(before);
}

export type Verdict = 'higher' | 'lower' | 'too little' | 'by chance';

/** In words: what is surely different and by enough, in which direction; else why not. */
export function verdict(change: Change): Verdict {
  if (change.changed) return change.after > change.before ? 'higher' : 'lower';
  return change.difference_low > 0 || change.difference_high < 0 ? 'too little' : 'by chance';
}

/** Ten times as much is at the edge; small changes get most of the room. */
const FINEST = 0.03;
const WIDEST = Math.log1p(Math.log(10) / FINEST);

/** Where a relative change stands: -1 (a tenth or less) over 0 (the same) to 1 (ten times or more). */
export function position(relative: number): number {
  if (relative <= -1) return -1;
  const x = Math.log1p(relative);
  return Math.sign(x) * Math.min(1, Math.log1p(Math.abs(x) / FINEST) / WIDEST);
}

export interface Interval {
  low: number;
  mean: number;
  high: number;
}

/** Of the relative change, as positions; null where nothing was before. */
export function intervalOf(change: Change): Interval | null {
  if (change.relative === null || change.before === 0) return null;
  const share = (difference: number): number => position(difference / Math.abs(change.before));
  return { low: share(change.difference_low), mean: position(change.relative), high: share(change.difference_high) };
}
