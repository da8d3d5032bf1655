// The program's threads: the value of each of their signals at the cursor, or the newest one. Which signals there are is
// up to the sensors.

import { displayOf, formatValue, type Display } from '../charts/format';
import { elementName, within } from '../charts/traces';
import { ElementKind, type Element, type SessionModel, type Series } from '../session/model';
import type { Range } from '../session/view';
import { TablePanel, type Column } from './table';

export interface ThreadsHost {
  model: SessionModel;
  range(): Range;
  /** The moment whose values are shown. */
  moment(): number;
  /** Show the charts of these series. */
  onSelect(series: number[]): void;
}

interface Row {
  element: Element;
  process: Element | undefined;
  /** By signal. */
  series: Map<string, Series>;
}

/** Signals of the thread's process are shown with each of its threads, where the threads have none of that name. */
function seriesOf(model: SessionModel): Map<number, Map<string, Series>> {
  const result = new Map<number, Map<string, Series>>();
  for (const series of model.series.values()) {
    const kind = model.elements.get(series.element)?.kind;
    if (kind !== ElementKind.Thread && kind !== ElementKind.Process) continue;
    const signals = result.get(series.element) ?? new Map<string, Series>();
    result.set(series.element, signals.set(series.signal, series));
  }
  return result;
}

export class ThreadTable extends TablePanel<Row> {
  private rows: Row[] = [];
  private signature = '';

  constructor(private readonly host: ThreadsHost) {
    super('No thread is sampled. The sensor "thread" does it while a program is observed.', (row) => host.onSelect([...row.series.values()].map((series) => series.id)));
  }

  override get count(): number {
    return this.rows.length;
  }

  /** What must be in the view for the table to have values. */
  wanted(): number[] {
    return [...new Set(this.alive().flatMap((row) => [...row.series.values()].map((series) => series.id)))];
  }

  /** Elements or series changed. */
  override render(): void {
    const { model } = this.host;
    const known = seriesOf(model);
    this.rows = [];
    const signals = new Map<string, Series>();
    for (const element of model.elements.values()) {
      if (element.kind !== ElementKind.Thread || !known.has(element.id)) continue;
      const process = within(model, element.parent, ElementKind.Process);
      const series = new Map([...(known.get(process?.id ?? 0) ?? []), ...known.get(element.id)!]);
      this.rows.push({ element, process, series });
      for (const one of known.get(element.id)!.values()) signals.set(one.signal, one);
      for (const one of known.get(process?.id ?? 0)?.values() ?? []) if (!signals.has(one.signal)) signals.set(one.signal, one);
    }
    const signature = [...signals.keys()].join();
    if (signature !== this.signature) {
      this.signature = signature;
      const first = [...signals.values()][0];
      this.table.setColumns(this.columns([...signals.values()]), first ? titleOf(first) : null);
    }
    this.refresh();
  }

  /** The moment or the values changed. */
  override refresh(): void {
    this.table.setRows(this.alive());
  }

  private alive(): Row[] {
    const { t0, t1 } = this.host.range();
    return this.rows.filter(({ element }) => !(element.start > t1) && !(element.end < t0));
  }

  private levelOf(row: Row, signal: string): number {
    const series = row.series.get(signal);
    const points = series && this.host.model.points.get(series.id);
    if (!points) return NaN;
    const at = points.holding(this.host.moment());
    return at < 0 ? NaN : points.mean[at];
  }

  private columns(signals: Series[]): Column<Row>[] {
    return [
      { title: 'Thread', numeric: false, width: 'minmax(120px, 1.4fr)', rank: (row) => elementName(row.element), show: (row, cell) => {
        cell.classList.toggle('ended', !Number.isNaN(row.element.end));
        return elementName(row.element);
      } },
      { title: 'TID', numeric: true, width: '72px', rank: (row) => row.element.osId, show: (row) => String(row.element.osId) },
      { title: 'Process', numeric: false, width: 'minmax(90px, 1fr)', rank: (row) => (row.process ? elementName(row.process) : ''), show: (row, cell) => {
        cell.title = row.process ? elementName(row.process) : '';
        return cell.title.split(' ')[0].split('/').pop()!;
      } },
      ...signals.map((series): Column<Row> => ({
        title: titleOf(series), hint: `${series.sensor} ${series.signal}`, numeric: true, width: 'minmax(88px, 1fr)',
        rank: (row) => this.levelOf(row, series.signal) * displayOf(series).factor, unit: displayOf(series).unit,
        show: (row) => formatValue(this.levelOf(row, series.signal), shortDisplay(series)),
      })),
    ];
  }
}

/** The heading says what is counted: "460 /s". */
function shortDisplay(series: Series): Display {
  const display = displayOf(series);
  if (/^(%|B|s)(\/s)?$/.test(display.unit)) return display;
  return { ...display, unit: display.unit.endsWith('/s') ? '/s' : '' };
}

/** "voluntary_switches" as "voluntary switches". */
function titleOf(series: Series): string {
  return series.signal.replace(/_/g, ' ');
}
