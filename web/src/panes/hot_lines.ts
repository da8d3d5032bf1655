// Lines of the program's own code by CPU time and by the events that were sampled there (attune run --event-samples).

import { el } from '../app/dom';
import { Search } from '../app/widgets';
import { formatCount } from '../charts/format';
import { FormulaBar } from '../counters/formula_bar';
import { countedAt, lineAmount, type HotLine, type HotLines, type LineEvent } from '../counters/hot_lines';
import { formatShare, longWords, partsOf, words } from '../panels/columns';
import { Table, type Column } from '../panels/table';
import { uses, type DocumentName } from '../session/documents';
import type { Range } from '../session/view';
import { fileText } from '../waits/documents';
import type { OwnPane, Pane, PaneHost } from '../waits/workspaces';
import './counters.css';

/** Pixels of the columns with names, and of each other one, with what is between them. */
const LEAST_NAMES = 460;
const LEAST_COLUMN = 150;
const HOW_TO = 'attune run --event-samples page-faults,cache-misses -- PROGRAM';

class HotLinesPane implements Pane {
  readonly root: HTMLElement;
  readonly documents = [uses('hot-lines', (hot, range) => this.show(hot, range))];
  private readonly summary = el('span', { className: 'waits-summary' });
  private readonly search = new Search('Filter: function, file, library', 'Filter lines', () => this.showRows());
  private readonly table: Table<HotLine>;
  private readonly none = el('div', { className: 'counters-none' }, el('p', {}, 'Being computed …'));
  private readonly more = el('p', { className: 'counters-status' }, 'To sample where other events occur: ', el('code', {}, HOW_TO));
  private readonly bar: HTMLElement;
  private readonly body: HTMLElement;
  private readonly formulas: FormulaBar;
  private hot: HotLines = { events: [], lines: [], lines_in_all: 0 };
  private names: string[] = [];
  private columnsKey = '';
  private seconds = NaN;

  constructor(private readonly host: PaneHost) {
    this.table = new Table<HotLine>('No line has all of these words.', ({ site }) => site && host.openSource(site));
    this.table.root.setAttribute('aria-label', 'Hot lines');
    this.bar = el('div', { className: 'waits-bar' }, this.summary, el('span', { className: 'grow' }), this.search.root);
    this.body = el('div', { className: 'counters-body' }, el('div', { className: 'counters-main' }, this.table.root, this.more));
    this.formulas = new FormulaBar('lines-preview', 'cache-misses / cpu-time * 1e6', {
      chosen: () => host.chosen(),
      choose: (formulas) => host.choose(formulas),
      whole: () => (this.hot.events.length > 0 ? { about: 'all lines', counted: { events: this.names, counts: this.hot.events.map(({ count }) => count), seconds: this.seconds } } : null),
      onColumns: (added) => {
        this.showColumns();
        this.showRows();
        if (added) this.table.root.scrollLeft = this.table.root.scrollWidth;
      },
    });
    this.root = el('div', { className: 'counters lines-pane' }, this.bar, this.formulas.root, this.none, this.body);
    this.restore();
  }

  restore(): void {
    this.formulas.restore();
  }

  followsView(): DocumentName | null {
    return this.host.model.exported ? null : 'hot-lines';
  }

  refresh(): void {
    this.table.refresh();
  }

  private show(hot: HotLines, range: Range | null): void {
    this.hot = hot;
    const { t0, t1 } = range ?? this.host.model.extent;
    this.seconds = (t1 - t0) / 1e9;
    const names = hot.events.map(({ event }) => event);
    if (names.join('\n') !== this.names.join('\n')) this.names = names;
    const samples = hot.events.reduce((sum, event) => sum + event.samples, 0);
    const some = hot.lines.length < hot.lines_in_all ? `, the ${hot.lines.length} with the largest shares` : '';
    this.summary.textContent = `${formatCount(hot.lines_in_all)} ${hot.lines_in_all === 1 ? 'line' : 'lines'}${some}, from ${formatCount(samples)} samples${range ? ' in view' : ''}`;
    if (hot.events.length === 0) this.none.replaceChildren(el('h2', {}, range ? 'Nothing was sampled in the time in view' : 'Nothing was sampled'), el('p', {}, el('span', {}, 'To sample where events occur:'), el('code', {}, HOW_TO)));
    this.more.hidden = hot.events.some(({ event }) => event !== 'cpu-time');
    this.showColumns();
    this.formulas.showPreview();
    this.showRows();
  }

  private showColumns(): void {
    const { formulas } = this.formulas;
    const key = JSON.stringify([this.hot.events.map(({ event, unit }) => [event, unit]), formulas]);
    if (key === this.columnsKey || this.hot.events.length === 0) return;
    const isFirst = this.columnsKey === '';
    this.columnsKey = key;
    this.root.style.setProperty('--least', `${LEAST_NAMES + LEAST_COLUMN * (this.names.length + formulas.length)}px`);
    const columns = [...this.placeColumns(), ...this.hot.events.map((event, i) => this.eventColumn(event, i)),
      ...formulas.map((text) => this.formulas.column<HotLine>(text, (line) => countedAt(line, this.names, this.seconds)))];
    if (isFirst) this.table.setColumns(columns, this.names[0]);
    else this.table.setColumns(columns);
  }

  private placeColumns(): Column<HotLine>[] {
    return [
      longWords<HotLine>('Function', 'minmax(140px, 1.2fr)', ({ site }) => site?.function || site?.name || 'an unknown place'),
      words<HotLine>('Line', 'minmax(150px, 1fr)', ({ site }) => (site ? fileText(site) : ''), 'A click on a row shows the source'),
      longWords<HotLine>('Module', 'minmax(80px, 0.7fr)', ({ site }) => site?.module.slice(site.module.lastIndexOf('/') + 1) ?? ''),
    ];
  }

  private eventColumn({ event, unit }: LineEvent, at: number): Column<HotLine> {
    // Newer versions of the document have the same events.
    const now = (): LineEvent => this.hot.events[at];
    return {
      title: event, numeric: true, width: 'minmax(136px, 1fr)', rank: ({ counts }) => counts[at],
      hint: `${event}: at this line of the program, with what it called; estimated from samples`,
      ...(unit === '' ? {} : { unit }),
      show: ({ counts }, cell) => {
        const [bar, value, share] = partsOf(cell, 'i', 'b', 'small');
        const part = now().count > 0 ? counts[at] / now().count : 0;
        cell.classList.add('share-cell');
        bar.style.width = `${Math.min(100, part * 100).toFixed(1)}%`;
        [value.textContent, share.textContent] = counts[at] > 0 ? [lineAmount(now(), counts[at]), ` ${formatShare(part)}`] : ['–', ''];
        return null;
      },
    };
  }

  private showRows(): void {
    const isEmpty = this.hot.events.length === 0;
    for (const part of [this.body, this.formulas.root]) part.hidden = isEmpty;
    this.none.hidden = !isEmpty;
    const { words: wanted } = this.search;
    const textOf = ({ site }: HotLine): string => (site ? `${site.function} ${site.name} ${site.file} ${site.module}` : 'an unknown place').toLowerCase();
    this.table.setRows(this.hot.lines.filter((line) => wanted.every((word) => textOf(line).includes(word))));
  }
}

export const PANE: OwnPane = { tab: ['hot-lines', 'Hot lines', 'Lines of the program by CPU time and by sampled events'], make: (host) => new HotLinesPane(host) };
