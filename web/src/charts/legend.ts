// The lines of a chart by name, with their values at the cursor; the scale of colours of a heat map.

import { el } from '../app/dom';
import { formatDuration, formatValue, type Display } from './format';
import { gradient } from './heat';
import type { Freshness } from './stale';
import type { Trace } from './traces';

export interface LegendActions {
  toggle(index: number): void;
  isolate(index: number): void;
  emphasize(index: number): void;
}

/** Beyond this the names are at the heat map's rows, or in the table of values. */
const MAX_ENTRIES = 16;

interface Entry {
  row: HTMLElement;
  value: HTMLElement;
  mark: HTMLElement;
}

export class Legend {
  readonly root = el('div', { className: 'legend' });
  private entries: Entry[] = [];
  private readonly scaleLow = el('span', {});
  private readonly scaleHigh = el('span', {});
  private readonly bar = el('i', {});
  private readonly hover = el('span', { className: 'heat-hover' });

  /** @param twoAxes entries say which axis is theirs */
  constructor(private readonly traces: Trace[], private readonly twoAxes: boolean, private readonly actions: LegendActions) {}

  /** @param heat the map's colours instead of the lines' */
  render(heat: boolean, dark: boolean, color: (index: number) => string): void {
    this.entries = [];
    this.root.classList.toggle('heat', heat);
    if (heat) {
      this.bar.style.background = gradient(dark);
      this.root.replaceChildren(this.hover, el('span', { className: 'heat-scale' }, this.scaleLow, this.bar, this.scaleHigh));
    } else if (this.traces.length > MAX_ENTRIES) {
      const right = this.traces.filter((trace) => trace.side === 'right').length;
      this.root.replaceChildren(el('span', { className: 'legend-more' }, `${this.traces.length} lines${right > 0 ? `, ${right} of them on the right axis` : ''}`));
    } else {
      this.root.replaceChildren(...this.traces.map((trace, i) => this.entry(trace, i, color(i))));
    }
  }

  showHidden(hidden: Set<number>): void {
    this.entries.forEach((entry, i) => entry.row.classList.toggle('off', hidden.has(i)));
  }

  showScale(low: string, high: string): void {
    if (this.scaleLow.textContent !== low) this.scaleLow.textContent = low;
    if (this.scaleHigh.textContent !== high) this.scaleHigh.textContent = high;
  }

  showHover(name: string, value: string): void {
    if (name === '') this.hover.replaceChildren();
    else this.hover.replaceChildren(name, el('b', {}, value));
  }

  /** @param value as it was sent; NaN: none @param range of the values that it is the mean of, or null */
  showValue(index: number, value: number, display: Display, range: [number, number, number] | null, fresh: Freshness): void {
    const entry = this.entries[index];
    if (!entry) return;
    const text = formatValue(value, display);
    if (entry.value.textContent !== text) entry.value.textContent = text;
    const trace = this.traces[index];
    const parts = [(trace.note === '' ? trace.name : `${trace.name}: ${trace.note}`) + (this.twoAxes ? `, on the ${trace.side} axis` : '')];
    if (range) parts.push(`${formatValue(range[0], display)} to ${formatValue(range[1], display)} in ${range[2]} samples`);
    let mark = '';
    if (fresh.silent > 0) {
      mark = 'silent';
      parts.push(`no data for ${formatDuration(fresh.silent)}: the sensor or its element is gone`);
    } else if (fresh.refresh > 0) {
      mark = 'slow';
      parts.push(`its source refreshes it every ${formatDuration(fresh.refresh)} only; unchanged for ${formatDuration(fresh.unchanged)}`);
    }
    if (entry.mark.className !== `mark ${mark}`) entry.mark.className = `mark ${mark}`;
    const title = parts.join('\n');
    if (entry.row.title !== title) entry.row.title = title;
  }

  private entry(trace: Trace, i: number, color: string): HTMLElement {
    const value = el('span', { className: 'value' }, '–');
    const mark = el('span', { className: 'mark' });
    const row = el('button', { className: 'legend-entry', type: 'button' }, el('i', {}), el('span', { className: 'name' }, trace.name),
      trace.note === '' ? null : el('span', { className: 'sum-note' }, trace.note),
      this.twoAxes ? el('span', { className: 'axis-side', 'aria-label': `${trace.side} axis` }, trace.side === 'left' ? '←' : '→') : null, mark, value);
    row.style.setProperty('--color', color);
    row.addEventListener('click', () => this.actions.toggle(i));
    row.addEventListener('dblclick', () => this.actions.isolate(i));
    row.addEventListener('pointerenter', () => this.actions.emphasize(i));
    row.addEventListener('pointerleave', () => this.actions.emphasize(-1));
    this.entries.push({ row, value, mark });
    return row;
  }
}
