// One chart: several series with one unit over the shared range of time. uPlot lays out axes, grid and cursor; the
// series are drawn here from each one's own points, because their times differ.

import uPlot from 'uplot';
import { GAP_REASONS, type Gap, type Label, type SessionModel, type Series } from '../session/model';
import type { Range } from '../session/view';
import { el } from '../app/dom';
import { drawSeries, valueExtent, type Plane } from './draw';
import { axisFormatter, displayOf, formatClock, formatValue, type Display } from './format';
import { seriesColor } from './palette';
import { timeStep, timeTicks, valueRange } from './ticks';

export interface ChartHost {
  model: SessionModel;
  dark(): boolean;
  range(): Range;
  /** The pointer moved to this moment over some chart; NaN: it left. */
  onCursor(t: number): void;
  cursor(): number;
  /** The chart was scrolled into sight. */
  onAppear(): void;
  nameOf(series: Series): string;
}

const AXIS_WIDTH = 64;
const TIME_AXIS_HEIGHT = 26;
const RIGHT_PADDING = 12;
const TOP_PADDING = 8;
export const PLOT_HEIGHT = 168;
const LEGEND_LIMIT = 16;

interface LegendEntry {
  row: HTMLElement;
  value: HTMLElement;
}

export class Chart {
  readonly root: HTMLElement;
  private readonly plot: uPlot;
  private readonly display: Display;
  private readonly scale = { low: 0, high: 1, step: 0.25 };
  private readonly legend: LegendEntry[] = [];
  private readonly hidden = new Set<number>();
  private emphasized = -1;
  private styles: CSSStyleDeclaration;
  private readonly observer: IntersectionObserver;
  /** Charts out of sight are not drawn. */
  onScreen = true;

  constructor(
    private readonly host: ChartHost,
    title: string,
    readonly series: Series[],
    width: number,
  ) {
    this.display = displayOf(series[0]);
    const unit = this.display.unit === '' ? '' : this.display.unit;
    const stage = el('div', { className: 'stage' });
    const legend = el('div', { className: 'legend' });
    this.root = el('section', { className: 'chart', 'aria-label': title },
      el('header', {}, el('h2', {}, title), unit ? el('span', { className: 'unit' }, unit) : null, legend), stage);
    this.makeLegend(legend);
    this.styles = getComputedStyle(document.documentElement);
    this.plot = new uPlot(this.options(width), [[0, 1], [0, 0]], stage);
    this.observer = new IntersectionObserver((entries) => {
      this.onScreen = entries[entries.length - 1].isIntersecting;
      if (this.onScreen) host.onAppear();
    });
    this.observer.observe(this.root);
    this.plot.over.addEventListener('pointermove', (event) => host.onCursor(this.timeAt(event.offsetX)));
    this.plot.over.addEventListener('pointerleave', () => host.onCursor(NaN));
  }

  get plotElement(): HTMLElement {
    return this.plot.over;
  }

  get plotWidth(): number {
    return this.plot.over.clientWidth;
  }

  timeAt(offsetX: number): number {
    const { t0, t1 } = this.host.range();
    return t0 + (offsetX / this.plot.over.clientWidth) * (t1 - t0);
  }

  resize(width: number): void {
    this.plot.setSize({ width, height: PLOT_HEIGHT + TIME_AXIS_HEIGHT });
  }

  themeChanged(): void {
    this.styles = getComputedStyle(document.documentElement);
    this.series.forEach((_, i) => this.legend[i]?.row.style.setProperty('--color', this.color(i)));
  }

  draw(): void {
    const range = this.host.range();
    this.fitValues(range);
    this.plot.batch(() => {
      this.plot.setScale('x', { min: range.t0, max: range.t1 });
      this.plot.setScale('y', { min: this.scale.low, max: this.scale.high });
    });
    this.placeCursor(this.host.cursor());
  }

  destroy(): void {
    this.observer.disconnect();
    this.plot.destroy();
    this.root.remove();
  }

  /** The pointer moved. */
  showCursor(t: number): void {
    this.placeCursor(t);
    this.showValues();
  }

  /** Values at the cursor, or the newest ones. */
  showValues(): void {
    const t = this.host.cursor();
    const range = this.host.range();
    const moment = Number.isNaN(t) ? Math.min(range.t1, this.host.model.extent.t1) : t;
    this.series.forEach((series, i) => {
      const entry = this.legend[i];
      if (!entry) return;
      const points = this.host.model.points.get(series.id);
      const row = points ? points.holding(moment) : -1;
      const stale = !points || row < 0 || moment - points.t[row] > this.longestStep(series, range);
      const text = stale ? '–' : formatValue(points.mean[row], this.display);
      if (entry.value.textContent !== text) entry.value.textContent = text;
      if (points && row >= 0 && !stale && !points.exact) {
        entry.row.title = `${this.host.nameOf(series)}: ${formatValue(points.low[row], this.display)} to ${formatValue(points.high[row], this.display)} in ${points.count[row]} samples`;
      }
    });
  }

  private placeCursor(t: number): void {
    const range = this.host.range();
    const left = Number.isNaN(t) ? -10 : ((t - range.t0) / (range.t1 - range.t0)) * this.plot.over.clientWidth;
    this.plot.setCursor({ left, top: -10 }, false);
  }

  private makeLegend(legend: HTMLElement): void {
    if (this.series.length > LEGEND_LIMIT) {
      legend.append(el('span', { className: 'legend-more' }, `${this.series.length} series`));
      return;
    }
    this.series.forEach((series, i) => {
      const value = el('span', { className: 'value' }, '–');
      const row = el('button', { className: 'legend-entry', type: 'button', title: this.host.nameOf(series) },
        el('i', {}), el('span', { className: 'name' }, this.host.nameOf(series)), value);
      row.style.setProperty('--color', this.color(i));
      row.addEventListener('click', () => this.toggle(i));
      row.addEventListener('dblclick', () => this.isolate(i));
      row.addEventListener('pointerenter', () => this.emphasize(i));
      row.addEventListener('pointerleave', () => this.emphasize(-1));
      legend.append(row);
      this.legend.push({ row, value });
    });
  }

  private toggle(index: number): void {
    if (!this.hidden.delete(index)) this.hidden.add(index);
    this.showHidden();
  }

  private isolate(index: number): void {
    const alone = this.hidden.size === this.series.length - 1 && !this.hidden.has(index);
    this.hidden.clear();
    if (!alone) this.series.forEach((_, i) => i !== index && this.hidden.add(i));
    this.showHidden();
  }

  private showHidden(): void {
    this.legend.forEach((entry, i) => entry.row.classList.toggle('off', this.hidden.has(i)));
    this.draw();
  }

  private emphasize(index: number): void {
    this.emphasized = index;
    this.draw();
  }

  private color(index: number): string {
    return seriesColor(index, this.series.length, this.host.dark());
  }

  private longestStep(series: Series, range: Range): number {
    const pixel = (range.t1 - range.t0) / Math.max(1, this.plot.over.clientWidth);
    return Math.max(series.interval * 2.5, pixel * 4) || Infinity;
  }

  private fitValues(range: Range): void {
    let lowest = Infinity;
    let highest = -Infinity;
    this.series.forEach((series, i) => {
      const points = this.host.model.points.get(series.id);
      if (!points || this.hidden.has(i)) return;
      const [low, high] = valueExtent(points, range.t0, range.t1, this.display.factor);
      if (low < lowest) lowest = low;
      if (high > highest) highest = high;
    });
    // Rates and shares are compared with nothing; levels with themselves.
    const fromZero = this.display.unit.endsWith('/s') || this.display.unit === '%' || lowest < highest * 0.5;
    Object.assign(this.scale, valueRange(lowest, highest, fromZero));
    // Ticks of the kernel's accounting can make a full CPU a little more than full.
    if (this.display.unit === '%' && highest <= 105 && highest > 60) Object.assign(this.scale, { low: 0, high: 100, step: 25 });
  }

  private css(name: string): string {
    return this.styles.getPropertyValue(name).trim();
  }

  private options(width: number): uPlot.Options {
    const wall0 = (): number => this.host.model.wallMs(0);
    const font = '11px system-ui, -apple-system, "Segoe UI", sans-serif';
    const grid = { stroke: () => this.css('--grid'), width: 1 };
    let step = 1e9;
    return {
      width,
      height: PLOT_HEIGHT + TIME_AXIS_HEIGHT,
      padding: [TOP_PADDING, RIGHT_PADDING, 0, 0],
      legend: { show: false },
      cursor: { drag: { x: false, y: false, setScale: false }, y: false, points: { show: false } },
      scales: { x: { time: false, auto: false }, y: { auto: false } },
      series: [{}, { show: true, stroke: 'transparent', paths: () => null, points: { show: false } }],
      axes: [
        {
          size: TIME_AXIS_HEIGHT, font, gap: 6, grid, stroke: () => this.css('--text-faint'),
          ticks: { show: false },
          splits: (u, _axis, min, max) => {
            step = timeStep(max - min, Math.max(2, u.over.clientWidth / 110));
            return timeTicks(min, max, step, wall0());
          },
          values: (_u, splits) => splits.map((t) => formatClock(wall0() + t / 1e6, step)),
        },
        {
          size: AXIS_WIDTH, font, gap: 8, grid, stroke: () => this.css('--text-faint'),
          ticks: { show: false },
          splits: () => {
            const lines: number[] = [];
            for (let k = 0; this.scale.low + k * this.scale.step <= this.scale.high * (1 + 1e-9) + 1e-12; k++) lines.push(this.scale.low + k * this.scale.step);
            return lines;
          },
          values: (_u, splits) => {
            const write = axisFormatter(Math.max(Math.abs(this.scale.high), Math.abs(this.scale.low)), this.scale.step, this.display);
            return splits.map((value) => write(value));
          },
        },
      ],
      hooks: { draw: [(u) => this.paint(u)] },
    };
  }

  private paint(u: uPlot): void {
    const { left, top, width, height } = u.bbox;
    const range = this.host.range();
    const plane: Plane = { left, top, width, height, t0: range.t0, t1: range.t1, low: this.scale.low, high: this.scale.high };
    const context = u.ctx;
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    this.paintGaps(context, plane);
    const crowd = this.series.length;
    this.series.forEach((series, i) => {
      const points = this.host.model.points.get(series.id);
      if (!points || points.length === 0 || this.hidden.has(i)) return;
      const faded = this.emphasized >= 0 && this.emphasized !== i;
      context.globalAlpha = 1;
      drawSeries(context, points, plane, {
        color: faded ? this.css('--faded') : this.color(i),
        width: (this.emphasized === i ? 2 : crowd > 24 ? 0.9 : 1.35) * devicePixelRatio,
        bandOpacity: faded || crowd > 24 ? 0 : crowd > 8 ? 0.1 : 0.16,
        factor: this.display.factor,
        longestStep: this.longestStep(series, range),
      });
    });
    this.paintLabels(context, plane);
    context.restore();
  }

  private paintGaps(context: CanvasRenderingContext2D, plane: Plane): void {
    const streams = this.host.model.gaps.filter((gap) => gap.t1 >= plane.t0 && gap.t0 <= plane.t1);
    if (streams.length === 0) return;
    const x = (t: number): number => plane.left + ((t - plane.t0) / (plane.t1 - plane.t0)) * plane.width;
    context.fillStyle = this.css('--gap');
    const drawn: Gap[] = [];
    for (const gap of streams) {
      const begin = x(gap.t0);
      const width = Math.max(2 * devicePixelRatio, x(gap.t1) - begin);
      context.fillRect(begin, plane.top, width, plane.height);
      if (width < 60 * devicePixelRatio || drawn.some((other) => Math.abs(x(other.t0) - begin) < 4)) continue;
      drawn.push(gap);
    }
    context.fillStyle = this.css('--gap-text');
    context.font = `${10.5 * devicePixelRatio}px system-ui, sans-serif`;
    context.textAlign = 'center';
    context.textBaseline = 'bottom';
    for (const gap of drawn) {
      const middle = (Math.max(x(gap.t0), plane.left) + Math.min(x(gap.t1), plane.left + plane.width)) / 2;
      context.fillText(`${gap.count} ${GAP_REASONS[gap.reason]}`, middle, plane.top + plane.height - 6 * devicePixelRatio);
    }
  }

  private paintLabels(context: CanvasRenderingContext2D, plane: Plane): void {
    const x = (label: Label): number => plane.left + ((label.t - plane.t0) / (plane.t1 - plane.t0)) * plane.width;
    const visible = this.host.model.labels.filter((label) => label.t >= plane.t0 && label.t <= plane.t1);
    context.strokeStyle = this.css('--label');
    context.fillStyle = this.css('--label');
    context.lineWidth = devicePixelRatio;
    context.font = `600 ${10.5 * devicePixelRatio}px system-ui, sans-serif`;
    context.textAlign = 'left';
    context.textBaseline = 'top';
    let textEnd = -Infinity;
    for (const label of visible) {
      const at = Math.round(x(label)) + 0.5;
      context.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
      context.beginPath();
      context.moveTo(at, plane.top);
      context.lineTo(at, plane.top + plane.height);
      context.stroke();
      if (at < textEnd) continue;
      const text = label.text.length > 40 ? `${label.text.slice(0, 39)}…` : label.text;
      context.fillText(text, at + 5 * devicePixelRatio, plane.top + 3 * devicePixelRatio);
      textEnd = at + 10 * devicePixelRatio + context.measureText(text).width;
    }
    context.setLineDash([]);
  }
}
