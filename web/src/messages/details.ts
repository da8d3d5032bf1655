// The figures of RTM's task graph for what is chosen: pairs of ranks, and the places in the code where they send and receive.

import { button, el } from '../app/dom';
import { Segments } from '../app/widgets';
import { formatBytes, formatCount } from '../charts/format';
import { bytes, count, figure, time, words } from '../panels/columns';
import { Table, type Column } from '../panels/table';
import { fileText, placeText, type Place } from '../waits/documents';
import type { Link, Pair, Side } from './documents';
import { chosenOf, placeOfLink, sameChoice, type Choice, type Filtered, type Ranks } from './model';

export interface DetailsHost {
  onSource(place: Place): void;
  onChoice(choice: Choice): void;
  /** When these ranks waited. */
  onRanks(ranks: number[]): void;
}

const rate = (value: number): string => `${formatBytes(value)}/s`;
const cycles = (value: number): string => (value >= 1e6 ? `${(value / 1e6).toPrecision(4)} M` : formatCount(Math.round(value)));

/** The figures of a side, of rows that have one. */
function sideColumns<Row>(side: (row: Row) => Side, of: string): Column<Row>[] {
  const who = of === '' ? '' : `${of} `;
  const title = (text: string): string => (of === '' ? text.charAt(0).toUpperCase() + text.slice(1) : `${of === 'sender' ? 'S' : 'R'} ${text}`);
  return [
    time(title('time'), `${who}In calls that may have blocked`, (row) => side(row).time_ns, '70px'),
    time(title('waited'), `${who}Of it, for the other side to come`, (row) => side(row).waited_ns, '70px'),
    figure(title('cycles'), `${who}Cycles of the time stamp counter`, '72px', (row) => side(row).cycles, cycles),
    figure(title('cyc/word'), `${who}Cycles by words of 4 bytes`, '72px', (row) => side(row).cycles_per_word, (value) => value.toPrecision(3).replace(/e\+?(\d+)/, 'e$1')),
    figure(title('bandwidth'), `${who}Bytes a second of the time less the waiting`, '84px', (row) => side(row).bandwidth, rate),
  ];
}

export class Details {
  readonly root: HTMLElement;
  private readonly heading = el('span', { className: 'message-heading', role: 'status' });
  private readonly all: HTMLButtonElement;
  private readonly when: HTMLButtonElement;
  private readonly segments = new Segments<'pairs' | 'links'>([['pairs', ''], ['links', '']], (which) => {
    this.shown = which;
    this.showTables();
  });
  private readonly pairs: Table<Pair>;
  private readonly links: Table<Link>;
  private shown: 'pairs' | 'links' = 'pairs';
  private ranks: Ranks | null = null;
  private choice: Choice = null;

  constructor(host: DetailsHost) {
    this.pairs = new Table<Pair>('Nothing was sent.', (pair) => host.onChoice({ source: pair.source, destination: pair.destination }));
    this.links = new Table<Link>('No places.', (link) => host.onSource(placeOfLink(link)));
    this.pairs.setColumns(this.pairColumns());
    this.links.setColumns(this.linkColumns());
    this.all = button('finding-action', 'All', () => host.onChoice(null), { hidden: true });
    this.when = button('finding-action', 'When they waited', () => host.onRanks(this.chosenRanks()), { hidden: true });
    this.root = el('section', { className: 'message-details', 'aria-label': 'Figures of what is chosen' },
      el('div', { className: 'waits-bar graph-rows' }, this.segments.root, this.heading, this.all, this.when), this.pairs.root, this.links.root);
  }

  show(rows: Filtered, choice: Choice, ranks: Ranks, left: { pairs: number; links: number }): void {
    // What was asked for by a click is where it is done.
    if (choice !== null && !('rank' in choice) && !sameChoice(choice, this.choice)) this.shown = 'links';
    this.choice = choice;
    this.ranks = ranks;
    const { pairs, links } = chosenOf(rows, choice);
    const more = (count: number, rest: number): string => `${formatCount(count)}${choice === null && rest > 0 ? ` of ${formatCount(count + rest)}` : ''}`;
    this.segments.buttons[0].textContent = `Pairs ${more(pairs.length, left.pairs)}`;
    this.segments.buttons[1].textContent = `Places in the code ${more(links.length, left.links)}`;
    this.heading.textContent = this.headingText(pairs);
    this.all.hidden = choice === null;
    this.when.hidden = choice === null;
    this.pairs.setRows(pairs);
    this.links.setRows(links);
    this.showTables();
  }

  refresh(): void {
    this.pairs.refresh();
    this.links.refresh();
  }

  private chosenRanks(): number[] {
    const { choice } = this;
    if (choice === null) return [];
    return 'rank' in choice ? [choice.rank] : [choice.source, choice.destination];
  }

  private headingText(pairs: Pair[]): string {
    const { choice, ranks } = this;
    if (choice === null || !ranks) return 'of all; a click on a rank or an edge chooses';
    if ('rank' in choice) {
      const sent = pairs.filter((pair) => pair.source === choice.rank);
      const bytes = (rows: Pair[]): string => formatBytes(rows.reduce((sum, pair) => sum + pair.bytes, 0));
      return `of ${ranks.nameOf(choice.rank)}: sends ${bytes(sent)}, receives ${bytes(pairs.filter((pair) => pair.destination === choice.rank))}`;
    }
    const pair = pairs[0];
    const names = `${ranks.nameOf(choice.source)} → ${ranks.nameOf(choice.destination)}`;
    return pair ? `of ${names}: ${formatCount(pair.count)} messages, ${formatBytes(pair.bytes)}, ${pair.distance === null ? 'distance not known' : pair.apart}` : `of ${names}: nothing was sent`;
  }

  private showTables(): void {
    this.segments.show(this.shown);
    this.pairs.root.hidden = this.shown !== 'pairs';
    this.links.root.hidden = this.shown !== 'links';
    this.refresh();
  }

  private nameOf(id: number): string {
    return this.ranks?.nameOf(id) ?? '';
  }

  private numberOf(id: number): number {
    return this.ranks?.get(id)?.rank ?? NaN;
  }

  private ends<Row extends { source: number; destination: number }>(): Column<Row>[] {
    return [
      { title: 'From', numeric: false, width: 'minmax(64px, 0.8fr)', rank: (row) => this.numberOf(row.source), show: (row) => this.nameOf(row.source) },
      { title: 'To', numeric: false, width: 'minmax(64px, 0.8fr)', rank: (row) => this.numberOf(row.destination), show: (row) => this.nameOf(row.destination) },
    ];
  }

  private amounts<Row extends { count: number; bytes: number }>(): Column<Row>[] {
    return [count('Messages', 'Messages', (row) => row.count, '70px'), bytes('Data', 'Data', (row) => row.bytes, '76px')];
  }

  private pairColumns(): Column<Pair>[] {
    return [
      ...this.ends<Pair>(), ...this.amounts<Pair>(),
      { title: 'Distance', hint: 'What the CPUs of both have in common, of most messages', numeric: false, width: 'minmax(88px, 0.8fr)', rank: (pair) => pair.distance ?? NaN, show: (pair) => pair.apart },
      ...sideColumns<Pair>((pair) => pair.sender, 'sender'), ...sideColumns<Pair>((pair) => pair.receiver, 'receiver'),
    ];
  }

  private linkColumns(): Column<Link>[] {
    return [
      ...this.ends<Link>(),
      words('Side', '66px', (link) => link.side),
      words('Call', 'minmax(90px, 0.8fr)', (link) => link.function),
      { title: 'Where', hint: 'A click shows the source', numeric: false, width: 'minmax(150px, 1.6fr)', rank: (link) => fileText(link) || link.site, show: (link, cell) => (cell.title = placeText(placeOfLink(link))) },
      ...this.amounts<Link>(), ...sideColumns<Link>((link) => link, ''),
    ];
  }
}
