// Which series share a chart, what is shown at first, and what series are called.

import { SeriesKind, type Element, type SessionModel, type Series } from '../session/model';
import { displayOf } from './format';

export const enum ElementKind {
  Machine = 1,
  Cpu = 6,
}

export interface ChartGroup {
  key: string;
  title: string;
  series: Series[];
}

export function elementOf(model: SessionModel, series: Series): Element | undefined {
  return model.elements.get(series.element);
}

/** By number where the elements have one, so that cpu10 comes after cpu9. */
export function byElement(model: SessionModel): (a: Series, b: Series) => number {
  return (a, b) => {
    const left = elementOf(model, a)?.osId ?? NaN;
    const right = elementOf(model, b)?.osId ?? NaN;
    return (Number.isNaN(left) ? 0 : left) - (Number.isNaN(right) ? 0 : right) || a.id - b.id;
  };
}

/** A signal of several elements has a chart of its own; single ones of a sensor share a chart where the unit is the same. */
export function groupSeries(model: SessionModel, selected: Iterable<number>): ChartGroup[] {
  const elementsOfSignal = new Map<string, number>();
  for (const series of model.series.values()) {
    const signal = `${series.sensor}.${series.signal}`;
    elementsOfSignal.set(signal, (elementsOfSignal.get(signal) ?? 0) + 1);
  }
  const groups = new Map<string, ChartGroup>();
  for (const id of selected) {
    const series = model.series.get(id);
    if (!series) continue;
    const signal = `${series.sensor}.${series.signal}`;
    const many = (elementsOfSignal.get(signal) ?? 0) > 1;
    const key = many ? signal : `${series.sensor} ${displayOf(series).unit} ${series.kind === SeriesKind.Counter}`;
    const group = groups.get(key) ?? { key, title: many ? `${series.sensor} ${series.signal}` : series.sensor, series: [] };
    group.series.push(series);
    groups.set(key, group);
  }
  const compare = byElement(model);
  for (const group of groups.values()) {
    group.series.sort(compare);
    if (group.series.length === 1) group.title = `${group.series[0].sensor} ${group.series[0].signal}`;
  }
  return [...groups.values()];
}

/** In a chart of one signal the elements tell the lines apart, in others the signals do. */
export function nameIn(model: SessionModel, group: ChartGroup, series: Series): string {
  const element = elementOf(model, series);
  const sameSignal = group.series.every((other) => other.signal === series.signal);
  if (sameSignal && group.series.length > 1) return element?.name ?? `element ${series.element}`;
  return element && element.kind !== ElementKind.Machine && group.series.length > 1 ? `${series.signal} ${element.name}` : series.signal;
}

const DEFAULT_CPU_SIGNALS = ['busy', 'user', 'system'];
const DEFAULT_SIGNALS = ['pgfault', 'pgalloc_normal', 'pgalloc', 'nr_free_pages', 'free_memory', 'pswpin', 'pswpout'];
const MAX_DEFAULTS = 3;

/** What a first look shows: how busy each CPU is, and a few rates of the kernel. */
export function defaultSelection(model: SessionModel): number[] {
  const all = [...model.series.values()];
  const onCpus = all.filter((series) => elementOf(model, series)?.kind === ElementKind.Cpu);
  const cpuSignals = DEFAULT_CPU_SIGNALS.filter((signal) => onCpus.some((series) => series.signal === signal));
  const shownCpu = cpuSignals.includes('busy') ? ['busy'] : cpuSignals;
  const chosen = onCpus.filter((series) => shownCpu.includes(series.signal)).map((series) => series.id);
  const machine = DEFAULT_SIGNALS.flatMap((signal) => all.filter((series) => series.signal === signal && !onCpus.includes(series)).slice(0, 1));
  chosen.push(...machine.slice(0, MAX_DEFAULTS).map((series) => series.id));
  return chosen.length > 0 ? chosen : all.slice(0, 8).map((series) => series.id);
}
