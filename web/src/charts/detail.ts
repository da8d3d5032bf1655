// The number of points of a line that are asked for.

import { DEFAULT_OPTIONS, styleOf, type ChartOptions } from './chart';
import type { ChartGroup } from './traces';

const MAX_LINE_POINTS = 30_000;
const LEAST_POINTS = 100;

/**
 * One a pixel, fewer where so many lines would make drawing slow. Maps are drawn by their pixels.
 * @param width of plots, in CSS pixels @param others lines elsewhere on the page
 */
export function pointsOfLine(groups: ChartGroup[], options: Map<string, ChartOptions>, width: number, others: number): number {
  const wanted = width * Math.min(2, devicePixelRatio);
  const lines = groups.reduce((sum, group) => sum + (styleOf(group, options.get(group.key) ?? DEFAULT_OPTIONS) === 'heat' ? 0 : group.traces.length), others);
  return Math.max(LEAST_POINTS, Math.round(Math.min(wanted, MAX_LINE_POINTS / Math.max(1, lines))));
}
