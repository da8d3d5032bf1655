import { describe, expect, it } from 'vitest';
import { pairAlarms, type AlarmRow } from '../src/session/alarms';

function row(t: number, id: number, state: number, change: Partial<AlarmRow> = {}): AlarmRow {
  return { t, id, state, severity: 1, element: 1, series: 2, value: 5, threshold: 4, alarm: 'memory.thrashing', unit: '1/s', text: 'swapping', advice: 'use less', ...change };
}

describe('alarms', () => {
  it('last from raising to clearing, or still', () => {
    const alarms = pairAlarms([row(10, 1, 1), row(20, 2, 1, { severity: 2 }), row(30, 1, 2, { advice: '', value: NaN })]);
    expect(alarms.map(({ id, start, end, critical }) => [id, start, end, critical])).toEqual([[2, 20, NaN, true], [1, 10, 30, false]]);
    expect([alarms[1].advice, alarms[1].value]).toEqual(['use less', 5]);
  });

  it('without a beginning are left out', () => {
    expect(pairAlarms([row(30, 7, 2)])).toEqual([]);
  });
});
