// Regions that the program marked (include/attune): how often and how long, and what was counted round them (include/attune/counters.h).

import { el } from '../app/dom';
import { Search } from '../app/widgets';
import { formatCount, formatDuration, formatValue } from '../charts/format';
import { FormulaBar, formulaText } from '../counters/formula_bar';
import { CALLS, columnsOf, countedOf, type Region, type RegionColumns } from '../counters/regions';
import { count, figure, longWords, share, time } from '../panels/columns';
import { Table, type Column } from '../panels/table';
import { uses } from '../session/documents';
import type { OwnPane, Pane, PaneHost } from '../waits/workspaces';
import './counters.css';

/** Pixels of the columns that all regions have, and of each other one, with what is between them. */
const LEAST_TIMES = 820;
const LEAST_COLUMN = 130;
const HOW_TO: [string, string][] = [['To mark a region, by attune/probe.h:', 'ATTUNE_REGION("compress");'], ['To count events in it, by attune/counters.h:', 'attune_counters_begin(counters, region);']];

class RegionsPane implements Pane {
  readonly root: HTMLElement;
  readonly documents = [uses('regions', ({ regions, regions_in_all }) => this.show(regions, regions_in_all))];
  private readonly summary = el('span', { className: 'waits-summary' });
  private readonly search = new Search('Filter: region', 'Filter regions', () => this.showRows());
  private readonly table = new Table<Region>('No region has all of these words.', null);
  private readonly none = el('div', { className: 'counters-none' }, el('p', {}, 'Being computed …'));
  private readonly bar: HTMLElement;
  private readonly body: HTMLElement;
  private readonly formulas: FormulaBar;
  private regions: Region[] = [];
  private columns: RegionColumns = { events: [], metrics: [] };
  private names: string[] = [];
  private columnsKey = '';

  constructor(host: PaneHost) {
    this.table.root.setAttribute('aria-label', 'Regions');
    this.bar = el('div', { className: 'waits-bar' }, this.summary, el('span', { className: 'grow' }), this.search.root);
    this.body = el('div', { className: 'counters-body' }, el('div', { className: 'counters-main' }, this.table.root));
    this.formulas = new FormulaBar('region-preview', `page-faults / ${CALLS}`, {
      chosen: () => host.chosen(),
      choose: (formulas) => host.choose(formulas),
      whole: () => (this.regions.length > 0 ? { about: this.regions[0].name, counted: countedOf(this.regions[0], this.names) } : null),
      onColumns: (added) => {
        this.showColumns();
        this.showRows();
        if (added) this.table.root.scrollLeft = this.table.root.scrollWidth;
      },
    });
    this.root = el('div', { className: 'counters regions-pane' }, this.bar, this.formulas.root, this.none, this.body);
    this.restore();
  }

  restore(): void {
    this.formulas.restore();
  }

  refresh(): void {
    this.table.refresh();
  }

  private show(regions: Region[], inAll: number): void {
    this.regions = regions;
    this.columns = columnsOf(regions);
    const names = [...this.columns.events.map(({ name }) => name), CALLS];
    if (names.join('\n') !== this.names.join('\n')) this.names = names;
    const calls = regions.reduce((sum, region) => sum + region.count, 0);
    this.summary.textContent = `${formatCount(inAll)} ${inAll === 1 ? 'region' : 'regions'}${regions.length < inAll ? `, the ${regions.length} with most time of their own` : ''}, ${formatCount(calls)} calls`;
    if (regions.length === 0) {
      this.none.replaceChildren(el('h2', {}, 'The program has marked no regions'), ...HOW_TO.map(([what, line]) => el('p', {}, el('span', {}, what), el('code', {}, line))));
    }
    this.showColumns();
    this.formulas.showPreview();
    this.showRows();
  }

  private showColumns(): void {
    const key = JSON.stringify([this.columns, this.formulas.formulas]);
    if (key === this.columnsKey || this.regions.length === 0) return;
    const isFirst = this.columnsKey === '';
    this.columnsKey = key;
    const { events, metrics } = this.columns;
    const { formulas } = this.formulas;
    this.root.style.setProperty('--least', `${LEAST_TIMES + LEAST_COLUMN * (events.length + metrics.length + formulas.length)}px`);
    const columns = [...this.timeColumns(), ...events.map((event) => this.eventColumn(event)), ...metrics.map((metric) => this.metricColumn(metric)),
      ...formulas.map((text) => this.formulas.column<Region>(text, (region) => countedOf(region, this.names)))];
    if (isFirst) this.table.setColumns(columns, 'Own time');
    else this.table.setColumns(columns);
  }

  private timeColumns(): Column<Region>[] {
    const whole = (): number => Math.max(1, this.regions.reduce((sum, region) => sum + region.self_ns, 0));
    return [
      longWords<Region>('Region', 'minmax(150px, 1.4fr)', ({ name }) => name),
      count('Calls', 'Begins that have their end, of all threads', (region) => region.count, '76px'),
      time('Own time', 'Without the regions inside, of all threads', (region) => region.self_ns),
      share('Share', 'Of the own time of all regions', (region) => region.self_ns / whole(), '92px'),
      time('Time', 'With the regions inside, of all threads', (region) => region.total_ns),
      time('Mean', 'Of a call', (region) => region.mean_ns),
      time('p99', '99 % of the calls took no longer', (region) => region.p99_ns),
      time('Longest', 'The longest call', (region) => region.max_ns),
      count('Threads', 'That had it', (region) => region.threads, '72px'),
    ];
  }

  private eventColumn({ name, unit }: RegionColumns['events'][number]): Column<Region> {
    const of = (region: Region): number => region.counts.find(({ event }) => event === name)?.total ?? NaN;
    const text = unit === 'ns' ? formatDuration : (value: number): string => formatCount(Math.round(value));
    return { ...figure<Region>(name, `${name}: in all calls, with the regions inside`, 'minmax(116px, 1fr)', of, text), ...(unit === '' ? {} : { unit }) };
  }

  private metricColumn({ name, unit }: RegionColumns['metrics'][number]): Column<Region> {
    const of = (region: Region): number => region.metrics.find(({ metric }) => metric === name)?.value ?? NaN;
    const text = unit === '' ? formulaText : (value: number): string => formatValue(value, { unit, factor: 1, prefixes: 'none' });
    return { ...figure<Region>(name, `${name}, of a group of events`, 'minmax(116px, 1fr)', of, text), ...(unit === '' ? {} : { unit }) };
  }

  private showRows(): void {
    const isEmpty = this.regions.length === 0;
    for (const part of [this.bar, this.body, this.formulas.root]) part.hidden = isEmpty;
    this.none.hidden = !isEmpty;
    const { words } = this.search;
    this.table.setRows(this.regions.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word))));
  }
}

export const PANE: OwnPane = { tab: ['regions', 'Regions', 'Parts of the program that it marked, and what was counted in them'], make: (host) => new RegionsPane(host) };
