// Alarms: what was raised, and when it was cleared again.

import { AlarmsSeverity, AlarmsState } from '../wire/tables';

export interface AlarmRow {
  t: number;
  id: number;
  state: number;
  severity: number;
  element: number;
  series: number;
  value: number;
  threshold: number;
  alarm: string;
  unit: string;
  text: string;
  advice: string;
}

/** An alarm from raising to clearing. */
export interface Alarm extends Omit<AlarmRow, 't' | 'state' | 'severity'> {
  start: number;
  /** NaN: it is on. */
  end: number;
  critical: boolean;
}

/** @param rows in order of time @return the newest first. What was cleared without having been raised (only the newest rows are sent) is left out */
export function pairAlarms(rows: AlarmRow[]): Alarm[] {
  const alarms = new Map<number, Alarm>();
  for (const row of rows) {
    const { t, state, severity, ...rest } = row;
    const raised = alarms.get(row.id);
    if (state !== AlarmsState.Cleared) alarms.set(row.id, { ...rest, start: t, end: NaN, critical: severity === AlarmsSeverity.Critical });
    else if (raised) raised.end = t;
  }
  return [...alarms.values()].reverse();
}
