// Virtual counters: what monitoring modules make of the counts of threads (docs/modules.md). The page is not told which sensors are
// modules. Levels that come at no fixed interval are from them alone.

import { SeriesKind, type Series, type SessionModel } from '../session/model';
import type { Range } from '../session/view';

export interface VirtualCounter {
  key: string;
  /** The module. */
  sensor: string;
  signal: string;
  /** Of each thread, process or machine that has it. */
  series: Series[];
}

export function virtualCounters(model: SessionModel): VirtualCounter[] {
  const counters = new Map<string, VirtualCounter>();
  for (const series of model.series.values()) {
    if (series.kind !== SeriesKind.Gauge || series.interval !== 0) continue;
    const key = `${series.sensor} ${series.signal}`;
    const counter = counters.get(key) ?? { key, sensor: series.sensor, signal: series.signal, series: [] };
    counter.series.push(series);
    counters.set(key, counter);
  }
  return [...counters.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
}

export interface VirtualValues {
  /** Of the last values of each that has one. */
  last: number;
  /** Of all values in the range. */
  mean: number;
}

/** NaN: there is none. @param model holds the points */
export function valuesIn(model: SessionModel, { series }: VirtualCounter, { t0, t1 }: Range): VirtualValues {
  let [lasts, lastSum, samples, sum] = [0, 0, 0, 0];
  for (const { id } of series) {
    const points = model.points.get(id);
    if (!points) continue;
    let last = NaN;
    for (let i = points.indexAt(t0); i < points.length && points.t[i] <= t1; i++) {
      if (Number.isNaN(points.mean[i])) continue;
      last = points.mean[i];
      samples += points.count[i];
      sum += points.count[i] * last;
    }
    if (Number.isNaN(last)) continue;
    lasts++;
    lastSum += last;
  }
  return { last: lasts > 0 ? lastSum / lasts : NaN, mean: samples > 0 ? sum / samples : NaN };
}
