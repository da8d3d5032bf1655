// Running and queued times of each thread: the kernel's sums, as the sensor "thread" samples them. They are shown where
// the account (account.ts) has none, or is too coarse.

import { Holds, stretchOf } from '../charts/combine';
import type { Series, SessionModel } from '../session/model';
import type { Stretch } from './account';

interface ThreadSeries {
  run: Series;
  wait: Series | null;
}

const NS_A_SECOND = 1e9;

export class ActivityReader {
  private revision = -1;
  private size = 0;
  private known = new Map<number, ThreadSeries>();

  constructor(private readonly model: SessionModel) {}

  /** Series that the page must have for these threads. */
  wanted(threads: Iterable<number>): number[] {
    const found = this.series();
    return [...threads].flatMap((thread) => {
      const series = found.get(thread);
      return series ? [series.run.id, ...(series.wait ? [series.wait.id] : [])] : [];
    });
  }

  /** Whether the kernel's sums of this thread are recorded. */
  has(thread: number): boolean {
    return this.series().has(thread);
  }

  /** Time between samples; NaN: there are none. */
  stepOf(thread: number): number {
    const series = this.series().get(thread);
    const run = series && this.model.points.get(series.run.id);
    return run && run.length > 1 ? run.typicalStep() : NaN;
  }

  /** Grows with what the page holds of this thread. */
  version(thread: number): number {
    const series = this.series().get(thread);
    return series ? (this.model.points.get(series.run.id)?.version ?? 0) : 0;
  }

  /** Times between samples that overlap a range, in order. */
  of(thread: number, t0: number, t1: number): Stretch[] {
    const series = this.series().get(thread);
    const run = series && this.model.points.get(series.run.id);
    if (!series || !run || run.length === 0) return [];
    const wait = series.wait ? this.model.points.get(series.wait.id) : undefined;
    const holds = run.exact ? Holds.Before : Holds.After;
    const step = run.typicalStep();
    const result: Stretch[] = [];
    for (let i = Math.max(0, run.holding(t0)); i < run.length; i++) {
      const [from, to] = stretchOf(run.t, run.length, i, holds, step);
      if (from >= t1) break;
      if (to <= t0 || to <= from || Number.isNaN(run.mean[i])) continue;
      const at = wait ? wait.holding(run.t[i]) : -1;
      const queued = wait && at >= 0 && !Number.isNaN(wait.mean[at]) ? wait.mean[at] : 0;
      const running = shareOf(run.mean[i]);
      const length = to - from;
      result.push({ t0: from, t1: to, states: [['running', running * length], ['queued', Math.min(1 - running, shareOf(queued)) * length]] });
    }
    return result;
  }

  private series(): Map<number, ThreadSeries> {
    const { model } = this;
    if (this.revision !== model.revision || this.size !== model.series.size) {
      [this.revision, this.size] = [model.revision, model.series.size];
      this.known = threadSeries(model);
    }
    return this.known;
  }
}

function shareOf(ratePerSecond: number): number {
  return Math.max(0, Math.min(1, ratePerSecond / NS_A_SECOND));
}

function threadSeries(model: SessionModel): Map<number, ThreadSeries> {
  const [runs, waits] = [new Map<number, Series>(), new Map<number, Series>()];
  for (const series of model.series.values()) {
    if (series.sensor !== 'thread') continue;
    if (series.signal === 'run') runs.set(series.element, series);
    if (series.signal === 'wait') waits.set(series.element, series);
  }
  return new Map([...runs].map(([thread, run]) => [thread, { run, wait: waits.get(thread) ?? null }]));
}

/** Stretches of time in order, none of which overlap. @param spans in order of their end, or of their begin */
export function unionOf(spans: readonly { t0: number; t1: number }[]): { t0: number; t1: number }[] {
  const sorted = [...spans].sort((a, b) => a.t0 - b.t0);
  const result: { t0: number; t1: number }[] = [];
  for (const { t0, t1 } of sorted) {
    const last = result.at(-1);
    if (last && t0 <= last.t1) last.t1 = Math.max(last.t1, t1);
    else result.push({ t0, t1 });
  }
  return result;
}
