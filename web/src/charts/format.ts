// How values, durations and moments are written. Everything that a person reads is made here.

import { SeriesKind, type Series } from '../session/model';
import type { Range } from '../session/view';

/** How the values of a series are shown: multiplied by `factor`, in `unit`. */
export interface Display {
  unit: string;
  factor: number;
  /** Bytes take binary prefixes, shares none, the others decimal ones. */
  prefixes: 'binary' | 'decimal' | 'none';
}

/** Counters are shown as rates; time that passes a second is a share of one CPU. */
export function displayOf(series: Series): Display {
  const counter = series.kind === SeriesKind.Counter;
  if (series.unit === 'ns') {
    return counter ? { unit: '%', factor: 1e-7, prefixes: 'none' } : { unit: 's', factor: 1e-9, prefixes: 'decimal' };
  }
  const perSecond = counter ? '/s' : '';
  if (series.unit === 'bytes') return { unit: `B${perSecond}`, factor: 1, prefixes: 'binary' };
  if (series.unit === '1' || series.unit === '') return { unit: perSecond, factor: 1, prefixes: 'decimal' };
  return { unit: `${series.unit}${perSecond}`, factor: 1, prefixes: 'decimal' };
}

/** Of the largest rate that one element can have: a sum over six of them goes to 600 %. */
export function percentOf(maxPerSecond: number): Display {
  return { unit: '%', factor: 100 / maxPerSecond, prefixes: 'none' };
}

/** A level as its change a second. */
export function signedRateOf(series: Series): Display {
  return displayOf({ ...series, kind: SeriesKind.Counter });
}

const DECIMAL: [number, string][] = [
  [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, ''], [1e-3, 'm'], [1e-6, 'µ'], [1e-9, 'n'],
];
const BINARY: [number, string][] = [
  [2 ** 40, 'Ti'], [2 ** 30, 'Gi'], [2 ** 20, 'Mi'], [2 ** 10, 'Ki'], [1, ''],
];

function prefixFor(magnitude: number, display: Display): [number, string] {
  if (display.prefixes === 'none' || magnitude === 0) return [1, ''];
  const table = display.prefixes === 'binary' ? BINARY : DECIMAL;
  const found = table.find(([size]) => magnitude >= size * 0.9995) ?? table[table.length - 1];
  // Counts below one are read better as decimals than as thousandths.
  return found[0] < 1 && display.unit !== 's' ? [1, ''] : found;
}

/** Four significant digits without trailing noise. */
function digits(value: number): string {
  const magnitude = Math.abs(value);
  if (magnitude >= 1000) return value.toFixed(0);
  if (magnitude >= 100) return value.toFixed(1).replace(/\.0$/, '');
  if (magnitude >= 10) return value.toFixed(2).replace(/\.?0+$/, '');
  return value.toFixed(3).replace(/\.?0+$/, '');
}

/** "12.3k pages/s", "41.2 %". @param value as the server sent it */
export function formatValue(value: number, display: Display): string {
  if (Number.isNaN(value)) return '–';
  const shown = value * display.factor;
  const [size, prefix] = prefixFor(Math.abs(shown), display);
  const number = digits(shown / size);
  if (display.unit === '') return number + prefix;
  // Symbols take the prefix ("3 GiB", "1.5 µs"), words leave it to the number ("12.3k pages/s").
  return /^(B|s)(\/s)?$/.test(display.unit) ? `${number} ${prefix}${display.unit}` : `${number}${prefix} ${display.unit}`;
}

/** With two digits, for the eye: "3.5 GiB", "48 %". */
export function formatBrief(value: number, display: Display): string {
  return formatValue(value, display).replace(/[\d.]+/, (number) => String(Number(number) >= 100 ? Math.round(Number(number)) : Number(Number(number).toPrecision(2))));
}

const MOST_DECIMALS = 2;

/** As many as a step has: 0.25 has two. */
function decimalsOf(step: number): number {
  let decimals = 0;
  while (decimals < 6 && Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) > 1e-6 * step * 10 ** decimals) decimals++;
  return decimals;
}

/** Labels of an axis that goes up to `largest`: all in the same prefix. */
export function axisFormatter(largest: number, step: number, display: Display): (value: number) => string {
  const first = prefixFor(largest, display);
  const smaller = (display.prefixes === 'binary' ? BINARY : display.prefixes === 'decimal' ? DECIMAL : []).filter(([size]) => size < first[0] && (size >= 1 || display.unit === 's'));
  // Many decimals would not fit: 22544 Mi rather than 22.015625 Gi.
  const [size, prefix] = [first, ...smaller].find(([one]) => decimalsOf(step / one) <= MOST_DECIMALS) ?? first;
  const decimals = decimalsOf(step / size);
  return (value) => (value / size).toFixed(decimals) + (value !== 0 && display.unit === '%' ? '' : prefix && value !== 0 ? ` ${prefix}` : '');
}

const DURATIONS: [number, string][] = [[3600e9, 'h'], [60e9, 'min'], [1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];

/** "1.25 s", "3 min 20 s", "310 ms". */
export function formatDuration(ns: number): string {
  if (Number.isNaN(ns)) return '–';
  if (Math.abs(ns) >= 60e9) {
    const seconds = Math.round(Math.abs(ns) / 1e9);
    const hours = Math.floor(seconds / 3600);
    const minutes = Math.floor((seconds % 3600) / 60);
    const parts = hours > 0 ? [`${hours} h`, minutes > 0 ? `${minutes} min` : ''] : [`${minutes} min`, seconds % 60 > 0 ? `${seconds % 60} s` : ''];
    return (ns < 0 ? '−' : '') + parts.filter(Boolean).join(' ');
  }
  const [size, unit] = DURATIONS.find(([s]) => Math.abs(ns) >= s) ?? [1, 'ns'];
  return `${digits(ns / size)} ${unit}`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}

/** The time of day of a moment, with as many digits after the second as `resolution` (ns) deserves. */
export function formatClock(wallMs: number, resolution: number): string {
  const date = new Date(Math.floor(wallMs));
  const base = `${two(date.getHours())}:${two(date.getMinutes())}`;
  if (resolution >= 60e9) return base;
  const seconds = `${base}:${two(date.getSeconds())}`;
  if (resolution >= 1e9) return seconds;
  const fraction = (((wallMs % 1000) + 1000) % 1000) / 1000;
  const places = Math.min(9, Math.max(1, Math.ceil(9 - Math.log10(resolution) - 1e-9)));
  return seconds + Math.min(fraction, 1 - 10 ** -places).toFixed(places).slice(1);
}

export function formatDate(wallMs: number): string {
  const date = new Date(wallMs);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

export function formatCount(value: number): string {
  return Number.isNaN(value) ? '–' : value.toLocaleString('en').replace(/,/g, ' ');
}

export function formatBytes(bytes: number): string {
  return formatValue(bytes, { unit: 'B', factor: 1, prefixes: 'binary' });
}

const SIGNALS: Record<number, string> = { 1: 'SIGHUP', 2: 'SIGINT', 3: 'SIGQUIT', 4: 'SIGILL', 6: 'SIGABRT', 7: 'SIGBUS', 8: 'SIGFPE', 9: 'SIGKILL', 11: 'SIGSEGV', 13: 'SIGPIPE', 14: 'SIGALRM', 15: 'SIGTERM' };

export function signalName(number: number): string {
  return SIGNALS[number] ?? `signal ${number}`;
}

/** "/usr/bin/xz -9" as "xz -9". */
export function shortCommand(command: string): string {
  const space = command.indexOf(' ');
  const program = space < 0 ? command : command.slice(0, space);
  return program.slice(program.lastIndexOf('/') + 1) + (space < 0 ? '' : command.slice(space));
}

/** Both ends with the date of the first, and the length. @param wallMs the wall clock at a moment */
export function formatRange({ t0, t1 }: Range, wallMs: (t: number) => number): string {
  const resolution = Math.max(1e3, (t1 - t0) / 500);
  return `${formatDate(wallMs(t0))}  ${formatClock(wallMs(t0), resolution)} – ${formatClock(wallMs(t1), resolution)}  ·  ${formatDuration(t1 - t0)}`;
}
