// The list that opens at a chart: further signals for it, on the axis that has their unit or on the free one.

import { button, el, icon, ICONS } from '../app/dom';
import { Search } from '../app/widgets';
import type { Chart } from '../charts/chart';
import { displayOf } from '../charts/format';
import { sideFor } from '../charts/traces';
import type { SessionModel, Series } from '../session/model';

export interface AdderHost {
  model: SessionModel;
  onAdd(chart: Chart, series: number[]): void;
  onRemove(series: number[]): void;
  /** Series that a person put into this chart. */
  added(chart: Chart): Series[];
}

/** More are reached by typing. */
const MAX_ROWS = 80;

interface Signal {
  name: string;
  series: Series[];
}

function signalsOf(all: Iterable<Series>): Signal[] {
  const signals = new Map<string, Signal>();
  for (const series of all) {
    const name = `${series.sensor} ${series.signal}`;
    const signal = signals.get(name) ?? { name, series: [] };
    signal.series.push(series);
    signals.set(name, signal);
  }
  return [...signals.values()];
}

export class Adder {
  readonly root = el('div', { className: 'adder', role: 'dialog', 'aria-label': 'Add a signal to this chart', hidden: true });
  private readonly search = new Search('Add a signal', 'Search signals to add', () => this.render());
  private readonly list = el('div', { className: 'adder-list' });
  private chart: Chart | null = null;
  private opener: HTMLElement | null = null;

  constructor(private readonly host: AdderHost) {
    this.root.append(this.search.root, this.list);
    this.root.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') this.close();
      else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') this.moveFocus(event.key === 'ArrowDown' ? 1 : -1);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    document.addEventListener('pointerdown', (event) => {
      if (!this.root.hidden && !this.root.contains(event.target as Node) && !this.opener?.contains(event.target as Node)) this.close();
    });
  }

  /** The button of a chart that opens the list. */
  button(chart: Chart): HTMLElement {
    const opener = button('choice text add', icon(ICONS.plus), () => (this.chart === chart ? this.close() : this.open(chart, opener)), { 'title': 'Add a signal to this chart, also of another unit', 'aria-label': 'Add a signal', 'aria-haspopup': 'dialog' });
    return opener;
  }

  close(): void {
    if (this.root.hidden) return;
    this.root.hidden = true;
    this.chart = null;
    if (this.opener?.isConnected && this.root.contains(document.activeElement)) this.opener.focus();
  }

  private open(chart: Chart, opener: HTMLElement): void {
    this.chart = chart;
    this.opener = opener;
    this.search.input.value = '';
    this.root.hidden = false;
    const at = opener.getBoundingClientRect();
    this.root.style.top = `${Math.min(at.bottom + 4, window.innerHeight - 320)}px`;
    this.root.style.right = `${Math.max(8, window.innerWidth - at.right - 40)}px`;
    this.render();
    this.search.input.focus();
  }

  private moveFocus(by: number): void {
    const rows = [...this.list.querySelectorAll('button')];
    const next = rows.indexOf(document.activeElement as HTMLButtonElement) + by;
    if (next < 0) this.search.input.focus();
    else rows[Math.min(next, rows.length - 1)]?.focus();
  }

  private render(): void {
    const { chart, host } = this;
    if (!chart) return;
    const added = signalsOf(host.added(chart));
    const inChart = new Set(chart.traces.flatMap((trace) => trace.series.map((series) => series.id)));
    const left = chart.traces[0].first;
    const right = chart.traces.find((trace) => trace.side === 'right')?.first;
    const { words } = this.search;
    const offered = signalsOf([...host.model.series.values()].filter((series) => !inChart.has(series.id)))
      .filter((signal) => words.every((word) => `${signal.name} ${displayOf(signal.series[0]).unit}`.toLowerCase().includes(word)))
      .filter((signal) => sideFor(left, right, signal.series[0]) !== null);
    const rows: Node[] = added.map((signal) => this.row(signal, 'added', () => host.onRemove(signal.series.map((series) => series.id))));
    for (const signal of offered.slice(0, MAX_ROWS)) {
      const side = sideFor(left, right, signal.series[0]) === 'left' ? '←' : '→';
      rows.push(this.row(signal, side, () => host.onAdd(chart, signal.series.map((series) => series.id))));
    }
    if (offered.length === 0) rows.push(el('p', { className: 'empty' }, right === undefined ? 'No signal matches.' : 'No signal with the unit of one of the two axes matches.'));
    if (offered.length > MAX_ROWS) rows.push(el('p', { className: 'empty' }, 'More match: type further letters.'));
    this.list.replaceChildren(...rows);
  }

  /** @param mark the axis that it would get, or 'added': a click takes it out again */
  private row({ name, series }: Signal, mark: string, onClick: () => void): HTMLElement {
    const { unit } = displayOf(series[0]);
    const isAdded = mark === 'added';
    const row = el('button', { className: isAdded ? 'adder-row added' : 'adder-row', type: 'button', title: isAdded ? 'Take it out of this chart' : `To the ${mark === '←' ? 'left' : 'right'} axis` },
      isAdded ? icon(ICONS.close) : el('span', { className: 'axis-side' }, mark), el('span', { className: 'name' }, name), el('span', { className: 'note' }, series.length > 1 ? `${unit} × ${series.length}` : unit));
    row.addEventListener('click', () => {
      this.close();
      onClick();
    });
    return row;
  }
}
