import { describe, expect, it } from 'vitest';
import { decodeIds, encodeIds } from '../src/app/ids';
import { newSettings, readSettings, writeSettings } from '../src/app/settings';
import { axisFormatter, displayOf, formatBrief, formatClock, formatDuration, formatValue } from '../src/charts/format';
import { roundUp, roundUpBinary, timeStep, timeTicks, valueRange } from '../src/charts/ticks';
import { SeriesKind, SumRule, type Series } from '../src/session/model';

function series(kind: SeriesKind, unit: string): Series {
  return { id: 1, element: 1, kind, unit, maxPerSecond: NaN, sensor: 's', signal: 'x', interval: 0, sum: SumRule.Sum };
}

describe('values', () => {
  it('are short where they are glanced at', () => {
    const bytes = displayOf(series(SeriesKind.Gauge, 'bytes'));
    expect([3.523 * 2 ** 30, 909.6, 0].map((value) => formatBrief(value, bytes))).toEqual(['3.5 GiB', '910 B', '0 B']);
    expect(formatBrief(482.7e6, displayOf(series(SeriesKind.Counter, 'ns')))).toBe('48 %');
    expect(formatBrief(NaN, bytes)).toBe('–');
  });

  it('are shown in their unit', () => {
    expect(formatValue(12345, displayOf(series(SeriesKind.Counter, 'pages')))).toBe('12.35k pages/s');
    expect(formatValue(412e6, displayOf(series(SeriesKind.Counter, 'ns')))).toBe('41.2 %');
    expect(formatValue(3 * 2 ** 30, displayOf(series(SeriesKind.Gauge, 'bytes')))).toBe('3 GiB');
    expect(formatValue(0.25, displayOf(series(SeriesKind.Gauge, '1')))).toBe('0.25');
    expect(formatValue(1500, displayOf(series(SeriesKind.Gauge, 'ns')))).toBe('1.5 µs');
    expect(formatValue(NaN, displayOf(series(SeriesKind.Gauge, '1')))).toBe('–');
  });

  it('are durations', () => {
    expect([1, 1500, 2.5e6, 1.25e9, 200e9, 7260e9, NaN].map(formatDuration)).toEqual(['1 ns', '1.5 µs', '2.5 ms', '1.25 s', '3 min 20 s', '2 h 1 min', '–']);
  });

  it('are moments with as many digits as they deserve', () => {
    const noon = new Date(2026, 0, 31, 12, 34, 56, 789).getTime();
    expect(formatClock(noon, 60e9)).toBe('12:34');
    expect(formatClock(noon, 1e9)).toBe('12:34:56');
    expect(formatClock(noon, 1e6)).toBe('12:34:56.789');
  });
});

describe('grid lines', () => {
  it('stand at round steps', () => {
    expect([0.3, 1, 1.1, 4, 7].map(roundUp)).toEqual([0.5, 1, 2, 5, 10]);
    expect(timeStep(60e9, 6)).toBe(10e9);
    expect(timeStep(1e6, 5)).toBe(200e3);
    expect(timeTicks(0.2e9, 3.2e9, 1e9, 500)).toEqual([0.5e9, 1.5e9, 2.5e9]);
  });

  it('are powers of two where bytes are shown', () => {
    expect([0.3, 1, 3, 700, 1025, 1.2 * 2 ** 20].map(roundUpBinary)).toEqual([0.5, 1, 4, 1024, 2048, 2 ** 21]);
    expect(valueRange(0, 29e6, true, roundUpBinary)).toEqual({ low: 0, high: 2 ** 25, step: 2 ** 23 });
  });

  it('have as many decimals as their step', () => {
    const bytes = displayOf(series(SeriesKind.Gauge, 'bytes'));
    const plain = displayOf(series(SeriesKind.Gauge, '1'));
    expect([0, 2 ** 29, 2 ** 30].map(axisFormatter(2 ** 31, 2 ** 29, bytes))).toEqual(['0.0', '0.5 Gi', '1.0 Gi']);
    expect([0, 2 ** 23, 2 ** 24].map(axisFormatter(2 ** 25, 2 ** 23, bytes))).toEqual(['0', '8 Mi', '16 Mi']);
    expect([0, 2 ** 24, 22 * 2 ** 30 + 2 ** 24].map(axisFormatter(2 ** 35, 2 ** 24, bytes))).toEqual(['0', '16 Mi', '22544 Mi']);
    expect([0, 0.25, 1].map(axisFormatter(1, 0.25, plain))).toEqual(['0.00', '0.25', '1.00']);
    expect([0, 2500, 5000].map(axisFormatter(10_000, 2500, plain))).toEqual(['0.0', '2.5 k', '5.0 k']);
  });

  it('enclose the values', () => {
    expect(valueRange(3, 9.2, true)).toEqual({ low: 0, high: 10, step: 5 });
    const narrow = valueRange(100, 101, false);
    expect(narrow.low).toBeLessThanOrEqual(100);
    expect(narrow.high).toBeGreaterThanOrEqual(101);
    expect(narrow.high - narrow.low).toBeLessThan(3);
    expect(valueRange(Infinity, -Infinity, true)).toEqual({ low: 0, high: 1, step: 0.25 });
  });
});

describe('links', () => {
  it('keep the element that charts are of', () => {
    const settings = newSettings();
    readSettings(new URLSearchParams('o=17'), settings);
    expect(settings.only).toBe(17);
    readSettings(new URLSearchParams('o=-1'), settings);
    expect(settings.only).toBe(0);
  });

  it('keep signals in the charts that they were put into', () => {
    const settings = newSettings();
    for (const id of [4, 5, 6, 9]) settings.placed.set(id, 'cpu.user');
    settings.placed.set(7, 'a~b');
    const parameters = new URLSearchParams();
    writeSettings(settings, parameters);
    expect(parameters.getAll('r')).toEqual(['4-6,9~cpu.user', '7~a~b']);
    const read = newSettings();
    readSettings(parameters, read);
    expect(read.placed).toEqual(settings.placed);
  });

  it('keep sets of series short', () => {
    expect(encodeIds([9, 1, 3, 2, 12])).toBe('1-3,9,12');
    expect(decodeIds('1-3,9,12,x,')).toEqual([1, 2, 3, 9, 12]);
    expect(decodeIds('1-999999999').length).toBeLessThanOrEqual(4096);
  });
});
