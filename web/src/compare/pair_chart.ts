// One signal of two recordings, drawn over each other by the time after the start of each: the first one solid, the
// second one dashed.

import { addGestures } from '../app/gestures';
import { drawingChoice } from '../app/drawing';
import { el } from '../app/dom';
import { combine, Holds, type Member } from '../charts/combine';
import { drawSeries, valueExtent, type Plane } from '../charts/draw';
import { axisFormatter, formatDuration, formatValue, type Display } from '../charts/format';
import { fitScale, roundUp, type Scale } from '../charts/ticks';
import { Points } from '../session/points';
import { SeriesKind, type SessionModel, type Series } from '../session/model';
import { TimeView } from '../session/view';

export interface PairRequest {
  id: number;
  before: number[];
  after: number[];
  t0: number;
  t1: number;
  pixels: number;
}

export interface PairHost {
  css(name: string): string;
  request(pair: PairRequest): void;
}

/** What the server takes. */
const MAX_SERIES = 512;
const LEFT = 64;
const RIGHT = 14;
const TOP = 10;
const BOTTOM = 24;
const COLORS = ['--accent', '--label'] as const;
const DASH = [5, 3];

interface Side {
  name: string;
  series: Series[];
  points: Points | null;
}

/** Round steps of a stopwatch. */
function stopwatchStep(length: number, wanted: number): number {
  const step = length / wanted;
  if (step < 30e9) return roundUp(step);
  return [30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400].map((s) => s * 1e9).find((known) => known >= step) ?? step;
}

export class PairChart {
  readonly root: HTMLElement;
  private readonly canvas = el('canvas', {});
  private readonly over = el('div', { className: 'pair-over' });
  private readonly hover = el('span', { className: 'pair-hover' });
  private readonly title = el('h2', {});
  private readonly unit = el('span', { className: 'unit' });
  private readonly entries = [0, 1].map((i) => ({ value: el('span', { className: 'value' }), name: el('span', { className: 'name' }), index: i }));
  private view = new TimeView({ t0: 0, t1: 1 });
  private sides: [Side, Side] = [{ name: '', series: [], points: null }, { name: '', series: [], points: null }];
  private display: Display = { unit: '', factor: 1, prefixes: 'decimal' };
  private lastRequest = 0;
  private answered = 0;
  private cursor = NaN;

  constructor(private readonly host: PairHost) {
    const legend = this.entries.map(({ name, value, index }) => el('span', { className: 'legend-entry' }, el('i', { className: index === 0 ? 'solid' : 'dashed' }), name, value));
    this.root = el('section', { className: 'chart pair' }, el('header', {}, this.title, this.unit, this.hover, el('span', { className: 'legend' }, ...legend), drawingChoice('Save the chart of both', 'comparison', () => this.root)), el('div', { className: 'pair-stage' }, this.canvas, this.over));
    addGestures(this.over, { view: this.view, onMoved: () => this.moved() });
    this.over.addEventListener('pointermove', (event) => this.moveCursor(event.offsetX));
    this.over.addEventListener('pointerleave', () => this.moveCursor(NaN));
    new ResizeObserver(() => this.draw()).observe(this.over);
  }

  /** For the browser tests: whether what is on screen was answered. */
  get settled(): boolean {
    return this.answered === this.lastRequest && this.lastRequest > 0;
  }

  /** @param unit as it stands beside the title @param length of the longer recording */
  show(title: string, display: Display, unit: string, names: [string, string], series: [Series[], Series[]], length: number): void {
    this.title.textContent = title;
    this.display = display;
    this.unit.textContent = unit;
    this.sides = [0, 1].map((i) => ({ name: names[i], series: series[i].slice(0, MAX_SERIES), points: null })) as [Side, Side];
    this.entries.forEach(({ name }, i) => (name.textContent = names[i]));
    this.view.show({ t0: -length * 0.01, t1: length * 1.01 });
    this.view.invalidate();
    this.moved();
  }

  /** @param before of the first recording, by series @param after the same of the second one */
  take(id: number, before: SessionModel, after: SessionModel): void {
    if (id > this.lastRequest) return;
    this.answered = id;
    [before, after].forEach((model, i) => {
      const side = this.sides[i];
      const members = side.series.flatMap((series): Member[] => {
        const points = model.points.get(series.id);
        return points && points.length > 0 ? [{ points, holds: series.kind === SeriesKind.Counter && points.exact ? Holds.Before : Holds.After }] : [];
      });
      const exact = members.every(({ points }) => points.exact);
      const rule = side.series[0]?.kind === SeriesKind.Counter ? 'sum' : 'mean';
      side.points = members.length === 0 ? null : members.length === 1 ? members[0].points : Points.of(combine(members, rule), exact);
    });
    this.draw();
    // What was moved to meanwhile.
    if (this.view.needsRequest()) this.moved();
  }

  draw(): void {
    const ratio = devicePixelRatio;
    const width = this.over.clientWidth + LEFT + RIGHT;
    const height = this.over.clientHeight + TOP + BOTTOM;
    if (this.over.clientWidth === 0) return;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const context = this.canvas.getContext('2d')!;
    const { t0, t1 } = this.view.range;
    const scale = this.fit();
    const plane: Plane = { left: LEFT * ratio, top: TOP * ratio, width: this.over.clientWidth * ratio, height: this.over.clientHeight * ratio, t0, t1, low: scale.low, high: scale.high };
    this.drawAxes(context, plane, scale, ratio);
    context.save();
    context.beginPath();
    context.rect(plane.left, plane.top, plane.width, plane.height);
    context.clip();
    this.sides.forEach((side, i) => {
      if (!side.points) return;
      const interval = Math.max(0, ...side.series.map((series) => series.interval));
      context.setLineDash(i === 0 ? [] : DASH.map((length) => length * ratio));
      drawSeries(context, side.points, plane, {
        color: this.host.css(COLORS[i]), width: 1.4 * ratio, denseWidth: 1, bandOpacity: 0.12, factor: this.display.factor,
        longestStep: Math.max(interval * 2.5, ((t1 - t0) / this.over.clientWidth) * 4) || Infinity, steps: false,
      });
    });
    context.setLineDash([]);
    if (!Number.isNaN(this.cursor)) {
      const x = Math.round(plane.left + ((this.cursor - t0) / (t1 - t0)) * plane.width) + 0.5;
      context.strokeStyle = this.host.css('--text-faint');
      context.lineWidth = ratio;
      context.beginPath();
      context.moveTo(x, plane.top);
      context.lineTo(x, plane.top + plane.height);
      context.stroke();
    }
    context.restore();
    this.showValues();
  }

  private fit(): Scale {
    const { t0, t1 } = this.view.range;
    const extents = this.sides.flatMap(({ points }) => (points ? [valueExtent(points, t0, t1, this.display.factor)] : [])).filter((extent) => !Number.isNaN(extent.low));
    const low = Math.min(...extents.map((extent) => extent.low));
    const high = Math.max(...extents.map((extent) => extent.high));
    const fromZero = this.display.unit.endsWith('/s') || this.display.unit === '%' || low < high * 0.5;
    return fitScale({ low, high, highMean: Math.max(...extents.map((extent) => extent.highMean)) }, NaN, fromZero);
  }

  private drawAxes(context: CanvasRenderingContext2D, plane: Plane, scale: Scale, ratio: number): void {
    context.font = `${11 * ratio}px system-ui, sans-serif`;
    context.fillStyle = this.host.css('--text-faint');
    context.strokeStyle = this.host.css('--grid');
    context.lineWidth = ratio;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    const write = axisFormatter(Math.max(Math.abs(scale.high), Math.abs(scale.low)), scale.step, this.display);
    const line = (x0: number, y0: number, x1: number, y1: number): void => {
      context.beginPath();
      context.moveTo(x0, y0);
      context.lineTo(x1, y1);
      context.stroke();
    };
    for (let value = scale.low; value <= scale.high + scale.step / 2; value += scale.step) {
      const y = Math.round(plane.top + plane.height * (1 - (value - scale.low) / (scale.high - scale.low))) + 0.5;
      line(plane.left, y, plane.left + plane.width, y);
      context.fillText(write(value), plane.left - 8 * ratio, y);
    }
    context.textAlign = 'center';
    context.textBaseline = 'top';
    const step = stopwatchStep(plane.t1 - plane.t0, Math.max(2, plane.width / ratio / 110));
    for (let k = Math.ceil(plane.t0 / step); k * step <= plane.t1; k++) {
      const x = Math.round(plane.left + ((k * step - plane.t0) / (plane.t1 - plane.t0)) * plane.width) + 0.5;
      line(x, plane.top, x, plane.top + plane.height);
      context.fillText(k === 0 ? 'start' : formatDuration(k * step), x, plane.top + plane.height + 7 * ratio);
    }
  }

  private moved(): void {
    this.draw();
    // One question at a time: the answer asks again if that is needed.
    if (this.answered !== this.lastRequest || !this.view.needsRequest() || this.sides.every((side) => side.series.length === 0)) return;
    const request = this.view.request(++this.lastRequest, [], Math.max(100, Math.round(this.over.clientWidth * devicePixelRatio)));
    const [before, after] = this.sides.map((side) => side.series.map((series) => series.id));
    this.host.request({ id: request.id, before, after, t0: request.t0!, t1: request.t1!, pixels: request.pixels });
  }

  private moveCursor(offsetX: number): void {
    const { t0, t1 } = this.view.range;
    this.cursor = Number.isNaN(offsetX) ? NaN : t0 + (offsetX / this.over.clientWidth) * (t1 - t0);
    this.draw();
  }

  private showValues(): void {
    this.hover.textContent = Number.isNaN(this.cursor) ? '' : this.cursor < 0 ? 'before the start' : `${formatDuration(this.cursor)} after the start`;
    this.entries.forEach(({ value, index }) => {
      const { points } = this.sides[index];
      const row = points && !Number.isNaN(this.cursor) ? points.holding(this.cursor) : -1;
      value.textContent = points && row >= 0 && this.cursor <= points.t[points.length - 1] ? formatValue(points.mean[row], this.display) : '';
    });
  }
}
