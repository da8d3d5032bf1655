// What ran: one row a process, with its life as a bar over the shown range of time.

import { formatBytes, formatClock, formatDuration, shortCommand, signalName } from '../charts/format';
import type { Process, SessionModel } from '../session/model';
import type { Range } from '../session/view';
import { figure, partsOf } from './columns';
import { TablePanel, type Column } from './table';

export interface ProcessesHost {
  model: SessionModel;
  range(): Range;
  /** Show this range of time. */
  onShow(range: Range): void;
}

export class ProcessList extends TablePanel<Process> {
  private readonly depths = new Map<number, number>();

  constructor(private readonly host: ProcessesHost) {
    super('No process was followed.', (process) => {
      const end = this.endOf(process);
      const margin = Math.max(1e6, (end - process.start) * 0.05);
      host.onShow({ t0: process.start - margin, t1: end + margin });
    });
    this.table.setColumns(this.columns());
  }

  override get count(): number {
    return this.host.model.processes.size;
  }

  /** Rows changed. Parents stand before their children, each generation by its start. */
  override render(): void {
    const children = new Map<number, Process[]>();
    const all = this.host.model.processes;
    for (const process of all.values()) {
      const parent = all.has(process.parent) ? process.parent : 0;
      const siblings = children.get(parent);
      if (siblings) siblings.push(process);
      else children.set(parent, [process]);
    }
    const rows: Process[] = [];
    this.depths.clear();
    const visit = (parent: number, depth: number): void => {
      for (const process of (children.get(parent) ?? []).sort((a, b) => a.start - b.start)) {
        if (this.depths.has(process.id)) continue;
        this.depths.set(process.id, depth);
        rows.push(process);
        visit(process.id, depth + 1);
      }
    };
    visit(0, 0);
    this.table.setRows(rows);
  }

  private endOf(process: Process): number {
    return Number.isNaN(process.end) ? this.host.model.extent.t1 : process.end;
  }

  private columns(): Column<Process>[] {
    const { model } = this.host;
    const number = (title: string, width: string, of: (process: Process) => number, text: (value: number) => string): Column<Process> => figure(title, title, width, of, text);
    return [
      {
        title: 'Command', numeric: false, width: 'minmax(160px, 2.4fr)', rank: (process) => shortCommand(process.command),
        show: (process, cell) => {
          cell.className = 'command';
          cell.title = process.command;
          cell.style.paddingLeft = `${(this.depths.get(process.id) ?? 0) * 14}px`;
          return shortCommand(process.command);
        },
      },
      number('PID', '64px', (process) => process.pid, String),
      number('Start', '76px', (process) => process.start, (t) => formatClock(model.wallMs(t), 1e9)),
      number('Duration', '92px', (process) => this.endOf(process) - process.start, formatDuration),
      number('CPU', '80px', (process) => process.userNs + process.systemNs, formatDuration),
      number('Memory', '84px', (process) => process.maxRssBytes, formatBytes),
      {
        title: 'Exit', numeric: false, width: '84px', rank: (process) => exitOf(process, model.growing)[0],
        show: (process, cell) => {
          const [text, kind] = exitOf(process, model.growing);
          const [badge] = partsOf(cell, 'em');
          badge.className = `exit ${kind}`;
          if (badge.textContent !== text) badge.textContent = text;
          return null;
        },
      },
      { title: 'Life', numeric: false, width: 'minmax(120px, 2fr)', show: (process, cell) => this.showLife(process, cell) },
    ];
  }

  private showLife(process: Process, cell: HTMLElement): null {
    const { t0, t1 } = this.host.range();
    const share = (t: number): number => Math.min(1, Math.max(0, (t - t0) / (t1 - t0))) * 100;
    const [bar] = partsOf(cell, 'i');
    cell.className = 'life';
    bar.className = exitOf(process, this.host.model.growing)[1];
    bar.style.left = `${share(process.start)}%`;
    bar.style.width = `${Math.max(0, share(this.endOf(process)) - share(process.start))}%`;
    return null;
  }
}

function exitOf(process: Process, growing: boolean): [string, string] {
  if (process.exitSignal > 0) return [signalName(process.exitSignal), 'failed'];
  if (!Number.isNaN(process.exitCode)) return [`${process.exitCode}`, process.exitCode === 0 ? 'fine' : 'failed'];
  if (Number.isNaN(process.end)) return growing ? ['running', 'running'] : ['unknown', 'unknown'];
  return ['unknown', 'unknown'];
}
