// The output of a run: what is new is asked for and added at the end.

import { el } from '../app/dom';

export interface OutputPart {
  run: number;
  from: number;
  next: number;
  bytes: number;
  text: string;
}

const MOST_CHARACTERS = 1 << 20;

/** What a terminal would do with it, as far as text goes: no colours, and a line begun anew replaces itself. */
export function plainText(text: string): string {
  // eslint-disable-next-line no-control-regex
  const bare = text.replace(/\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])/g, '').replace(/\r+\n/g, '\n');
  return bare.split('\n').map((line) => line.slice(line.lastIndexOf('\r', line.length - 2) + 1).replace(/\r$/, '')).join('\n');
}

export class OutputView {
  readonly root: HTMLElement;
  /** 0: none is shown. */
  run = 0;
  /** Where to go on reading. */
  next: number | null = null;
  private readonly heading = el('h3', {}, 'Output');
  private readonly text = el('pre', { 'className': 'console-text', 'tabIndex': 0, 'role': 'log', 'aria-label': 'Output of the program' });
  private raw = '';

  constructor() {
    this.root = el('section', { className: 'console-output', 'aria-label': 'Output' }, this.heading, this.text);
  }

  show(run: number, title: string): void {
    if (run === this.run) return;
    this.run = run;
    this.next = null;
    this.raw = '';
    this.heading.textContent = run === 0 ? 'Output' : `Output of run ${run} · ${title}`;
    this.text.textContent = '';
  }

  /** @return whether there is more to ask for */
  take(part: OutputPart): boolean {
    if (part.run !== this.run) return false;
    if (this.next !== null && part.from !== this.next) return false;
    const begins = this.next === null;
    this.next = part.next;
    if (part.text !== '' || begins) {
      const { scrollTop, scrollHeight, clientHeight } = this.text;
      const atEnd = begins || scrollTop + clientHeight > scrollHeight - 24;
      this.raw = (this.raw + part.text).slice(-MOST_CHARACTERS);
      const left = begins && part.from > 0 ? `… ${part.from} bytes before are in output.txt\n` : '';
      this.raw = left + this.raw;
      this.text.textContent = this.raw === '' ? '(nothing yet)' : plainText(this.raw);
      if (atEnd) this.text.scrollTop = this.text.scrollHeight;
    }
    return part.text !== '' && part.next < part.bytes;
  }
}
