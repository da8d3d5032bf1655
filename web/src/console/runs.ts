// The list of runs.

import { button, el } from '../app/dom';
import { formatDuration, signalName } from '../charts/format';

export type Stage = 'starting' | 'runs' | 'unrecorded' | 'ended' | 'failed' | 'lost';

/** As the server lists it. */
export interface Run {
  run: number;
  stage: Stage;
  title: string;
  /** Another one than the server's; '': the server's. */
  host: string;
  pid: number;
  start_ns: number;
  end_ns: number;
  exit_code: number;
  exit_signal: number;
  stop_asked: boolean;
  output_bytes: number;
  recording_bytes: number;
}

export function isRunning({ stage }: Run): boolean {
  return stage === 'starting' || stage === 'runs' || stage === 'unrecorded';
}

/** What became of it, and how that looks: `good`, `bad`, `busy` or ''. */
export function stateOf(run: Run): { text: string; look: string; hint: string } {
  const { stage, exit_code: code, exit_signal: signal, stop_asked: stopped, host } = run;
  if (host !== '' && isRunning(run)) return { text: `on ${host}`, look: '', hint: 'It was started on another host: how it does is seen there' };
  switch (stage) {
    case 'starting': return { text: 'starting', look: 'busy', hint: '' };
    case 'runs': return stopped ? { text: 'stopping', look: 'busy', hint: 'It was asked to end' } : { text: 'runs', look: 'busy', hint: '' };
    case 'unrecorded': return { text: 'runs, unrecorded', look: 'busy', hint: 'attune run has ended; the program goes on' };
    case 'failed': return { text: 'not started', look: 'bad', hint: 'The output says why' };
    case 'lost': return { text: 'ended', look: '', hint: 'Nobody was there to see how it ended; the recording may say' };
    case 'ended': break;
  }
  if (signal !== 0) return { text: `${stopped ? 'stopped' : 'died'}: ${signalName(signal)}`, look: stopped ? '' : 'bad', hint: '' };
  return { text: code === 0 ? 'ended' : `exit code ${code}`, look: code === 0 ? 'good' : 'bad', hint: '' };
}

export interface RunActions {
  onOutput(run: Run): void;
  onStop(run: Run, kill: boolean): void;
  onShow(run: Run): void;
  onAgain(run: Run): void;
  onPick(): void;
}

interface Row {
  root: HTMLElement;
  pick: HTMLInputElement;
  cells: HTMLElement[];
  stop: HTMLButtonElement;
  show: HTMLButtonElement;
  run: Run;
}

export class RunList {
  readonly root = el('div', { className: 'console-runs' });
  readonly picked = new Set<number>();
  runs: Run[] = [];
  private readonly rows = new Map<number, Row>();
  private readonly empty = el('p', { className: 'empty' }, 'Nothing has been run yet.');

  constructor(private readonly actions: RunActions) {
    this.root.append(this.empty);
  }

  /** @param known without the token nothing is known of runs */
  setKnown(known: boolean): void {
    this.empty.textContent = known ? 'Nothing has been run yet.' : 'What was run is shown only by a page that has the token: open the whole address that attune printed, in this tab.';
  }

  /** @param shown the run whose output is shown @param nowMs the wall clock */
  set(runs: Run[], shown: number, nowMs: number): void {
    this.runs = runs;
    this.empty.hidden = runs.length > 0;
    for (const [number, row] of this.rows) {
      if (runs.some(({ run }) => run === number)) continue;
      row.root.remove();
      this.rows.delete(number);
      this.picked.delete(number);
    }
    runs.forEach((run, i) => {
      const row = this.rows.get(run.run) ?? this.makeRow(run);
      this.fill(row, run, shown, nowMs);
      if (this.root.children[i + 1] !== row.root) this.root.insertBefore(row.root, this.root.children[i + 1] ?? null);
    });
  }

  private makeRow(run: Run): Row {
    const action = (name: string, title: string, onClick: (row: Row) => void): HTMLButtonElement => button('small', name, () => onClick(row), { title });
    const pick = el('input', { type: 'checkbox', 'aria-label': `Choose run ${run.run}`, title: 'Two that are chosen can be compared' });
    const cells = ['run-number', 'run-title', 'run-state', 'run-time'].map((className) => el('span', { className }));
    const stop = action('Stop', 'Asks the program to end (SIGTERM)', ({ run: now }) => this.actions.onStop(now, now.stop_asked));
    const show = action('Look', 'Its recording, on this page', ({ run: now }) => this.actions.onShow(now));
    const row: Row = { root: el('div', { 'className': 'run', 'role': 'group', 'aria-label': `Run ${run.run}`, 'data-run': String(run.run) }), pick, cells, stop, show, run };
    row.root.append(pick, ...cells, el('span', { className: 'run-actions' }, stop, show, action('Output', 'What the program has written', ({ run: now }) => this.actions.onOutput(now)),
      action('Again', 'Into the form, to be run as it was or changed', ({ run: now }) => this.actions.onAgain(now))));
    pick.addEventListener('change', () => {
      if (pick.checked) this.picked.add(run.run);
      else this.picked.delete(run.run);
      this.actions.onPick();
    });
    this.rows.set(run.run, row);
    return row;
  }

  private fill(row: Row, run: Run, shown: number, nowMs: number): void {
    row.run = run;
    const state = stateOf(run);
    const start = new Date(run.start_ns / 1e6);
    const end = run.end_ns > 0 ? run.end_ns : isRunning(run) && run.start_ns > 0 ? nowMs * 1e6 : NaN;
    const texts = [String(run.run), run.title, state.text, run.start_ns > 0 ? `${start.toLocaleTimeString()} · ${Number.isNaN(end) ? '?' : formatDuration(Math.max(0, end - run.start_ns))}` : ''];
    texts.forEach((text, i) => {
      if (row.cells[i].textContent !== text) row.cells[i].textContent = text;
    });
    row.cells[1].title = run.title;
    row.cells[2].className = `run-state ${state.look}`;
    row.cells[2].title = state.hint;
    row.root.classList.toggle('current', run.run === shown);
    row.stop.hidden = !isRunning(run) || run.host !== '' || run.stage === 'starting';
    row.stop.textContent = run.stop_asked ? 'Kill' : 'Stop';
    row.stop.title = run.stop_asked ? 'Ends it and all that it started, at once (SIGKILL)' : 'Asks the program to end (SIGTERM)';
    row.show.disabled = run.recording_bytes === 0;
    row.pick.disabled = run.recording_bytes === 0;
    if (row.pick.disabled) this.picked.delete(run.run);
    row.pick.checked = this.picked.has(run.run);
  }
}
