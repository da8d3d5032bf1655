// Events that were counted of each thread (attune run --count), formulas over them, and the virtual counters of modules.

import { button, el } from '../app/dom';
import { Search, Segments } from '../app/widgets';
import { displayOf, formatCount, formatDuration, formatValue, shortCommand } from '../charts/format';
import { FormulaBar } from '../counters/formula_bar';
import { hasWords, inOrder, rowsOf, type Counted, type CountedEvent, type CounterRow, type Counters, type CountersBy } from '../counters/rows';
import { valuesIn, virtualCounters, type VirtualCounter, type VirtualValues } from '../counters/virtual';
import { figure, formatShare, longWords, partsOf, words } from '../panels/columns';
import { Table, type Column } from '../panels/table';
import { uses, type DocumentName } from '../session/documents';
import type { Series } from '../session/model';
import type { Range } from '../session/view';
import type { OwnPane, Pane, PaneHost } from '../waits/workspaces';
import './counters.css';

type Shown = 'count' | 'rate' | 'share';
type When = 'view' | 'all';

const BYS: [CountersBy, string, string][] = [
  ['thread', 'Threads', 'A row for each thread'],
  ['process', 'Processes', 'A row for each process, with its threads together'],
  ['cpu', 'CPUs', 'A row for each CPU, with what all threads counted on it'],
  ['core type', 'Core types', 'A row for each kind of cores, the most capable first'],
];
const NAME_TITLES: Record<CountersBy, string> = { 'thread': 'Thread', 'process': 'Process', 'cpu': 'CPU', 'core type': 'Core type' };
const SHOWN: [Shown, string, string][] = [['count', 'Counts', 'How often, or how long'], ['rate', 'A second', 'Divided by the length of the time that was counted'], ['share', 'Share', 'Of what all threads had']];
const WHENS: [When, string, string][] = [['view', 'Time in view', 'Only the time that was chosen on the timeline; while the view follows the newest data, all of it'], ['all', 'All the time', 'The whole session']];
const HOW_TO_COUNT = 'attune run --count task-clock,page-faults -- PROGRAM';
const HOW_TO_MODULE = 'attune run --count task-clock,page-faults --module speedup -- PROGRAM';
/** Values of these series at most are asked for. */
const MAX_SERIES = 512;
/** More lines in a chart cannot be told apart. */
const MAX_LINES = 64;
/** Means go over all points: often enough for the eye. */
const REFRESH_MS = 400;
/** Pixels of the columns with names and ids, and of each other one, with what is between them. */
const LEAST_NAMES = 470;
const LEAST_COLUMN = 130;

interface VirtualRow extends VirtualValues {
  counter: VirtualCounter;
}

/** The unit stands beside the name. */
function virtualText(series: Series, value: number): string {
  return formatValue(value, { ...displayOf(series), unit: '' });
}

const isTime = (event: CountedEvent): boolean => event.unit === 'ns';

function amountText(event: CountedEvent, count: number): string {
  return isTime(event) ? formatDuration(count) : formatCount(Math.round(count));
}

/** "1.97 CPUs", "2.1k /s" */
function rateText(event: CountedEvent, rate: number): string {
  return isTime(event) ? formatValue(rate, { unit: 'CPUs', factor: 1, prefixes: 'none' }) : formatValue(rate, { unit: '/s', factor: 1, prefixes: 'decimal' });
}

/** @param counters null: not known yet */
function hasRowsBy(counters: Counters | null, by: CountersBy): boolean {
  if (by === 'cpu') return counters !== null && counters.cpus.length > 0;
  return by !== 'core type' || (counters !== null && counters.core_types.length > 0);
}

function rateOf(event: CountedEvent, count: number, timeNs: number): number {
  if (timeNs <= 0) return NaN;
  return isTime(event) ? count / timeNs : (count * 1e9) / timeNs;
}

class CountersPane implements Pane {
  readonly root: HTMLElement;
  readonly documents = [uses('counters', (counters, range) => this.show(counters, range))];
  private readonly cards = el('div', { className: 'counter-cards', role: 'group', 'aria-label': 'Events' });
  private readonly summary = el('span', { className: 'waits-summary' });
  private readonly search = new Search('Filter: thread, process, id', 'Filter threads', () => this.showRows());
  private readonly table: Table<CounterRow>;
  private readonly virtuals: Table<VirtualRow>;
  private readonly aside: HTMLElement;
  private readonly asideOf = el('small', {});
  private readonly none = el('div', { className: 'counters-none', hidden: true });
  private readonly status = el('p', { className: 'counters-status', 'aria-live': 'polite' });
  private readonly formulas = new FormulaBar('counter-preview', 'page-faults / task-clock * 1e6', {
    chosen: () => this.host.chosen(),
    choose: (formulas) => this.host.choose(formulas),
    whole: () => this.counters && { about: 'all threads', counted: this.countedOf(this.counters.events.map(({ count }) => count), this.counters.time_ns) },
    onColumns: (added) => {
      this.showAll();
      if (added) this.table.root.scrollLeft = this.table.root.scrollWidth;
    },
  });
  private readonly bar: HTMLElement;
  private readonly body: HTMLElement;
  private readonly bys = new Segments(BYS, (by) => {
    this.by = by;
    this.selected = '';
    this.showAll();
  });
  private readonly shownAs = new Segments(SHOWN, (shown) => {
    this.shown = shown;
    this.showAll();
  });
  private readonly whens = new Segments(WHENS, (when) => {
    this.when = when;
    this.whens.show(when);
  });
  private by: CountersBy = 'thread';
  private shown: Shown = 'count';
  private when: When = 'view';
  private counters: Counters | null = null;
  /** That the counts are of; null: all the time. */
  private range: Range | null = null;
  /** All that were seen in this session, in the order of the columns. */
  private events: CountedEvent[] = [];
  private eventsOf = '';
  private names: string[] = [];
  private rows: CounterRow[] = [];
  private selected = '';
  private columnsKey = '';
  private known: VirtualCounter[] = [];
  private knownOf = '';
  private refreshed = -Infinity;
  private timer = 0;

  constructor(private readonly host: PaneHost) {
    this.table = new Table<CounterRow>('No row has all of these words.', (row) => this.select(row.key === this.selected ? '' : row.key));
    this.table.root.setAttribute('aria-label', 'Counters');
    this.virtuals = new Table<VirtualRow>('No module has given a value yet.', ({ counter }) => this.openCharts(counter));
    this.virtuals.root.setAttribute('aria-label', 'Virtual counters');
    this.virtuals.setColumns(this.virtualColumns(), null, [words('Module', '', ({ counter }) => counter.sensor), words('Unit', '', ({ counter }) => displayOf(counter.series[0]).unit)]);
    this.aside = el('section', { className: 'counters-aside', 'aria-label': 'Virtual counters of modules', hidden: true },
      el('header', {}, el('h3', {}, 'Virtual counters'), this.asideOf), this.virtuals.root);
    this.body = el('div', { className: 'counters-body' },
      el('div', { className: 'counters-main' }, this.table.root, this.status), this.aside);
    this.bar = el('div', { className: 'waits-bar' }, this.bys.root, this.shownAs.root, this.whens.root, this.summary, el('span', { className: 'grow' }), this.search.root);
    this.root = el('div', { className: 'counters threads-pane' }, this.bar, this.cards, this.formulas.root, this.none, this.body);
    this.showBys();
    this.shownAs.show(this.shown);
    this.whens.show(this.when);
    this.showNone('Being computed …');
    this.restore();
  }

  restore(): void {
    this.formulas.restore();
  }

  followsView(): DocumentName | null {
    return this.when === 'all' || this.host.model.exported ? null : 'counters';
  }

  refresh(): void {
    this.showVirtuals();
    this.table.refresh();
    this.virtuals.refresh();
  }

  moved(): void {
    const wait = this.refreshed + REFRESH_MS - performance.now();
    window.clearTimeout(this.timer);
    // Nothing may call again where nothing moves any more.
    if (wait > 0) this.timer = window.setTimeout(() => this.showVirtuals(), wait);
    else this.showVirtuals();
  }

  escape(): boolean {
    if (this.selected === '') return false;
    this.select('');
    return true;
  }

  wanted(): number[] {
    const counters = this.shownVirtuals();
    const each = Math.max(1, Math.floor(MAX_SERIES / Math.max(1, counters.length)));
    return counters.flatMap(({ series }) => series.slice(0, each).map(({ id }) => id)).slice(0, MAX_SERIES);
  }

  // ---- counts ---------------------------------------------------------------------------------------------------------

  private show(counters: Counters, range: Range | null): void {
    const { id } = this.host.model;
    if (id !== this.eventsOf) [this.events, this.eventsOf] = [[], id];
    this.counters = counters.events.length > 0 ? inOrder(counters, this.events) : counters;
    this.range = range;
    this.names = this.counters.events.map(({ event }) => event);
    this.showAll();
  }

  private countedOf(counts: number[], timeNs: number): Counted {
    return { events: this.names, counts, seconds: timeNs / 1e9 };
  }

  private showAll(): void {
    const { counters } = this;
    this.showBys();
    this.shownAs.show(this.shown);
    const { exported } = this.host.model;
    this.whens.buttons[0].disabled = exported;
    if (exported) this.whens.buttons[0].title = 'An exported page has the counts of all the time; attune view shows those of any part';
    this.whens.show(exported ? 'all' : this.when);
    if (!counters) return;
    this.rows = rowsOf(counters, this.rowsBy);
    const { events } = counters;
    const threads = `${formatCount(counters.threads_in_all)} ${counters.threads_in_all === 1 ? 'thread' : 'threads'}`;
    const some = counters.rest && this.isOfThreads ? ` · the ${counters.threads.length} with most ${events[0].event} have rows` : '';
    this.summary.textContent = events.length === 0 ? '' : `${threads}, ${formatDuration(counters.time_ns)}${this.range ? ' in view' : ''}${some}`;
    this.showCards(events, counters.time_ns);
    this.showColumns(events);
    this.formulas.showPreview();
    this.showVirtuals();
    this.showRows();
  }

  /** Rows that the recording lacks are no choice. A part of the time without counts changes nothing. */
  private showBys(): void {
    const { counters } = this;
    if (counters?.events.length !== 0) BYS.forEach(([by], i) => (this.bys.buttons[i].hidden = !hasRowsBy(counters, by)));
    this.bys.show(this.rowsBy);
  }

  private get rowsBy(): CountersBy {
    const { counters, by } = this;
    return counters?.events.length !== 0 && !hasRowsBy(counters, by) ? 'thread' : by;
  }

  private get isOfThreads(): boolean {
    return this.rowsBy === 'thread' || this.rowsBy === 'process';
  }

  /** Recordings that were merged have several. */
  private get hasHosts(): boolean {
    return new Set(this.counters?.cpus.map(({ host }) => host)).size > 1;
  }

  private showCards(events: CountedEvent[], timeNs: number): void {
    const known = [...this.cards.children] as HTMLElement[];
    if (known.map((card) => card.dataset['event']).join('\n') !== events.map(({ event }) => event).join('\n')) {
      this.cards.replaceChildren(...events.map(({ event }) => button('counter-card', null, () => this.formulas.insert(event), { 'data-event': event, 'title': `Insert ${event} in the formula` })));
    }
    this.cards.hidden = events.length === 0;
    events.forEach((event, i) => {
      const [name, amount, rate] = partsOf(this.cards.children[i] as HTMLElement, 'span', 'b', 'small');
      name.textContent = event.event;
      amount.textContent = amountText(event, event.count);
      rate.textContent = `${rateText(event, rateOf(event, event.count, timeNs))}${event.scaled ? ', estimated' : ''}`;
    });
  }

  private showColumns(events: CountedEvent[]): void {
    const key = JSON.stringify([events.map(({ event, unit }) => [event, unit]), this.rowsBy, this.hasHosts, this.shown, this.formulas.formulas]);
    // Without events there is no table.
    if (key === this.columnsKey || events.length === 0) return;
    const isFirst = this.columnsKey === '';
    this.columnsKey = key;
    const columns = [...this.nameColumns(), ...events.map((_, i) => this.eventColumn(i)), ...this.formulas.formulas.map((text) => this.formulas.column<CounterRow>(text, ({ counts }) => this.counters && this.countedOf(counts, this.counters.time_ns)))];
    this.root.style.setProperty('--least', `${LEAST_NAMES + LEAST_COLUMN * (events.length + this.formulas.formulas.length)}px`);
    if (isFirst) this.table.setColumns(columns, events[0].event);
    else this.table.setColumns(columns);
  }

  private nameColumns(): Column<CounterRow>[] {
    const id = (title: string, hint: string, of: (row: CounterRow) => number): Column<CounterRow> => figure(title, hint, '72px', of);
    const by = this.rowsBy;
    const rank = { 'thread': (row: CounterRow) => row.name, 'process': (row: CounterRow) => row.name, 'cpu': (row: CounterRow) => row.cpu, 'core type': (row: CounterRow) => row.coreType }[by];
    const name: Column<CounterRow> = {
      title: NAME_TITLES[by], numeric: false, width: 'minmax(130px, 1.2fr)', rank,
      show: (row, cell) => {
        cell.parentElement?.classList.toggle('current', row.key === this.selected);
        cell.classList.toggle('ended', row.isRest);
        cell.title = row.name;
        return by === 'process' ? shortCommand(row.name) : row.name;
      },
    };
    const coreType = id('Core type', 'Kind of its core: 0 is the most capable', (row) => row.coreType);
    if (by === 'cpu') return [name, ...(this.hasHosts ? [words<CounterRow>('Host', 'minmax(104px, 1fr)', (row) => row.host)] : []), ...(this.counters!.core_types.length > 0 ? [coreType] : [])];
    if (by === 'core type') return [name, id('CPUs', 'On which was counted', (row) => row.cpus)];
    if (by === 'process') return [name, id('PID', 'Of the process', (row) => row.pid), id('Threads', 'That were counted', (row) => row.threads)];
    return [name, id('TID', 'Of the thread', (row) => row.tid), { ...longWords<CounterRow>('Process', 'minmax(104px, 1fr)', (row) => row.process), show: (row, cell) => (cell.title = row.process, shortCommand(row.process)) }, id('PID', 'Of the process', (row) => row.pid)];
  }

  private eventColumn(at: number): Column<CounterRow> {
    const { counters, shown } = this;
    const { event, unit } = counters!.events[at];
    // Newer versions of the document have the same events.
    const now = (): CountedEvent => this.counters!.events[at];
    const shareOf = (row: CounterRow): number => (now().count > 0 ? row.counts[at] / now().count : NaN);
    const rate = (row: CounterRow): number => rateOf(now(), row.counts[at], this.counters!.time_ns);
    const rank = { count: (row: CounterRow) => row.counts[at], rate, share: shareOf }[shown];
    const text = { count: (value: number) => amountText(now(), value), rate: (value: number) => rateText(now(), value), share: formatShare }[shown];
    const unitText = { count: unit, rate: unit === 'ns' ? 'CPUs' : '/s', share: 'share' }[shown];
    return {
      title: event, numeric: true, width: 'minmax(116px, 1fr)', rank,
      hint: `${event}: ${SHOWN.find(([name]) => name === shown)![2].toLowerCase()}; the bar is the share of all threads`,
      ...(unitText === '' ? {} : { unit: unitText }),
      show: (row, cell) => {
        const [bar, value] = partsOf(cell, 'i', 'b');
        cell.classList.add('share-cell');
        bar.style.width = `${Math.min(100, (shareOf(row) || 0) * 100).toFixed(1)}%`;
        value.textContent = Number.isNaN(rank(row)) ? '–' : text(rank(row));
        return null;
      },
    };
  }

  private showRows(): void {
    const { counters } = this;
    if (!counters) return;
    const isEmpty = counters.events.length === 0;
    this.body.hidden = isEmpty && this.aside.hidden;
    this.body.classList.toggle('only-aside', isEmpty);
    this.formulas.root.hidden = isEmpty;
    // Another part of the time may have counts.
    this.bar.hidden = isEmpty && this.range === null;
    this.none.hidden = !isEmpty;
    if (isEmpty) this.showNone(this.range ? 'Nothing was counted in the time in view: the counts of a thread come once a second, and at its end.' : '');
    const found = this.rows.filter((row) => hasWords(row, this.search.words));
    if (!this.rows.some((row) => row.key === this.selected)) this.selected = '';
    this.table.setRows(found);
    this.showSelected();
  }

  /** @param text '': how counts are recorded */
  private showNone(text: string): void {
    this.none.hidden = false;
    if (text === '') {
      const command = (what: string, line: string): HTMLElement => el('p', {}, el('span', {}, what), el('code', {}, line));
      this.none.replaceChildren(el('h2', {}, 'No events of threads were counted'), command('To count events of each thread:', HOW_TO_COUNT), command('With the virtual counters of a module:', HOW_TO_MODULE));
    } else {
      this.none.replaceChildren(el('p', {}, text));
    }
  }

  // ---- one row --------------------------------------------------------------------------------------------------------

  private select(key: string): void {
    this.selected = key;
    this.showRows();
    this.showVirtuals();
    this.host.onSeries();
  }

  private get selectedRow(): CounterRow | undefined {
    return this.rows.find((row) => row.key === this.selected);
  }

  private showSelected(): void {
    const { counters, selectedRow: row } = this;
    this.status.hidden = !row || !counters;
    if (!row || !counters) return;
    const parts = counters.events.map((event, i) => {
      const count = row.counts[i];
      return `${event.event} ${amountText(event, count)}, ${rateText(event, rateOf(event, count, counters.time_ns))}, ${formatShare(event.count > 0 ? count / event.count : 0)}`;
    });
    this.status.replaceChildren(el('b', {}, [row.name, Number.isNaN(row.tid) ? '' : String(row.tid)].filter(Boolean).join(' ')), ` ${parts.join(' · ')}`);
  }

  // ---- virtual counters -----------------------------------------------------------------------------------------------

  /** Of the selected row, or of all. */
  private shownVirtuals(): VirtualCounter[] {
    const { model } = this.host;
    const of = `${model.id} ${model.series.size} ${model.intervals.size}`;
    if (of !== this.knownOf) [this.known, this.knownOf] = [virtualCounters(model), of];
    const elements = new Set(this.selectedRow?.elements ?? []);
    if (elements.size === 0) return this.known;
    return this.known.map((counter) => ({ ...counter, series: counter.series.filter(({ element }) => elements.has(element)) })).filter(({ series }) => series.length > 0);
  }

  private showVirtuals(): void {
    this.refreshed = performance.now();
    const { model } = this.host;
    const counters = this.shownVirtuals();
    const wasHidden = this.aside.hidden;
    this.aside.hidden = this.known.length === 0;
    if (wasHidden !== this.aside.hidden) {
      this.host.onSeries();
      this.showRows();
    }
    if (this.aside.hidden) return;
    const row = this.selectedRow;
    this.asideOf.textContent = row && row.elements.length > 0 ? `of ${row.name}` : 'of all';
    const range = this.host.range();
    this.virtuals.setRows(counters.map((counter) => ({ counter, ...valuesIn(model, counter, range) })));
  }

  private virtualColumns(): Column<VirtualRow>[] {
    const value = (title: string, hint: string, of: (row: VirtualRow) => number): Column<VirtualRow> => ({
      title, hint, numeric: true, width: '64px', rank: of, show: (row) => virtualText(row.counter.series[0], of(row)),
    });
    return [
      {
        title: 'Counter', hint: 'A click shows its chart', numeric: false, width: 'minmax(110px, 1fr)', rank: ({ counter }) => counter.signal,
        show: ({ counter }, cell) => {
          const [name, module] = partsOf(cell, 'span', 'small');
          const { unit } = displayOf(counter.series[0]);
          [name.textContent, module.textContent] = [counter.signal, unit];
          cell.title = `${counter.signal}${unit === '' ? '' : ` in ${unit}`}, of the module ${counter.sensor}: a click shows its chart`;
          return null;
        },
      },
      value('Last', 'The last values in view, their mean', (row) => row.last),
      value('Mean', 'Of all values in view', (row) => row.mean),
      figure('Of', 'Threads, processes or machines that have it', '40px', ({ counter }) => counter.series.length, formatCount),
    ];
  }

  private openCharts({ series }: VirtualCounter): void {
    this.host.showSeries(series.slice(0, MAX_LINES).map(({ id }) => id));
  }
}

export const PANE: OwnPane = { tab: ['counters', 'Counters', 'Events of each thread, and what is computed of them'], make: (host) => new CountersPane(host) };
