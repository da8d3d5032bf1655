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
export interface Alarm {
  id: number;
  start: number;
  /** NaN: it is on. */
  end: number;
  critical: boolean;
  element: number;
  series: number;
  value: number;
  threshold: number;
  alarm: string;
  unit: string;
  text: string;
  advice: string;
}

/** @param rows in order of time @return the newest first. What was cleared without having been raised (only the newest rows are sent) is left out */
export function pairAlarms(rows: AlarmRow[]): Alarm[] {
  const alarms = new Map<number, Alarm>();
  for (const row of rows) {
    const { id, severity, element, series, value, threshold, alarm, unit, text, advice } = row;
    const raised = alarms.get(id);
    if (row.state !== AlarmsState.Cleared) alarms.set(id, { id, start: row.t, end: NaN, critical: severity === AlarmsSeverity.Critical, element, series, value, threshold, alarm, unit, text, advice });
    else if (raised) raised.end = row.t;
  }
  return [...alarms.values()].reverse();
}
