// What ran: one row a process, with its life as a bar over the shown range of time.

import { el } from '../app/dom';
import { formatBytes, formatClock, formatDuration } from '../charts/format';
import type { Process, SessionModel } from '../session/model';
import type { Range } from '../session/view';

const SIGNALS: Record<number, string> = { 1: 'SIGHUP', 2: 'SIGINT', 3: 'SIGQUIT', 4: 'SIGILL', 6: 'SIGABRT', 7: 'SIGBUS', 8: 'SIGFPE', 9: 'SIGKILL', 11: 'SIGSEGV', 13: 'SIGPIPE', 14: 'SIGALRM', 15: 'SIGTERM' };
const ROW_HEIGHT = 30;
const OVERSCAN_ROWS = 10;

export interface ProcessesHost {
  model: SessionModel;
  range(): Range;
  /** Show this range of time. */
  onShow(range: Range): void;
}

export class ProcessList {
  readonly root: HTMLElement;
  private readonly body: HTMLElement;
  private readonly scroller: HTMLElement;
  private readonly spacer: HTMLElement;
  private rows: Process[] = [];
  private readonly depths = new Map<number, number>();

  constructor(private readonly host: ProcessesHost) {
    this.body = el('div', { className: 'process-rows' });
    this.spacer = el('div', { className: 'process-spacer' }, this.body);
    this.scroller = el('div', { className: 'process-scroller', tabIndex: 0 }, this.spacer);
    this.scroller.addEventListener('scroll', () => this.renderRows());
    const heads = ['Command', 'PID', 'Start', 'Duration', 'CPU', 'Memory', 'Exit', ''];
    this.root = el('div', { className: 'processes' },
      el('div', { className: 'process-row head' }, ...heads.map((head) => el('span', {}, head))), this.scroller);
  }

  get count(): number {
    return this.host.model.processes.size;
  }

  /** Rows changed. Parents stand before their children, each generation by its start. */
  render(): void {
    const children = new Map<number, Process[]>();
    const all = this.host.model.processes;
    for (const process of all.values()) {
      const parent = all.has(process.parent) ? process.parent : 0;
      children.set(parent, [...(children.get(parent) ?? []), process]);
    }
    this.rows = [];
    this.depths.clear();
    const visit = (parent: number, depth: number): void => {
      for (const process of (children.get(parent) ?? []).sort((a, b) => a.start - b.start)) {
        if (this.depths.has(process.id)) continue;
        this.depths.set(process.id, depth);
        this.rows.push(process);
        visit(process.id, depth + 1);
      }
    };
    visit(0, 0);
    this.spacer.style.height = `${this.rows.length * ROW_HEIGHT}px`;
    this.renderRows();
  }

  /** The shown range moved: bars and running durations. */
  renderRows(): void {
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW_HEIGHT) - OVERSCAN_ROWS);
    const last = Math.min(this.rows.length, first + Math.ceil(this.scroller.clientHeight / ROW_HEIGHT) + 2 * OVERSCAN_ROWS);
    this.body.style.transform = `translateY(${first * ROW_HEIGHT}px)`;
    this.body.replaceChildren(...this.rows.slice(first, last).map((process) => this.row(process)));
  }

  private row(process: Process): HTMLElement {
    const { model } = this.host;
    const running = Number.isNaN(process.end);
    const end = running ? model.extent.t1 : process.end;
    const cpu = process.userNs + process.systemNs;
    const [exit, kind] = exitOf(process, model.growing);
    const command = el('span', { className: 'command', title: process.command }, shorten(process.command));
    command.style.paddingLeft = `${(this.depths.get(process.id) ?? 0) * 14}px`;
    const row = el('button', { className: 'process-row', type: 'button', title: `${process.command}\nShow its time` },
      command, el('span', { className: 'number' }, String(process.pid)),
      el('span', { className: 'number' }, Number.isNaN(process.start) ? '–' : formatClock(model.wallMs(process.start), 1e9)),
      el('span', { className: 'number' }, formatDuration(end - process.start)),
      el('span', { className: 'number' }, formatDuration(cpu)),
      el('span', { className: 'number' }, Number.isNaN(process.maxRssBytes) ? '–' : formatBytes(process.maxRssBytes)),
      el('span', {}, el('em', { className: `exit ${kind}` }, exit)), this.bar(process.start, end, kind));
    row.addEventListener('click', () => {
      const margin = Math.max(1e6, (end - process.start) * 0.05);
      this.host.onShow({ t0: process.start - margin, t1: end + margin });
    });
    return row;
  }

  private bar(start: number, end: number, kind: string): HTMLElement {
    const { t0, t1 } = this.host.range();
    const share = (t: number): number => Math.min(1, Math.max(0, (t - t0) / (t1 - t0))) * 100;
    const bar = el('i', { className: kind });
    bar.style.left = `${share(start)}%`;
    bar.style.width = `${Math.max(0, share(end) - share(start))}%`;
    return el('span', { className: 'life' }, bar);
  }
}

function exitOf(process: Process, growing: boolean): [string, string] {
  if (process.exitSignal > 0) return [SIGNALS[process.exitSignal] ?? `signal ${process.exitSignal}`, 'failed'];
  if (!Number.isNaN(process.exitCode)) return [`${process.exitCode}`, process.exitCode === 0 ? 'fine' : 'failed'];
  if (Number.isNaN(process.end)) return growing ? ['running', 'running'] : ['unknown', 'unknown'];
  return ['unknown', 'unknown'];
}

/** "/usr/bin/xz -9" as "xz -9". */
function shorten(command: string): string {
  const space = command.indexOf(' ');
  const program = space < 0 ? command : command.slice(0, space);
  return program.slice(program.lastIndexOf('/') + 1) + (space < 0 ? '' : command.slice(space));
}
