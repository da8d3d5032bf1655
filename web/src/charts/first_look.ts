// Charts of a first look at a machine: CPUs' time by kind, memory, disks, network and run queue, a small chart each.

import { ElementKind, type Element, type Series, type SessionModel } from '../session/model';

/** A chart of the first look. */
export interface LookChart {
  title: string;
  sensor: string;
  signals: readonly string[];
  kind: ElementKind;
  /** Areas on each other, summed over the elements. */
  stack: boolean;
}

export const FIRST_LOOK: readonly LookChart[] = [
  { title: 'CPU', sensor: 'cpu', signals: ['user', 'nice', 'system', 'irq', 'softirq', 'iowait', 'steal'], kind: ElementKind.Cpu, stack: true },
  { title: 'memory', sensor: 'memory', signals: ['MemTotal', 'MemAvailable'], kind: ElementKind.Machine, stack: false },
  { title: 'run queue', sensor: 'cpu', signals: ['running', 'blocked'], kind: ElementKind.Machine, stack: false },
  { title: 'disk', sensor: 'block', signals: ['read_bytes', 'write_bytes'], kind: ElementKind.Device, stack: false },
  { title: 'network', sensor: 'network', signals: ['rx_bytes', 'tx_bytes'], kind: ElementKind.Device, stack: false },
];
/** Stolen time is what tells a busy machine from a busy host. */
const NEEDED = 'steal';
/** Of more elements the sum costs more than a first look is worth. */
const MOST_ELEMENTS = 64;

/** The series of each chart; a chart without any is left out. Empty: the machine's own signals are not recorded. */
export function firstLook(model: SessionModel): { chart: LookChart; series: Series[] }[] {
  const all = [...model.series.values()];
  const kindOf = ({ element }: Series): Element | undefined => model.elements.get(element);
  const charts = FIRST_LOOK.map((chart) => ({
    chart,
    series: chart.signals.flatMap((signal) => {
      const known = all.filter((series) => series.sensor === chart.sensor && series.signal === signal && kindOf(series)?.name !== 'lo');
      const of = (kind: ElementKind): Series[] => known.filter((series) => kindOf(series)?.kind === kind);
      const found = of(chart.kind).length > 0 ? of(chart.kind) : of(ElementKind.Machine);
      return found.length <= MOST_ELEMENTS ? found : [];
    }),
  })).filter(({ series }) => series.length > 0);
  return charts.some(({ series }) => series.some(({ signal }) => signal === NEEDED)) ? charts : [];
}

/** The chart of the first look that has these signals; undefined: another one. */
export function lookOf(series: Series[]): LookChart | undefined {
  const { sensor } = series[0];
  if (series.some((one) => one.sensor !== sensor)) return undefined;
  const signals = new Set(series.map((one) => one.signal));
  return FIRST_LOOK.find((chart) => chart.sensor === sensor && signals.size > 1 && [...signals].every((signal) => chart.signals.includes(signal)));
}
