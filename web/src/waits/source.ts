// The source text around a place, with the time that threads waited at its lines, and with what was sampled there. Only the
// server knows where it is, and whether it may be shown.

import { el } from '../app/dom';
import { closeButton } from '../app/widgets';
import { formatDuration } from '../charts/format';
import { countsOfFile, lineAmount, type HotLines } from '../counters/hot_lines';
import type { RawMessage } from '../session/model';
import { fileText, type Place, type Waits } from './documents';

interface SourceText {
  function: string;
  /** As in the other documents. */
  file: string;
  /** That was read. */
  path: string;
  line: number;
  first_line: number;
  lines_in_all: number;
  is_newer: boolean;
  lines: string[];
}

export interface SourceHost {
  ask(site: number): void;
  /** What was waited for, to be shown at its lines; null: not known yet. */
  waits(): Waits | null;
  /** What was sampled, likewise. */
  hotLines(): HotLines | null;
  onClose(): void;
}

/** What is known of the lines of a file. */
interface Measure {
  title: string;
  hint: string;
  values: Map<number, number>;
  text(value: number): string;
}

/** Time waited at each line of a file, in nanoseconds. */
export function waitedByLine(waits: Waits, file: string): Map<number, number> {
  const lines = new Map<number, number>();
  for (const object of [...waits.waits.locks, ...waits.waits.others]) {
    for (const site of object.sites) {
      if (site.file === file && site.line !== null) lines.set(site.line, (lines.get(site.line) ?? 0) + site.wait_ns);
    }
  }
  return lines;
}

/** The last parts of a path say enough. */
function shorten(path: string): string {
  const parts = path.split('/');
  return parts.length > 4 ? `…/${parts.slice(-3).join('/')}` : path;
}

export class SourceView {
  readonly root: HTMLElement;
  private readonly title = el('h3', {});
  private readonly path = el('small', {});
  private readonly note = el('p', { className: 'source-note', hidden: true });
  private readonly text = el('div', { className: 'source-text', tabIndex: 0 });
  private site = 0;
  private source: SourceText | null = null;

  constructor(private readonly host: SourceHost) {
    this.root = el('aside', { className: 'source', 'aria-label': 'Source', hidden: true }, el('header', {}, el('div', {}, this.title, this.path), closeButton('the source', 'Esc', () => host.onClose())), this.note, this.text);
  }

  get isOpen(): boolean {
    return !this.root.hidden;
  }

  open(place: Place): void {
    this.site = place.id;
    this.source = null;
    this.root.hidden = false;
    this.title.textContent = place.function === '' ? place.name : place.function;
    this.path.textContent = fileText(place) || place.name;
    this.path.title = place.file;
    this.note.hidden = true;
    this.text.replaceChildren(el('p', { className: 'empty' }, 'Looking for it …'));
    this.host.ask(place.id);
  }

  take({ envelope }: RawMessage): void {
    if (Number(envelope.get('site')) !== this.site) return;
    const error = envelope.get('error');
    if (error !== undefined) {
      this.text.replaceChildren(el('p', { className: 'empty' }, `The source is not here: ${error}`));
      return;
    }
    this.source = JSON.parse(envelope.get('text') ?? '') as SourceText;
    this.show(this.source);
    this.text.querySelector('.current')?.scrollIntoView({ block: 'center' });
  }

  /** What is known of the lines changed. */
  refresh(): void {
    if (!this.isOpen || !this.source) return;
    const { scrollTop } = this.text;
    this.show(this.source);
    this.text.scrollTop = scrollTop;
  }

  /** Those of its lines that have any; without: the time waited, of no line. */
  private measuresOf(file: string): Measure[] {
    const waits = this.host.waits();
    const waited = { title: 'waited', hint: 'Threads waited here', values: waits ? waitedByLine(waits, file) : new Map<number, number>(), text: formatDuration };
    const hot = this.host.hotLines();
    const sampled = hot ? countsOfFile(hot, file) : [];
    const events = sampled.map(({ event, counts }) => ({ title: event.event, hint: event.event, values: counts, text: (value: number) => lineAmount(event, value) }));
    return waited.values.size > 0 || events.length === 0 ? [waited, ...events] : events;
  }

  private show(source: SourceText): void {
    const measures = this.measuresOf(source.file);
    this.path.textContent = `${shorten(source.path)}:${source.line}`;
    this.path.title = source.path;
    this.note.hidden = !source.is_newer;
    this.note.textContent = 'This file was changed after the program was built: lines may have moved.';
    this.text.style.setProperty('--measures', String(measures.length));
    const most = measures.map(({ values }) => Math.max(1, ...values.values()));
    const cellOf = ({ hint, values, text }: Measure, i: number, number: number): HTMLElement => {
      const value = values.get(number) ?? 0;
      const bar = el('i', {});
      bar.style.width = `${((value / most[i]) * 100).toFixed(1)}%`;
      return el('span', { className: 'line-waited', title: value > 0 ? `${hint}: ${text(value)}` : '' }, bar, value > 0 ? el('b', {}, text(value)) : '');
    };
    const rows = source.lines.map((text, i) => {
      const number = source.first_line + i;
      return el('div', { className: number === source.line ? 'line current' : 'line' },
        ...measures.map((measure, at) => cellOf(measure, at, number)), el('span', { className: 'line-number' }, String(number)), el('code', {}, text));
    });
    const head = el('div', { className: 'line head' }, ...measures.map(({ title, hint }) => el('span', { title: hint }, title)));
    this.text.replaceChildren(...(measures.some(({ values }) => values.size > 0) ? [head] : []), ...rows);
  }
}
