// One chart: lines of one unit over the shared range of time, as lines, as a stack or as a heat map. The lines are drawn
// here from each one's own points, because their times differ.

import uPlot from 'uplot';
import { acceptDrops, button, dot, el, icon, ICONS } from '../app/dom';
import { showTip } from '../app/tip';
import { csvOf, fileName, pngOf, saveFile, saveText, type Cell } from '../app/save';
import { SeriesKind, type Gap, type SessionModel } from '../session/model';
import { Points } from '../session/points';
import type { Range } from '../session/view';
import { plotOptions, plotWidth, TIME_AXIS_HEIGHT, type AxisTicks } from './axes';
import { saveChoice } from '../app/widgets';
import { Holds, stack, type Layer, type Member } from './combine';
import { drawLayer, drawSeries, layerExtent, valueExtent, type Extent, type Plane } from './draw';
import { axisFormatter, formatClock, formatValue, type Display } from './format';
import { HeatMap, namedRows } from './heat';
import { Legend } from './legend';
import { PICTURE_HEAD, svgOf, type Picture, type Tick } from './picture';
import { paintAlarms, paintGaps, paintLabels, type Css } from './marks';
import { seriesColor } from './palette';
import { freshness } from './stale';
import { fitScale, roundUp, roundUpBinary, timeStep, timeTicks, type Scale } from './ticks';
import { kindName, RULE_WORDS, ruleFor, type ChartGroup, type LinesBy, type Look, type Side, type Trace } from './traces';

export type Style = 'lines' | 'stack' | 'heat';

export interface ChartOptions extends Look {
  /** null: a heat map where one signal has many lines, else lines. */
  style: Style | null;
}

export const DEFAULT_OPTIONS: ChartOptions = { style: null, percent: false, rate: false };

export interface ChartHost {
  model: SessionModel;
  dark(): boolean;
  css: Css;
  range(): Range;
  /** The pointer moved to this moment over some chart; NaN: it left. */
  onCursor(t: number): void;
  cursor(): number;
  /** Whose values are shown: the cursor's, or the newest one in sight. */
  moment(): number;
  /** The chart was scrolled into sight. */
  onAppear(): void;
  /** A person chose another look, or other lines. */
  onOptions(options: ChartOptions): void;
  onLines(lines: LinesBy): void;
  /** A person wants these series in this chart too. */
  onAdd(series: number[]): void;
  /** Of lines and areas, in pixels. */
  plotHeight(): number;
  /** The button that adds signals to the chart; what it opens is the page's affair. */
  addButton(chart: Chart): HTMLElement;
}

/** What is dragged from the tree of signals: ids of series. */
export const DRAGGED_SERIES = 'application/x-attune-series';

const SAVED_AS = ['PNG', 'SVG', 'CSV'] as const;
export const PLOT_HEIGHT = 168;
const MAX_HEAT_HEIGHT = 340;
const HEAT_ROW_HEIGHT = 15;
/** More lines than these are offered as a heat map at first. */
const MANY_LINES = 12;
const CROWD = 24;
const MOST_IN_TIP = 12;
/** From one line of the grid to the next. */
const LEAST_LINE_PX = 14;

function choice(name: string, path: string, onClick: () => void): HTMLButtonElement {
  return button('choice', icon(path), onClick, { 'title': name, 'aria-label': name });
}

function hasRight(traces: Trace[]): boolean {
  return traces[traces.length - 1].side === 'right';
}

/** The style in which a chart of these options is drawn. */
export function styleOf({ traces }: ChartGroup, { style }: ChartOptions): Style {
  // Two units cannot share the colours of a map.
  if (hasRight(traces)) return style === 'stack' ? 'stack' : 'lines';
  if (style !== null) return style;
  const oneSignal = traces.every((trace) => trace.first.signal === traces[0].first.signal);
  return oneSignal && traces.length > MANY_LINES ? 'heat' : 'lines';
}

export class Chart {
  readonly root: HTMLElement;
  readonly legend: Legend;
  private plot: uPlot;
  private readonly stage = el('div', { className: 'stage' });
  private readonly unit = el('span', { className: 'unit' });
  private readonly choices: [Style, HTMLButtonElement][];
  private readonly percentButton: HTMLButtonElement;
  private readonly rateButton: HTMLButtonElement;
  private scale: Scale = { low: 0, high: 1, step: 0.25 };
  private rightScale: Scale = this.scale;
  private readonly hidden = new Set<number>();
  private readonly streams = new Set<number>();
  private readonly series: Set<number>;
  private readonly heatMap = new HeatMap();
  private layers: Layer[] = [];
  private layerVersion = '';
  private emphasized = -1;
  /** On the plot; null: elsewhere. */
  private pointer: { x: number; y: number } | null = null;
  private readonly tip = el('div', { className: 'tip', hidden: true });
  private readonly observer: IntersectionObserver;
  /** Charts out of sight are not drawn. */
  onScreen = true;

  constructor(
    private readonly host: ChartHost,
    readonly group: ChartGroup,
    private options: ChartOptions,
    private width: number,
    private keepRight: boolean,
    private readonly decorate: (plot: HTMLElement) => void,
  ) {
    for (const trace of this.traces) for (const series of trace.series) for (const stream of host.model.streams.get(series.id) ?? []) this.streams.add(stream);
    this.series = new Set(this.traces.flatMap((trace) => trace.series.map((series) => series.id)));
    this.legend = new Legend(this.traces, this.hasRightTraces, { toggle: (i) => this.toggle(i), isolate: (i) => this.isolate(i), emphasize: (i) => this.emphasize(i) });
    this.choices = [
      ['lines', choice('Lines', ICONS.lines, () => this.choose({ style: 'lines' }))],
      ['stack', choice('Stacked areas', ICONS.stack, () => this.choose({ style: 'stack' }))],
      ['heat', choice('Heat map', ICONS.heat, () => this.choose({ style: 'heat' }))],
    ];
    this.percentButton = button('choice text', '%', () => this.choose({ percent: !this.options.percent }), { title: 'In percent of what there can be' });
    this.rateButton = button('choice text', '±/s', () => this.choose({ rate: !this.options.rate }), { title: 'Change a second instead of the level' });
    this.root = el('section', { className: group.compact ? 'chart compact' : 'chart', 'aria-label': group.title },
      el('header', {}, el('h2', {}, group.title), this.unit, this.legend.root, this.makeControls()), this.stage);
    // Signals that are dragged here from the tree join the chart.
    acceptDrops(this.root, 'drop-here', ({ types }) => types.includes(DRAGGED_SERIES), (to) => !this.root.contains(to as Node | null), (data) => host.onAdd(data.getData(DRAGGED_SERIES).split(',').map(Number)));
    this.plot = this.makePlot();
    this.showOptions();
    this.draw(); // gives it scales, without which there are no axes, and the plot is wider than it will be
    this.observer = new IntersectionObserver((entries) => {
      this.onScreen = entries[entries.length - 1].isIntersecting;
      if (this.onScreen) host.onAppear();
    });
    this.observer.observe(this.root);
  }

  get traces(): Trace[] {
    return this.group.traces;
  }

  get hasRightTraces(): boolean {
    return hasRight(this.traces);
  }

  get style(): Style {
    return styleOf(this.group, this.options);
  }

  get plotWidth(): number {
    return plotWidth(this.plot);
  }

  /** Whether a second axis shows another unit, or percent of the maximum (or, in percent, the values). */
  get hasRightAxis(): boolean {
    return this.hasRightTraces || this.hasPercentAxis;
  }

  private get hasPercentAxis(): boolean {
    if (this.hasRightTraces) return false;
    const maximum = this.traces[0].maximumOfOne;
    return this.style !== 'heat' && maximum > 0 && this.baseDisplay.unit !== '%' && this.traces.every((trace) => trace.maximumOfOne === maximum);
  }

  timeAt(offsetX: number): number {
    const { t0, t1 } = this.host.range();
    return t0 + (offsetX / this.plotWidth) * (t1 - t0);
  }

  resize(width: number): void {
    const size = { width, height: this.height + TIME_AXIS_HEIGHT };
    if (width === this.width && size.height === this.plot.height) return;
    this.width = width;
    this.plot.setSize(size);
  }

  themeChanged(): void {
    this.legend.render(this.style === 'heat', this.host.dark(), (i) => this.color(i));
    this.legend.showHidden(this.hidden);
  }

  draw(): void {
    const range = this.host.range();
    this.scale = this.fit(range, 'left');
    if (this.hasRightTraces) this.rightScale = this.fit(range, 'right');
    const y = this.style === 'heat' ? { min: 0, max: this.shown().length || 1 } : { min: this.scale.low, max: this.scale.high };
    this.plot.batch(() => {
      this.plot.setScale('x', { min: range.t0, max: range.t1 });
      this.plot.setScale('y', y);
    });
    this.placeCursor(this.host.cursor());
  }

  destroy(): void {
    this.observer.disconnect();
    this.tip.remove();
    this.plot.destroy();
    this.root.remove();
  }

  /** The pointer moved. */
  showCursor(t: number): void {
    this.placeCursor(t);
    this.showValues();
  }

  moment(): number {
    return this.host.moment();
  }

  /** The value of a trace at a moment, as it was sent; NaN: none. */
  valueAt(index: number, moment: number): number {
    const member = this.member(index);
    const row = member ? member.points.holding(moment) : -1;
    if (!member || row < 0 || moment - member.points.t[row] > this.longestStep(index)) return NaN;
    return member.points.mean[row];
  }

  member(index: number): Member | null {
    return this.traces[index].member(this.host.model, this.lookOf(index));
  }

  display(index: number): Display {
    return this.traces[index].display(this.lookOf(index));
  }

  /** Percent and signed rates are choices for the left axis. */
  private lookOf(index: number): Look {
    return this.traces[index].side === 'left' ? this.options : DEFAULT_OPTIONS;
  }

  color(index: number): string {
    return seriesColor(index, this.traces.length, this.host.dark());
  }

  showValues(): void {
    this.drawTip();
    if (this.style === 'heat') {
      this.showHeatHover();
      return;
    }
    const moment = this.moment();
    const newest = Math.min(this.host.range().t1, this.host.model.extent.t1);
    this.traces.forEach((trace, i) => {
      const member = this.member(i);
      const value = this.valueAt(i, moment);
      const row = member ? member.points.holding(moment) : -1;
      const banded = member && row >= 0 && !Number.isNaN(value) && !member.points.exact;
      const fresh = member && trace.interval > 0 ? freshness(member.points, trace.interval, moment, newest, LEVELS.includes(trace.first.kind)) : null;
      const range: [number, number, number] | null = banded ? [member.points.low[row], member.points.high[row], Math.round(member.points.count[row])] : null;
      this.legend.showValue(i, value, this.display(i), range, fresh ?? { refresh: 0, unchanged: 0, silent: 0 });
    });
  }

  // ---- choices --------------------------------------------------------------------------------------------------------

  private makeControls(): HTMLElement {
    const controls = el('div', { className: 'chart-controls' });
    const left = this.traces.filter((trace) => trace.side === 'left');
    const { levels, lines } = this.group;
    if (levels.length > 0) {
      const own = this.traces.find((trace) => trace.series.length === 1)?.element?.kind;
      const select = el('select', { className: 'level', title: 'What a line is', 'aria-label': 'What a line is' },
        el('option', { value: 'each' }, own === undefined || lines !== 'each' ? 'each' : `each ${kindName(own)}`),
        ...levels.map((kind) => el('option', { value: String(kind) }, `${RULE_WORDS[ruleFor(this.traces[0].first) ?? 'sum']} per ${kindName(kind)}`)));
      select.value = String(lines);
      select.addEventListener('change', () => this.host.onLines(select.value === 'each' ? 'each' : Number(select.value)));
      controls.append(select);
    }
    if (left.some((trace) => trace.first.kind === SeriesKind.Updown)) controls.append(this.rateButton);
    if (left.some((trace) => trace.maximumOfOne > 0) && this.baseDisplay.unit !== '%') controls.append(this.percentButton);
    // Only what adds up can stand on each other.
    const offered = this.choices.filter(([style]) => (style === 'stack' ? left.every((trace) => ruleFor(trace.first) === 'sum') : style === 'lines' || !this.hasRightTraces));
    controls.append(this.host.addButton(this), saveChoice(`Save the chart ${this.group.title}`, SAVED_AS, (kind) => void this.save(kind)));
    if (left.length > 1 && offered.length > 1) controls.append(el('span', { className: 'choices', role: 'group', 'aria-label': 'Look' }, ...offered.map(([, one]) => one)));
    return controls;
  }

  private get baseDisplay(): Display {
    return this.traces[0].display({ percent: false, rate: this.options.rate });
  }

  private choose(change: Partial<ChartOptions>): void {
    this.options = { ...this.options, ...change };
    this.rebuildPlot();
    this.host.onOptions(this.options);
  }

  /** Another chart of the page has a second axis now, or none has any more. */
  keepRoom(keepRight: boolean): void {
    if (keepRight === this.keepRight) return;
    this.keepRight = keepRight;
    this.rebuildPlot();
  }

  private rebuildPlot(): void {
    this.plot.destroy();
    this.plot = this.makePlot();
    this.showOptions();
    this.draw();
    this.showValues();
  }

  private showOptions(): void {
    for (const [style, one] of this.choices) one.setAttribute('aria-pressed', String(style === this.style));
    this.percentButton.setAttribute('aria-pressed', String(this.options.percent));
    this.rateButton.setAttribute('aria-pressed', String(this.options.rate));
    const display = this.display(0);
    const limit = this.limit('left');
    const summed = this.traces.some((trace) => trace.note !== '' && trace.side === 'left');
    const unit = summed && display.unit === '%' && limit > 0 ? `of at most ${limit.toFixed(0)} %` : display.unit;
    this.unit.textContent = this.hasRightTraces ? `← ${unit || 'count'}   ${this.display(this.traces.length - 1).unit || 'count'} →` : unit;
    this.themeChanged();
  }

  private toggle(index: number): void {
    if (!this.hidden.delete(index)) this.hidden.add(index);
    this.showHidden();
  }

  private isolate(index: number): void {
    const alone = this.hidden.size === this.traces.length - 1 && !this.hidden.has(index);
    this.hidden.clear();
    if (!alone) this.traces.forEach((_, i) => i !== index && this.hidden.add(i));
    this.showHidden();
  }

  private showHidden(): void {
    this.legend.showHidden(this.hidden);
    this.draw();
  }

  private emphasize(index: number): void {
    this.emphasized = index;
    this.draw();
  }

  // ---- files ----------------------------------------------------------------------------------------------------------

  private async save(kind: (typeof SAVED_AS)[number]): Promise<void> {
    const name = (ending: string): string => fileName(`${this.host.model.title.replace(/\.attune$/, '')} ${this.group.title}`, ending);
    if (kind === 'CSV') {
      saveText(name('csv'), 'text/csv', csvOf(this.samples()));
      return;
    }
    const picture = this.picture();
    const svg = svgOf(picture);
    if (kind === 'SVG') saveText(name('svg'), 'image/svg+xml', svg);
    else saveFile(name('png'), await pngOf(svg, picture.width, picture.height, Math.max(2, devicePixelRatio)));
  }

  /** What the lines are made of in the time on screen, as the chart shows it. */
  private samples(): Cell[][] {
    const { t0, t1 } = this.host.range();
    const { model } = this.host;
    const rows: Cell[][] = [['t_ns', 'real_time', 'line', 'unit', 'mean', 'lowest', 'highest', 'samples']];
    for (const i of this.shown()) {
      const points = this.member(i)?.points ?? NO_POINTS;
      const { factor, unit } = this.display(i);
      for (let row = points.indexAt(t0); row < points.length && points.t[row] <= t1; row++) {
        const moment = String(model.origin + BigInt(Math.round(points.t[row])));
        rows.push([moment, new Date(model.wallMs(points.t[row])).toISOString(), this.traces[i].name, unit, ...[points.mean, points.low, points.high].map((column) => column[row] * factor), points.count[row]]);
      }
    }
    return rows;
  }

  private picture(): Picture {
    this.draw();
    const { plot } = this;
    const { t0, t1 } = this.host.range();
    const { css, model } = this.host;
    const area = { left: plot.bbox.left / devicePixelRatio, top: plot.bbox.top / devicePixelRatio + PICTURE_HEAD, width: plot.bbox.width / devicePixelRatio, height: plot.bbox.height / devicePixelRatio };
    const step = timeStep(t1 - t0, Math.max(2, area.width / 110));
    const onAxis = (ticks: AxisTicks | null, color: string): Tick[] => {
      const splits = ticks?.splits() ?? [];
      const texts = ticks?.values(splits) ?? [];
      return splits.map((split, i) => ({ at: PICTURE_HEAD + plot.bbox.top / devicePixelRatio + plot.valToPos(split, 'y'), text: texts[i], color }));
    };
    const lines = this.shown().map((i, k) => {
      const scale = this.traces[i].side === 'right' ? this.rightScale : this.scale;
      return {
        name: this.traces[i].name, value: formatValue(this.valueAt(i, this.moment()), this.display(i)), color: this.color(i),
        points: this.member(i)?.points ?? NO_POINTS, plane: { ...area, t0, t1, low: scale.low, high: scale.high }, factor: this.display(i).factor,
        longestStep: this.longestStep(i), steps: this.traces[i].first.kind === SeriesKind.State,
        layer: this.style === 'stack' && this.traces[i].side === 'left' ? (this.layers[k] ?? null) : null,
      };
    });
    return {
      title: this.group.title, unit: this.unit.textContent, width: this.width, height: this.height + TIME_AXIS_HEIGHT + PICTURE_HEAD, area, css, lines,
      time: timeTicks(t0, t1, step, model.wallMs(0)).map((t) => ({ at: area.left + ((t - t0) / (t1 - t0)) * area.width, text: formatClock(model.wallMs(0) + t / 1e6, step), color: css('--text-faint') })),
      left: onAxis(this.leftTicks(), this.axisColor('left')),
      right: onAxis(this.hasRightTraces ? this.secondTicks() : this.hasPercentAxis ? this.percentTicks() : null, this.axisColor('right')),
      image: this.style === 'heat' ? this.plotImage() : null,
    };
  }

  /** The plot without its axes. */
  private plotImage(): string {
    const { left, top, width, height } = this.plot.bbox;
    const canvas = el('canvas', { width: Math.round(width), height: Math.round(height) });
    canvas.getContext('2d')!.drawImage(this.plot.ctx.canvas, left, top, width, height, 0, 0, canvas.width, canvas.height);
    return canvas.toDataURL('image/png');
  }

  // ---- drawing --------------------------------------------------------------------------------------------------------

  private get height(): number {
    return this.style === 'heat' ? Math.min(MAX_HEAT_HEIGHT, Math.max(PLOT_HEIGHT * 0.7, this.traces.length * HEAT_ROW_HEIGHT)) : this.host.plotHeight();
  }

  /** Indices of the traces that are not switched off. */
  private shown(side?: Side): number[] {
    return this.traces.map((_, i) => i).filter((i) => !this.hidden.has(i) && (side === undefined || this.traces[i].side === side));
  }

  private longestStep(index: number): number {
    const { interval } = this.traces[index];
    if (interval <= 0) return Infinity; // a counter of the program's own: nothing is missing between two values
    const { t0, t1 } = this.host.range();
    const pixel = (t1 - t0) / Math.max(1, this.plotWidth);
    const points = this.member(index)?.points;
    // Of very many series the server sends fewer points than there are pixels.
    const bucket = points && !points.exact ? points.typicalStep() : 0;
    return Math.max(interval * 2.5, pixel * 4, bucket * 2.5);
  }

  /** Kinds of time share what there is of it. */
  private get sharesTime(): boolean {
    return this.display(0).unit === '%' && new Set(this.traces.map((trace) => trace.first.signal)).size > 1;
  }

  private limit(side: Side): number {
    const limits = this.shown(side).map((i) => this.traces[i].limit(this.lookOf(i)));
    if (side === 'left' && this.style === 'stack' && !this.sharesTime) return limits.reduce((sum, limit) => sum + limit, 0);
    return limits.length === 0 ? NaN : Math.max(...limits);
  }

  private fit({ t0, t1 }: Range, side: Side): Scale {
    const extents: Extent[] = [];
    const stacked = this.style === 'stack' && side === 'left';
    if (stacked) {
      this.updateLayers();
      const top = this.layers[this.layers.length - 1];
      if (top) extents.push(layerExtent(top, t0, t1, this.display(0).factor));
    } else {
      for (const i of this.shown(side)) {
        const member = this.member(i);
        if (member) extents.push(valueExtent(member.points, t0, t1, this.display(i).factor));
      }
    }
    const known = extents.filter((extent) => !Number.isNaN(extent.low));
    const low = Math.min(...known.map((extent) => extent.low));
    const high = Math.max(...known.map((extent) => extent.high));
    const limit = this.limit(side);
    // Each kind is counted in steps of its own: their sum goes beyond the limit by these alone.
    const most = stacked && this.sharesTime && limit > 0 ? limit : Infinity;
    const highMean = Math.min(most, Math.max(...known.map((extent) => extent.highMean)));
    const { unit, prefixes } = this.display(side === 'left' ? 0 : this.traces.length - 1);
    // Rates and shares are compared with nothing; levels with themselves.
    const fromZero = unit.endsWith('/s') || unit === '%' || stacked || low < high * 0.5;
    // Of single samples a map shows none: its colours are for the means.
    return fitScale({ low, high: this.style === 'heat' ? highMean : high, highMean }, limit, fromZero, prefixes === 'binary' ? roundUpBinary : roundUp);
  }

  private updateLayers(): void {
    const shown = this.shown('left');
    const members = shown.map((i) => this.member(i) ?? { points: NO_POINTS, holds: Holds.After });
    const version = shown.map((i, k) => `${i}:${members[k].points.version}`).join() + members.map(({ points }) => points.length).join();
    if (version === this.layerVersion) return;
    this.layerVersion = version;
    this.layers = stack(members);
  }

  private makePlot(): uPlot {
    const plot = new uPlot(plotOptions({
      css: this.host.css,
      wall0: () => this.host.model.wallMs(0),
      left: this.leftTicks(),
      right: this.hasRightTraces ? this.secondTicks() : this.hasPercentAxis ? this.percentTicks() : null,
      color: (side) => this.axisColor(side),
      keepRight: this.keepRight,
      paint: (u) => this.paint(u),
    }, this.width, this.height), [[0, 1], [0, 0]], this.stage);
    plot.over.addEventListener('pointermove', (event) => {
      const box = plot.over.getBoundingClientRect();
      // A drag is looked at itself, without a tip.
      this.pointer = event.buttons === 0 ? { x: event.clientX - box.left, y: event.clientY - box.top } : null;
      this.host.onCursor(this.timeAt(event.clientX - box.left));
    });
    plot.over.addEventListener('pointerleave', () => {
      this.pointer = null;
      this.host.onCursor(NaN);
    });
    this.decorate(plot.over);
    return plot;
  }

  private leftTicks(): AxisTicks {
    if (this.style === 'heat') {
      return {
        splits: () => namedRows(this.shown().length, this.height, HEAT_ROW_HEIGHT).map((row) => this.shown().length - row - 0.5),
        values: (splits) => splits.map((split) => shorten(this.traces[this.shown()[Math.round(this.shown().length - split - 0.5)]]?.name ?? '')),
      };
    }
    return { splits: () => linesOf(this.scale, this.height), values: (splits) => writeAll(splits, this.scale, this.display(0)) };
  }

  /** The right axis's own values, where they stand on the left one. */
  private secondTicks(): AxisTicks {
    const perUnit = (): number => (this.scale.high - this.scale.low) / (this.rightScale.high - this.rightScale.low);
    return {
      splits: () => linesOf(this.rightScale, this.height).map((value) => this.scale.low + (value - this.rightScale.low) * perUnit()),
      values: (splits) => writeAll(splits.map((at) => this.rightScale.low + (at - this.scale.low) / perUnit()), this.rightScale, this.display(this.traces.length - 1)),
    };
  }

  private axisColor(side: Side): string {
    const own = this.shown(side);
    return this.hasRightTraces && own.length === 1 ? this.color(own[0]) : this.host.css('--text-faint');
  }

  /** In percent where the left axis has values, and the other way round. */
  private percentTicks(): AxisTicks {
    const maximum = this.traces[0].maximumOfOne;
    const base = this.baseDisplay;
    const toRight = (value: number): number => (this.options.percent ? (value / 100) * maximum * base.factor : (value / (maximum * base.factor)) * 100);
    const toLeft = (value: number): number => value / toRight(1);
    const round = this.options.percent && base.prefixes === 'binary' ? roundUpBinary : roundUp;
    const step = (): number => round((toRight(this.scale.high) - toRight(this.scale.low)) / 5);
    return {
      splits: () => {
        const lines: number[] = [];
        for (let value = Math.ceil(toRight(this.scale.low) / step()) * step(); value <= toRight(this.scale.high) * (1 + 1e-9); value += step()) lines.push(toLeft(value));
        return lines;
      },
      values: (splits) => {
        const display: Display = this.options.percent ? base : { unit: '%', factor: 1, prefixes: 'none' };
        const write = axisFormatter(Math.abs(toRight(this.scale.high)), step(), display);
        return splits.map((value) => write(toRight(value)) + (this.options.percent ? '' : ' %'));
      },
    };
  }

  private paint(u: uPlot): void {
    const { left, top, width, height } = u.bbox;
    const { t0, t1 } = this.host.range();
    const plane: Plane = { left, top, width, height, t0, t1, low: this.scale.low, high: this.scale.high };
    const context = u.ctx;
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    const gaps = this.host.model.gaps.filter((gap) => this.concerns(gap));
    if (this.style === 'heat') this.paintHeat(context, plane);
    paintGaps(context, plane, gaps, this.host.css);
    if (this.style === 'lines') this.paintLines(context, plane, 'left');
    if (this.style === 'stack') this.paintStack(context, plane);
    if (this.hasRightTraces) this.paintLines(context, { ...plane, low: this.rightScale.low, high: this.rightScale.high }, 'right');
    const { alarms, extent } = this.host.model;
    if (alarms.length > 0) paintAlarms(context, plane, alarms.filter((alarm) => this.series.has(alarm.series)), extent.t1, this.host.css);
    paintLabels(context, plane, this.host.model.labels, this.host.css);
    context.restore();
  }

  private concerns(gap: Gap): boolean {
    return gap.stream === 0 || this.streams.has(gap.stream);
  }

  private paintLines(context: CanvasRenderingContext2D, plane: Plane, side: Side): void {
    const crowd = this.traces.length;
    for (const i of this.shown(side)) {
      const member = this.member(i);
      if (!member || member.points.length === 0) continue;
      const faded = this.emphasized >= 0 && this.emphasized !== i;
      context.globalAlpha = 1;
      drawSeries(context, member.points, plane, {
        color: faded ? this.host.css('--faded') : this.color(i),
        width: (this.emphasized === i ? 2 : crowd > CROWD ? 0.9 : 1.35) * devicePixelRatio,
        denseWidth: this.emphasized === i ? 2 * devicePixelRatio : 1,
        bandOpacity: faded || crowd > CROWD ? 0 : crowd > 8 ? 0.1 : 0.16,
        factor: this.display(i).factor,
        longestStep: this.longestStep(i),
        steps: this.traces[i].first.kind === SeriesKind.State,
      });
    }
  }

  private paintStack(context: CanvasRenderingContext2D, plane: Plane): void {
    this.updateLayers();
    const shown = this.shown('left');
    // The upper ones first, so that the edge of each is over the area above it.
    for (let k = shown.length - 1; k >= 0; k--) {
      const faded = this.emphasized >= 0 && this.emphasized !== shown[k];
      const color = faded ? this.host.css('--faded') : this.color(shown[k]);
      drawLayer(context, this.layers[k], plane, color, this.display(shown[k]).factor, this.longestStep(shown[k]));
    }
  }

  private paintHeat(context: CanvasRenderingContext2D, plane: Plane): void {
    const end = Math.min(plane.t1, this.host.model.extent.t1);
    const rows = this.shown().map((i) => ({ points: this.member(i)?.points ?? null, factor: this.display(i).factor, longestStep: this.longestStep(i), end }));
    if (rows.length === 0) return;
    this.heatMap.draw(context, plane, rows, this.host.dark());
    const write = (value: number): string => formatValue(value / this.display(0).factor, this.display(0));
    this.legend.showScale(write(this.scale.low), write(this.scale.high));
  }

  /** Of a map. */
  private rowUnderPointer(): number | undefined {
    const shown = this.shown();
    return this.pointer ? shown[Math.floor((this.pointer.y / this.plot.over.clientHeight) * shown.length)] : undefined;
  }

  /** The moment under the pointer, and the lines' values, the highest first where there are many. */
  private drawTip(): void {
    const { pointer } = this;
    if (!pointer) {
      this.tip.remove();
      return;
    }
    const moment = this.timeAt(pointer.x);
    const row = this.rowUnderPointer();
    const all = (this.style !== 'heat' ? this.shown() : row === undefined ? [] : [row]).map((i) => ({ i, value: this.valueAt(i, moment) })).filter(({ value }) => !Number.isNaN(value));
    if (all.length > MOST_IN_TIP) all.sort((a, b) => b.value * this.display(b.i).factor - a.value * this.display(a.i).factor);
    const lines = all.slice(0, MOST_IN_TIP).map(({ i, value }) => el('p', {}, this.style === 'heat' ? null : dot(this.color(i)), el('span', { className: 'name' }, this.traces[i].name), el('span', { className: 'value' }, formatValue(value, this.display(i)))));
    const { t0, t1 } = this.host.range();
    if (!this.tip.isConnected) document.body.append(this.tip);
    showTip(this.tip, this.plot.over, [el('b', {}, formatClock(this.host.model.wallMs(moment), (t1 - t0) / 500)), ...lines, ...(all.length > MOST_IN_TIP ? [el('p', {}, `and ${all.length - MOST_IN_TIP} lower ones`)] : [])], pointer.x, pointer.y);
  }

  private showHeatHover(): void {
    const index = this.rowUnderPointer();
    if (index === undefined) this.legend.showHover('', '');
    else this.legend.showHover(this.traces[index].name, formatValue(this.valueAt(index, this.moment()), this.display(index)));
  }

  private placeCursor(t: number): void {
    const range = this.host.range();
    const left = Number.isNaN(t) ? -10 : ((t - range.t0) / (range.t1 - range.t0)) * this.plotWidth;
    this.plot.setCursor({ left, top: -10 }, false);
  }
}

/** Whose values are refreshed by somebody else. Counters that stand still and states that last are nothing to mark. */
const LEVELS = [SeriesKind.Gauge, SeriesKind.Updown];
const NO_POINTS = new Points();

/** @param height of the axis: in a low one each second, or third, line is left out */
function linesOf({ low, high, step }: Scale, height: number): number[] {
  const count = Math.round((high - low) / step);
  const stride = Math.max(1, Math.ceil((count * LEAST_LINE_PX) / height));
  const lines: number[] = [];
  for (let k = 0; low + k * step <= high * (1 + 1e-9) + 1e-12; k += stride) lines.push(low + k * step);
  return lines;
}

function writeAll(values: number[], scale: Scale, display: Display): string[] {
  const write = axisFormatter(Math.max(Math.abs(scale.high), Math.abs(scale.low)), scale.step, display);
  return values.map((value) => write(value));
}

const MAX_NAME = 9;

function shorten(name: string): string {
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME - 1)}…` : name;
}
