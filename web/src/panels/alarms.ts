// Alarms by their time: what is wrong now, and what was.

import { formatClock, formatDate, formatDuration, formatValue } from '../charts/format';
import { elementName } from '../charts/traces';
import type { Alarm } from '../session/alarms';
import type { SessionModel } from '../session/model';
import { partsOf, words } from './columns';
import { TablePanel } from './table';

export interface AlarmsHost {
  model: SessionModel;
  /** Show the time and the series of an alarm. */
  onGo(alarm: Alarm): void;
}

/** "12 %", "3.4k faults/s": alarms have units like "1/s" and "%". */
function quantity(value: number, unit: string): string {
  const binary = unit === 'bytes';
  const shown = binary ? 'B' : unit === '1' ? '' : unit === '1/s' ? '/s' : unit === 'degC' ? '°C' : unit;
  return formatValue(value, { unit: shown, factor: 1, prefixes: binary ? 'binary' : unit === '%' ? 'none' : 'decimal' });
}

export class AlarmList extends TablePanel<Alarm> {

  constructor(private readonly host: AlarmsHost) {
    super('No alarm was raised. Their rules and thresholds: attune alarms.', (alarm) => host.onGo(alarm));
    const { model } = host;
    this.table.setColumns([
      {
        title: 'Alarm', numeric: false, width: 'minmax(200px, 1.6fr)', rank: (alarm) => alarm.text,
        show: (alarm, cell) => {
          const [sign, text] = partsOf(cell, 'i', 'span');
          sign.className = `alarm-dot${alarm.critical ? ' critical' : ''}${this.isOn(alarm) ? ' on' : ''}`;
          text.textContent = alarm.text;
          cell.title = `${alarm.alarm}: ${alarm.text}${alarm.advice ? `\n${alarm.advice}` : ''}`;
          return null;
        },
      },
      words('Element', 'minmax(70px, 0.6fr)', (alarm) => this.elementOf(alarm)),
      { title: 'Since', numeric: false, width: '142px', rank: (alarm) => alarm.start, show: (alarm) => `${formatDate(model.wallMs(alarm.start))} ${formatClock(model.wallMs(alarm.start), 1e9)}` },
      {
        title: 'For', hint: 'How long it was raised, or is', numeric: true, width: '92px', rank: (alarm) => this.end(alarm) - alarm.start,
        show: (alarm, cell) => {
          cell.classList.toggle('on', this.isOn(alarm));
          return formatDuration(Math.round((this.end(alarm) - alarm.start) / 1e8) * 1e8);
        },
      },
      { title: 'Value', hint: 'When it was raised', numeric: true, width: '84px', show: (alarm) => quantity(alarm.value, alarm.unit) },
      { title: 'Threshold', numeric: true, width: '84px', show: (alarm) => quantity(alarm.threshold, alarm.unit) },
      {
        title: 'Advice', numeric: false, width: 'minmax(160px, 2fr)', show: (alarm, cell) => (cell.title = alarm.advice),
      },
    ]);
  }

  override get count(): number {
    return this.host.model.alarms.length;
  }

  override render(): void {
    this.table.setRows(this.host.model.alarms);
  }

  private isOn(alarm: Alarm): boolean {
    return Number.isNaN(alarm.end);
  }

  private end(alarm: Alarm): number {
    return this.isOn(alarm) ? Math.max(alarm.start, this.host.model.extent.t1) : alarm.end;
  }

  private elementOf(alarm: Alarm): string {
    const element = this.host.model.elements.get(alarm.element);
    return element ? elementName(element) : '';
  }
}
