// How much each part of the machine has of a signal.

import { displayOf, type Display } from '../charts/format';
import type { Rule } from '../charts/combine';
import { ruleFor } from '../charts/traces';
import { ElementKind, type SessionModel, type Series } from '../session/model';
import type { Place } from './topology';

/** What the boxes can be coloured by. */
export interface HeatSignal {
  key: string;
  name: string;
  series: Map<number, Series>;
  display: Display;
  rule: Rule;
  /** Time that a CPU is idle says how busy it is. */
  inverted: boolean;
}

const PLACED = [ElementKind.Board, ElementKind.Package, ElementKind.Node, ElementKind.Core, ElementKind.Cpu, ElementKind.Device];
/** The server takes so many series in one view, next to those of the charts. */
const MAX_HEAT_SERIES = 640;

export function heatSignals(model: SessionModel): HeatSignal[] {
  const signals = new Map<string, HeatSignal>();
  for (const series of model.series.values()) {
    const kind = model.elements.get(series.element)?.kind;
    const rule = ruleFor(series);
    if (kind === undefined || !PLACED.includes(kind) || rule === null) continue;
    const key = `${series.sensor}.${series.signal}`;
    const signal = signals.get(key) ?? { key, name: `${series.sensor} ${series.signal}`, series: new Map<number, Series>(), display: displayOf(series), rule, inverted: false };
    if (signal.series.size < MAX_HEAT_SERIES) signal.series.set(series.element, series);
    signals.set(key, signal);
  }
  const idle = signals.get('cpu.idle');
  const busy: HeatSignal[] = idle ? [{ ...idle, key: 'busy', name: 'CPU busy', rule: 'mean', inverted: true }] : [];
  // Of a share of time the mean says more than the sum.
  return [...busy, ...signals.values()].map((signal) => (signal.display.unit === '%' ? { ...signal, rule: 'mean' } : signal));
}

/** Mean of a series over the time before a moment, as it is shown; NaN: nothing is known. */
export function levelBefore(model: SessionModel, series: Series, moment: number, length: number): number {
  const points = model.points.get(series.id);
  if (!points) return NaN;
  let sum = 0;
  let weight = 0;
  const last = points.holding(moment);
  const longest = Math.max(length, series.interval) * 3 + 2e9;
  for (let i = last; i >= 0 && (points.t[i] > moment - length || i === last); i--) {
    if (Number.isNaN(points.mean[i]) || moment - points.t[i] > longest) continue;
    sum += points.mean[i] * points.count[i];
    weight += points.count[i];
  }
  return weight === 0 ? NaN : sum / weight;
}

const SMOOTHED_NS = 1e9;

/** Of all elements that have the signal, in its display's unit. */
export function heatValues(model: SessionModel, signal: HeatSignal, moment: number): Map<number, number> {
  const values = new Map<number, number>();
  for (const [element, series] of signal.series) {
    const value = levelBefore(model, series, moment, SMOOTHED_NS) * signal.display.factor;
    if (!Number.isNaN(value)) values.set(element, signal.inverted ? Math.max(0, 100 - value) : value);
  }
  return values;
}

/** A place and all that lies in it. @param isEnd places of which what lies in them is left out */
export function* placesIn(place: Place, isEnd: (place: Place) => boolean = () => false): Generator<Place> {
  yield place;
  if (!isEnd(place)) for (const child of place.children) yield* placesIn(child, isEnd);
}

/** Own value of a place, or what those below it come to; NaN: none is known. */
export function valueOf(place: Place, values: Map<number, number>, rule: Rule): number {
  const gathered = [...placesIn(place, ({ element }) => values.has(element))].flatMap(({ element }) => values.get(element) ?? []);
  if (gathered.length === 0) return NaN;
  if (rule === 'max') return Math.max(...gathered);
  const sum = gathered.reduce((a, b) => a + b, 0);
  return rule === 'mean' ? sum / gathered.length : sum;
}

/** What the brightest colour stands for. */
export function heatTop(signal: HeatSignal, values: Map<number, number>): number {
  return signal.display.unit === '%' ? 100 : Math.max(1e-9, ...values.values());
}
