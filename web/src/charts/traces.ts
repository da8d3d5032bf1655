// What the lines of the charts are: which series share a chart, which are summed into one line, what they are called.

import { ElementKind, SeriesKind, type Element, type SessionModel, type Series } from '../session/model';
import { Points } from '../session/points';
import { combine, Holds, signedRate, type Member, type Rule } from './combine';
import { firstLook, lookOf } from './first_look';
import { displayOf, percentOf, signedRateOf, type Display } from './format';

/** What has a chart of its own: each signal, each sensor (and unit), or each element of a kind. */
export type ChartsBy = 'signal' | 'sensor' | ElementKind;
/** What a line is: each series, or a sum over what lies below an element of this kind. */
export type LinesBy = 'each' | ElementKind;

/** Of a chart's two axes. */
export type Side = 'left' | 'right';

/** From the top down. */
export const PLACES: ElementKind[] = [
  ElementKind.Machine, ElementKind.Board, ElementKind.Package, ElementKind.Node, ElementKind.Core, ElementKind.Cpu,
  ElementKind.Device, ElementKind.Process, ElementKind.Thread,
];

const KIND_NAMES: Partial<Record<ElementKind, [string, string]>> = {
  [ElementKind.Machine]: ['machine', 'machines'], [ElementKind.Board]: ['board', 'boards'],
  [ElementKind.Package]: ['package', 'packages'], [ElementKind.Node]: ['node', 'nodes'],
  [ElementKind.Core]: ['core', 'cores'], [ElementKind.Cpu]: ['CPU', 'CPUs'], [ElementKind.Device]: ['device', 'devices'],
  [ElementKind.Process]: ['process', 'processes'], [ElementKind.Thread]: ['thread', 'threads'],
  [ElementKind.Rank]: ['rank', 'ranks'],
};

export function kindName(kind: ElementKind, count = 1): string {
  return (KIND_NAMES[kind] ?? ['element', 'elements'])[count === 1 ? 0 : 1];
}

export function elementName(element: Element): string {
  if (element.name !== '') return element.name;
  return Number.isNaN(element.osId) ? kindName(element.kind) : `${kindName(element.kind)} ${element.osId}`;
}

export function elementOf(model: SessionModel, series: Series): Element | undefined {
  return model.elements.get(series.element);
}

const MAX_DEPTH = 16;

/** The element of this kind that `id` is or lies in. */
export function within(model: SessionModel, id: number, kind: ElementKind): Element | undefined {
  let element = model.elements.get(id);
  // Ids come from outside: a circle of parents must not be followed for ever.
  for (let depth = 0; element && depth < MAX_DEPTH; depth++) {
    if (element.kind === kind) return element;
    element = model.elements.get(element.parent);
  }
  return undefined;
}

/** Whether `id` is this element or lies in it. */
export function isIn(model: SessionModel, id: number, place: number): boolean {
  let element = model.elements.get(id);
  for (let depth = 0; element && depth < MAX_DEPTH; depth++) {
    if (element.id === place) return true;
    element = model.elements.get(element.parent);
  }
  return false;
}

/** By number where the elements have one, so that cpu10 comes after cpu9. */
export function byElement(model: SessionModel): (a: Series, b: Series) => number {
  const rank = (series: Series): number => elementOf(model, series)?.osId ?? NaN;
  return (a, b) => {
    const [left, right] = [rank(a), rank(b)];
    return (Number.isNaN(left) ? 0 : left) - (Number.isNaN(right) ? 0 : right) || a.id - b.id;
  };
}

const RULES: (Rule | null)[] = ['sum', 'mean', 'max', null];

/** What several elements' values become in one line, as the catalog says; null: nothing sensible. */
export function ruleFor(series: Series): Rule | null {
  return series.kind === SeriesKind.State ? null : (RULES[series.sum] ?? null);
}

/** "sum of 4", "sum per board" */
export const RULE_WORDS: Record<Rule, string> = { sum: 'sum', mean: 'mean', max: 'highest' };

export interface Look {
  /** Up-down counters as signed rate instead of level. */
  rate: boolean;
  percent: boolean;
}

/** One line of a chart. */
export class Trace {
  private cached = new Points();
  private cachedVersion = -1;

  constructor(
    /** The same whenever the charts are made anew. */
    readonly key: string,
    readonly name: string,
    readonly series: Series[],
    readonly rule: Rule | null,
    readonly element: Element | undefined,
    readonly side: Side = 'left',
  ) {}

  get first(): Series {
    return this.series[0];
  }

  /** Shortest: what the line may be missing without being broken. */
  get interval(): number {
    return Math.max(...this.series.map((series) => series.interval));
  }

  /** "sum of 4" */
  get note(): string {
    return this.rule === null || this.series.length === 1 ? '' : `${RULE_WORDS[this.rule]} of ${this.series.length}`;
  }

  /** The largest rate of one of the summed elements; NaN: not known. */
  get maximumOfOne(): number {
    return this.series.reduce((sum, series) => sum + series.maxPerSecond, 0) / this.series.length;
  }

  /** The largest value as it is shown: 600 for six boards in percent. NaN: not known. */
  limit(look: Look): number {
    const display = this.display(look);
    const count = this.rule === 'sum' ? this.series.length : 1;
    const share = display.unit === '%' && this.first.unit === '%' ? 100 / display.factor : this.maximumOfOne;
    return share * count * display.factor;
  }

  display(look: Look): Display {
    if (look.percent && this.maximumOfOne > 0) return percentOf(this.maximumOfOne);
    return look.rate && this.first.kind === SeriesKind.Updown ? signedRateOf(this.first) : displayOf(this.first);
  }

  /** @return null while nothing of it is here */
  member(model: SessionModel, look: Look): Member | null {
    const rate = look.rate && this.first.kind === SeriesKind.Updown;
    if (this.series.length === 1 && !rate) {
      const points = model.points.get(this.first.id);
      return points ? { points, holds: holdsOf(this.first, points) } : null;
    }
    const members: Member[] = [];
    let version = rate ? 0.5 : 0;
    for (const series of this.series) {
      const points = model.points.get(series.id);
      if (!points) continue;
      version += points.version + 1;
      members.push({ points, holds: holdsOf(series, points) });
    }
    if (members.length === 0) return null;
    if (version !== this.cachedVersion) {
      this.cachedVersion = version;
      const exact = members.every(({ points }) => points.exact);
      this.cached = members.length === 1 ? members[0].points : Points.of(combine(members, this.rule ?? 'mean'), exact);
      if (rate) this.cached = Points.of(signedRate(this.cached), exact);
    }
    const before = rate || members.every((member) => member.holds === Holds.Before);
    return { points: this.cached, holds: before ? Holds.Before : Holds.After };
  }
}

function holdsOf(series: Series, points: Points): Holds {
  return series.kind === SeriesKind.Counter && points.exact ? Holds.Before : Holds.After;
}

export interface ChartGroup {
  key: string;
  title: string;
  /** What the lines can be summed over. */
  levels: ElementKind[];
  lines: LinesBy;
  /** One of a few that share the first screen. */
  compact: boolean;
  /** Those of the left axis first. */
  traces: Trace[];
}

export interface Grouping {
  charts: ChartsBy;
  lines: LinesBy;
  /** Of single charts, by key. */
  linesOf: Map<string, LinesBy>;
  /** Series that a person put into another chart than their own: its key. */
  placed: Map<number, string>;
}

interface Gathered {
  key: string;
  title: string;
  series: Series[];
  /** What shares the chart with another unit. */
  right: Series[];
}

function signalOf(series: Series): string {
  return `${series.sensor}.${series.signal}`;
}

function chartOf(model: SessionModel, series: Series, charts: ChartsBy, counts: Map<string, number>): { key: string; title: string } {
  const unit = `${series.unit} ${series.kind === SeriesKind.Counter}`;
  const signal = signalOf(series);
  if (charts === 'signal') {
    return (counts.get(signal) ?? 0) > 1
      ? { key: signal, title: `${series.sensor} ${series.signal}` }
      : { key: `${series.sensor} ${unit}`, title: series.sensor };
  }
  if (charts === 'sensor') return { key: `sensor ${series.sensor} ${unit}`, title: series.sensor };
  const element = within(model, series.element, charts) ?? elementOf(model, series);
  const name = element ? elementName(element) : `element ${series.element}`;
  return { key: `element ${element?.id ?? 0} ${series.sensor} ${unit}`, title: `${name} · ${series.sensor}` };
}

/** Kinds of elements that have several of these series below one of them. */
export function levelsOf(model: SessionModel, series: Series[]): ElementKind[] {
  const summable = series.filter((one) => ruleFor(one) !== null);
  return PLACES.filter((kind) => {
    const lines = new Set<string>();
    let below = 0;
    for (const one of summable) {
      const element = within(model, one.element, kind);
      if (!element || element.id === one.element) continue;
      below++;
      lines.add(`${element.id} ${signalOf(one)}`);
    }
    return lines.size < below;
  });
}

function tracesOf(model: SessionModel, group: Gathered, lines: LinesBy, side: Side): Trace[] {
  const sums = new Map<string, { element: Element; series: Series[] }>();
  const traces: Trace[] = [];
  const oneSignal = [...group.series, ...group.right].every((series) => signalOf(series) === signalOf(group.series[0]));
  for (const series of side === 'left' ? group.series : group.right) {
    const rule = ruleFor(series);
    const element = lines === 'each' || rule === null ? undefined : within(model, series.element, lines);
    if (!element || element.id === series.element) {
      traces.push(new Trace(String(series.id), nameIn(model, group, series, oneSignal), [series], null, elementOf(model, series), side));
      continue;
    }
    const key = `${signalOf(series)}@${element.id}`;
    const sum = sums.get(key) ?? { element, series: [] };
    sum.series.push(series);
    sums.set(key, sum);
  }
  for (const [key, { element, series }] of sums) {
    const place = elementName(element);
    const name = oneSignal ? place : element.kind === ElementKind.Machine ? series[0].signal : `${series[0].signal} ${place}`;
    traces.push(new Trace(key, name, series, ruleFor(series[0]), element, side));
  }
  return traces;
}

/** In a chart of one signal the elements tell the lines apart, in others the signals do. */
function nameIn(model: SessionModel, group: Gathered, series: Series, oneSignal: boolean): string {
  const element = elementOf(model, series);
  const several = group.series.length + group.right.length > 1;
  if (oneSignal && several) return element ? elementName(element) : `element ${series.element}`;
  return element && element.kind !== ElementKind.Machine && several ? `${series.signal} ${elementName(element)}` : series.signal;
}

function unitOf(series: Series): string {
  return displayOf(series).unit;
}

/** The axis of a chart that has the series' unit, or room for it; null: both are taken. */
export function sideFor(left: Series, right: Series | undefined, series: Series): Side | null {
  if (unitOf(series) === unitOf(left)) return 'left';
  return right === undefined || unitOf(series) === unitOf(right) ? 'right' : null;
}

/** How many series there are of each signal. */
function countSignals(model: SessionModel): Map<string, number> {
  const counts = new Map<string, number>();
  for (const series of model.series.values()) counts.set(signalOf(series), (counts.get(signalOf(series)) ?? 0) + 1);
  return counts;
}

/** Puts the signals of a chart of the first look together. @return the charts' keys */
export function arrangeFirstLook(model: SessionModel, grouping: Grouping): { key: string; stack: boolean }[] {
  const counts = countSignals(model);
  return firstLook(model).map(({ chart, series }) => {
    const keyOf = (one: Series): string => chartOf(model, one, grouping.charts, counts).key;
    const key = keyOf(series[0]);
    for (const one of series) if (keyOf(one) !== key) grouping.placed.set(one.id, key);
    if (series.some((one) => elementOf(model, one)?.kind !== ElementKind.Machine)) grouping.linesOf.set(key, ElementKind.Machine);
    return { key, stack: chart.stack };
  });
}

export function groupSeries(model: SessionModel, selected: Iterable<number>, grouping: Grouping): ChartGroup[] {
  const counts = countSignals(model);
  const gathered = new Map<string, Gathered>();
  const gather = (series: Series): void => {
    const { key, title } = chartOf(model, series, grouping.charts, counts);
    const group = gathered.get(key) ?? { key, title, series: [], right: [] };
    group.series.push(series);
    gathered.set(key, group);
  };
  const known = [...selected].flatMap((id) => model.series.get(id) ?? []);
  for (const series of known) if (!grouping.placed.has(series.id)) gather(series);
  const own = new Map([...gathered.values()].map((group) => [group, group.series.length]));
  for (const series of known) {
    if (!grouping.placed.has(series.id)) continue;
    const group = gathered.get(grouping.placed.get(series.id)!);
    const side = group && own.has(group) ? sideFor(group.series[0], group.right[0], series) : null;
    if (!group || side === null) gather(series);
    else (side === 'left' ? group.series : group.right).push(series);
  }
  const compare = byElement(model);
  return [...gathered.values()].map((group) => {
    const look = typeof grouping.charts === 'string' && group.right.length === 0 ? lookOf(group.series) : undefined;
    if (look) group.title = look.title;
    else if (group.series.length === 1 && typeof grouping.charts === 'string') group.title = `${group.series[0].sensor} ${group.series[0].signal}`;
    if ((own.get(group) ?? 0) === group.series.length) group.series.sort(compare);
    group.right.sort(compare);
    const levels = levelsOf(model, [...group.series, ...group.right]);
    const wanted = grouping.linesOf.get(group.key) ?? grouping.lines;
    const lines = wanted === 'each' || levels.includes(wanted) ? wanted : 'each';
    return { key: group.key, title: group.title, levels, lines, compact: look !== undefined, traces: [...tracesOf(model, group, lines, 'left'), ...tracesOf(model, group, lines, 'right')] };
  });
}

/** Kinds of elements that the selected series belong to, or lie in. */
export function placesOf(model: SessionModel, selected: Iterable<number>): { charts: ElementKind[]; lines: ElementKind[] } {
  const series = [...selected].flatMap((id) => model.series.get(id) ?? []);
  return {
    charts: PLACES.filter((kind) => series.some((one) => within(model, one.element, kind))),
    lines: levelsOf(model, series),
  };
}

const DEFAULT_CPU_SIGNALS = ['busy', 'user', 'system'];
const DEFAULT_SIGNALS = ['pgfault', 'pgalloc_normal', 'pgalloc', 'nr_free_pages', 'free_memory', 'pswpin', 'pswpout'];
const MAX_DEFAULTS = 3;
/** Of more than these one signal is enough for a first look. */
const MANY_CPUS = 64;

/** Signals of so many alarms at most are part of a first look. */
const MAX_RAISED = 2;

/** What alarms were raised for, critical ones first, with the same signal of the other elements to compare with. */
function raisedSeries(model: SessionModel): number[] {
  const raised = [...model.alarms].sort((a, b) => Number(b.critical) - Number(a.critical)).flatMap((alarm) => model.series.get(alarm.series) ?? []);
  const signals = [...new Set(raised.map(signalOf))].slice(0, MAX_RAISED);
  return signals.flatMap((signal) => {
    const all = [...model.series.values()].filter((series) => signalOf(series) === signal);
    return (all.length <= MANY_CPUS ? all : all.filter((series) => raised.includes(series))).slice(0, MANY_CPUS).map((series) => series.id);
  });
}

/** What a first look shows: the machine (first_look.ts), and what alarms were raised for; else that, how busy each CPU is, and a few rates of the kernel. */
export function defaultSelection(model: SessionModel): number[] {
  const chosen = raisedSeries(model);
  const look = firstLook(model).flatMap(({ series }) => series.map((one) => one.id));
  if (look.length > 0) return [...new Set([...look, ...chosen])];
  const all = [...model.series.values()];
  const onCpus = all.filter((series) => elementOf(model, series)?.kind === ElementKind.Cpu);
  const cpuSignals = DEFAULT_CPU_SIGNALS.filter((signal) => onCpus.some((series) => series.signal === signal));
  const cpus = onCpus.filter((series) => series.signal === cpuSignals[0]).length;
  const shownCpu = cpuSignals.includes('busy') ? ['busy'] : cpuSignals.slice(0, cpus > MANY_CPUS ? 1 : undefined);
  chosen.push(...onCpus.filter((series) => shownCpu.includes(series.signal)).map((series) => series.id));
  const machine = DEFAULT_SIGNALS.flatMap((signal) => all.filter((series) => series.signal === signal && !onCpus.includes(series)).slice(0, 1));
  chosen.push(...machine.slice(0, MAX_DEFAULTS).map((series) => series.id));
  return chosen.length > 0 ? chosen : all.slice(0, 8).map((series) => series.id);
}

/** The same as long as no chart has other lines. */
export function signatureOf(groups: ChartGroup[]): string {
  return groups.map((group) => `${group.key} ${group.levels.join()} ${group.traces.map((trace) => `${trace.key}:${trace.series.length}${trace.side}`).join()}`).join('\n');
}
