// The console: programs are described, run and stopped, their output is read, their recordings are looked at and compared.
// What it shows is the folder of runs; nothing of it is kept here. Loaded when needed.

import './console.css';
import { button, el } from '../app/dom';
import { closeButton } from '../app/widgets';
import type { RawMessage } from '../session/model';
import { toToml, type Description } from './description';
import { RunForm, type OptionRow } from './form';
import { OutputView, type OutputPart } from './output';
import { isRunning, RunList, type Run } from './runs';

/** docs/console.md */
export interface ConsoleRequest {
  do: 'unlock' | 'runs' | 'check' | 'start' | 'stop' | 'kill' | 'output' | 'show' | 'compare';
  text?: string;
  run?: number;
  other?: number;
  from?: number;
}

export interface ConsoleHost {
  send(request: ConsoleRequest): void;
  /** The server's; null: the page was opened without. */
  token(): string | null;
  toast(level: string, text: string): void;
  onClose(): void;
}

const POLL_MS = 700;
const NEEDS_TOKEN = 'Programs are run only from a page that has the token: open the whole address that attune printed, in this tab.';

export class ConsolePanel {
  readonly root: HTMLElement;
  readonly form: RunForm;
  readonly output = new OutputView();
  readonly list: RunList;
  private readonly problem = el('p', { className: 'console-problem', role: 'alert', hidden: true });
  private readonly file = el('pre', { className: 'console-file' });
  private readonly locked = el('p', { className: 'console-locked', hidden: true }, NEEDS_TOKEN);
  private readonly compare = el('button', { type: 'button', className: 'small', disabled: true, title: 'Choose two runs with recordings' }, 'Compare');
  private readonly opener = el('input', { type: 'file', accept: '.toml', hidden: true, 'aria-label': 'Console file to load' });
  private unlocked = false;
  private timer = 0;
  /** Which run's output to show once it is in the list. */
  private wanted = 0;

  constructor(private readonly host: ConsoleHost) {
    const run = el('button', { type: 'submit', className: 'primary' }, 'Run');
    this.form = new RunForm(() => this.run(), el('div', { className: 'console-actions' }, run, button('small', 'Save as a file', () => this.save(), { title: 'For attune run --console-file' }), button('small', 'Load a file …', () => this.opener.click(), { title: 'A console file' }), this.opener));
    this.list = new RunList({
      onOutput: (chosen) => this.showOutput(chosen),
      onStop: (chosen, kill) => host.send({ do: kill ? 'kill' : 'stop', run: chosen.run }),
      onShow: (chosen) => host.send({ do: 'show', run: chosen.run }),
      onAgain: (chosen) => host.send({ do: 'check', run: chosen.run }),
      onPick: () => (this.compare.disabled = this.list.picked.size !== 2),
    });
    this.compare.addEventListener('click', () => {
      const [before, after] = [...this.list.picked].sort((a, b) => a - b);
      host.send({ do: 'compare', run: before, other: after });
    });
    this.opener.addEventListener('change', () => void this.load());
    this.form.root.addEventListener('input', () => this.showFile());
    this.root = el('section', { className: 'console', 'aria-label': 'Console' },
      el('header', { className: 'console-head' }, el('h2', {}, 'Console'), el('span', { className: 'grow' }), closeButton('the console', 'Esc', () => host.onClose())), this.locked,
      el('div', { className: 'console-body' },
        el('div', { className: 'console-left' }, this.form.root, this.problem, el('details', {}, el('summary', {}, 'The same as a file'), this.file)),
        el('div', { className: 'console-right' }, el('header', {}, el('h3', {}, 'Runs'), el('span', { className: 'grow' }), this.compare), this.list.root, this.output.root)));
    this.showFile();
  }

  /** The connection is there, for the first time or again: it knows nothing of the token. */
  connected(): void {
    const token = this.host.token();
    this.unlocked = false;
    this.locked.hidden = token !== null;
    this.list.setKnown(token !== null);
    if (token !== null) this.host.send({ do: 'unlock', text: token });
  }

  /** It is out of sight. */
  closed(): void {
    window.clearTimeout(this.timer);
  }

  take({ envelope }: RawMessage): void {
    const done = envelope.get('done') as ConsoleRequest['do'];
    const error = envelope.get('error');
    if (error !== undefined) {
      const hint = envelope.get('hint') ?? '';
      this.refused(done, hint === '' ? error : `${error} (${hint})`);
      return;
    }
    const answer: unknown = JSON.parse(envelope.get('text') ?? '{}');
    switch (done) {
      case 'unlock':
        this.unlocked = true;
        this.form.setOptions((answer as { options: OptionRow[] }).options);
        this.showFile();
        this.poll();
        break;
      case 'runs':
        this.showRuns(answer as { runs: Run[]; folder: string });
        break;
      case 'check':
        this.form.set(answer as Description);
        this.complain('');
        this.showFile();
        break;
      case 'start':
        this.wanted = (answer as { run: number }).run;
        this.complain('');
        this.poll();
        break;
      case 'output':
        if (this.output.take(answer as OutputPart)) this.askOutput();
        break;
      case 'stop':
      case 'kill':
        this.poll();
        break;
      case 'show':
      case 'compare':
        // What was asked for takes the place of everything.
        this.host.onClose();
        break;
    }
  }

  private refused(done: ConsoleRequest['do'], text: string): void {
    if (done === 'unlock') {
      this.locked.hidden = false;
      this.list.setKnown(false);
    } else if (done === 'start' || done === 'check') this.complain(text);
    else if (done === 'runs' || done === 'output') this.poll();
    if (done !== 'start' && done !== 'check' && done !== 'output') this.host.toast('error', text);
  }

  /** Asks for the list now, and again and again. */
  private poll(): void {
    window.clearTimeout(this.timer);
    if (this.unlocked && this.root.isConnected) this.host.send({ do: 'runs' });
  }

  private showRuns({ runs, folder }: { runs: Run[]; folder: string }): void {
    this.form.setFolder(folder);
    const chosen = runs.find(({ run }) => run === this.wanted);
    if (chosen) {
      this.output.show(chosen.run, chosen.title);
      this.wanted = 0;
    }
    this.list.set(runs, this.output.run, Date.now());
    this.compare.disabled = this.list.picked.size !== 2;
    const shown = runs.find(({ run }) => run === this.output.run);
    // What has ended writes no more, but for what was not read yet.
    if (shown && (isRunning(shown) || this.output.next === null || this.output.next < shown.output_bytes)) this.askOutput();
    window.clearTimeout(this.timer);
    if (this.root.isConnected) this.timer = window.setTimeout(() => this.poll(), POLL_MS);
  }

  private showOutput(run: Run): void {
    this.output.show(run.run, run.title);
    this.askOutput();
    this.list.set(this.list.runs, run.run, Date.now());
  }

  private askOutput(): void {
    const { run, next } = this.output;
    if (run !== 0) this.host.send({ do: 'output', run, ...(next === null ? {} : { from: next }) });
  }

  private text(): string | null {
    try {
      const text = toToml(this.form.get());
      this.complain('');
      return text;
    } catch (error) {
      this.complain(error instanceof Error ? error.message : String(error));
      return null;
    }
  }

  private run(): void {
    if (!this.locked.hidden) {
      this.complain(NEEDS_TOKEN);
      return;
    }
    const text = this.text();
    if (text === null) return;
    if (this.form.hasProgram) this.host.send({ do: 'start', text });
    else {
      this.complain('Say which program is to be run.');
      this.form.askForProgram();
    }
  }

  private save(): void {
    const text = this.text();
    if (text === null) return;
    const link = el('a', { href: URL.createObjectURL(new Blob([text], { type: 'application/toml' })), download: 'run.toml' });
    link.click();
    URL.revokeObjectURL(link.href);
  }

  private async load(): Promise<void> {
    const file = this.opener.files?.[0];
    this.opener.value = '';
    if (file) this.host.send({ do: 'check', text: await file.text() });
  }

  private showFile(): void {
    try {
      this.file.textContent = toToml(this.form.get());
    } catch {
      // The next letter may mend it; who runs it is told.
    }
  }

  private complain(text: string): void {
    this.problem.textContent = text;
    this.problem.hidden = text === '';
    if (text !== '') this.problem.scrollIntoView({ block: 'nearest' });
  }
}
