// uPlot lays out axes, grid and cursor of a chart; what it is told is here.

import type uPlot from 'uplot';
import { formatClock } from './format';
import type { Css } from './marks';
import { timeStep, timeTicks } from './ticks';
import type { Side } from './traces';

export const TIME_AXIS_HEIGHT = 26;
const AXIS_WIDTH = 64;
const RIGHT_AXIS_WIDTH = 54;
const RIGHT_PADDING = 12;
const TOP_PADDING = 8;
/** Half of what a time of day takes. */
const HALF_TIME_PX = 36;
const FONT = '11px system-ui, -apple-system, "Segoe UI", sans-serif';

/** Positions on the axis, and what stands there. */
export interface AxisTicks {
  splits(): number[];
  values(splits: number[]): string[];
}

export interface AxesHost {
  css: Css;
  /** Milliseconds since 1970 of the moment 0. */
  wall0(): number;
  left: AxisTicks;
  /** null: none, but if `keepRight` its room, so that all charts of the page stand in line. */
  right: AxisTicks | null;
  /** Of the axis's numbers: the line's where it has one only, and there are two axes. */
  color(side: Side): string;
  keepRight: boolean;
  paint(plot: uPlot): void;
}

function valueAxis(ticks: AxisTicks, side: 1 | 3, size: number, stroke: () => string, grid: uPlot.Axis.Grid): uPlot.Axis {
  return {
    scale: 'y', side, size, font: FONT, gap: 8, grid, stroke, ticks: { show: false },
    splits: () => ticks.splits(),
    values: (_plot, splits) => ticks.values(splits),
  };
}

/** Width of lines and areas in CSS pixels, as uPlot knows it: asking the browser would lay out the whole page first. */
export function plotWidth(plot: uPlot): number {
  return plot.bbox.width / devicePixelRatio;
}

/** The same of a chart that is not made yet and has no second axis. */
export function plotWidthIn(width: number): number {
  return width - AXIS_WIDTH - RIGHT_PADDING;
}

export function plotOptions(host: AxesHost, width: number, height: number): uPlot.Options {
  const faint = (): string => host.css('--text-faint');
  const grid = { stroke: () => host.css('--grid'), width: 1 };
  let step = 1e9;
  const axes: uPlot.Axis[] = [
    {
      size: TIME_AXIS_HEIGHT, font: FONT, gap: 6, grid, stroke: faint, ticks: { show: false },
      splits: (plot, _axis, min, max) => {
        step = timeStep(max - min, Math.max(2, plotWidth(plot) / 110));
        return timeTicks(min, max, step, host.wall0());
      },
      // A text that would go beyond the edge says nothing.
      values: (plot, splits) => splits.map((t) => (plotWidth(plot) - plot.valToPos(t, 'x') < HALF_TIME_PX - RIGHT_PADDING ? '' : formatClock(host.wall0() + t / 1e6, step))),
    },
    valueAxis(host.left, 3, AXIS_WIDTH, () => host.color('left'), grid),
  ];
  if (host.right) axes.push(valueAxis(host.right, 1, RIGHT_AXIS_WIDTH, () => host.color('right'), { show: false }));
  return {
    width, height: height + TIME_AXIS_HEIGHT,
    padding: [TOP_PADDING, host.right ? 0 : host.keepRight ? RIGHT_AXIS_WIDTH : RIGHT_PADDING, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false, setScale: false }, y: false, points: { show: false } },
    scales: { x: { time: false, auto: false }, y: { auto: false } },
    series: [{}, { show: true, stroke: 'transparent', paths: () => null, points: { show: false } }],
    axes,
    hooks: { draw: [(plot) => host.paint(plot)] },
  };
}
