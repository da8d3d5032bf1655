// The source text around a place, with the time that threads waited at its lines. Only the server knows where it is, and
// whether it may be shown.

import { el } from '../app/dom';
import { closeButton } from '../app/widgets';
import { formatDuration } from '../charts/format';
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
  onClose(): void;
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

  constructor(private readonly host: SourceHost) {
    this.root = el('aside', { className: 'source', 'aria-label': 'Source', hidden: true }, el('header', {}, el('div', {}, this.title, this.path), closeButton('the source', 'Esc', () => host.onClose())), this.note, this.text);
  }

  open(place: Place): void {
    this.site = place.id;
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
    this.show(JSON.parse(envelope.get('text') ?? '') as SourceText);
  }

  private show(source: SourceText): void {
    const waits = this.host.waits();
    const waited = waits ? waitedByLine(waits, source.file) : new Map<number, number>();
    const most = Math.max(1, ...waited.values());
    this.path.textContent = `${shorten(source.path)}:${source.line}`;
    this.path.title = source.path;
    this.note.hidden = !source.is_newer;
    this.note.textContent = 'This file was changed after the program was built: lines may have moved.';
    const rows = source.lines.map((text, i) => {
      const number = source.first_line + i;
      const ns = waited.get(number) ?? 0;
      const bar = el('i', {});
      bar.style.width = `${((ns / most) * 100).toFixed(1)}%`;
      return el('div', { className: number === source.line ? 'line current' : 'line' },
        el('span', { className: 'line-waited', title: ns > 0 ? `Threads waited ${formatDuration(ns)} here` : '' }, bar, ns > 0 ? el('b', {}, formatDuration(ns)) : ''), el('span', { className: 'line-number' }, String(number)), el('code', {}, text));
    });
    this.text.replaceChildren(...rows);
    this.text.querySelector('.current')?.scrollIntoView({ block: 'center' });
  }
}

