// Ranks, collective operations and message sizes, as tables and bars.

import { el } from '../app/dom';
import { csvOf, saveText } from '../app/save';
import { saveChoice } from '../app/widgets';
import { formatBytes, formatCount } from '../charts/format';
import { bytes, count, figure, formatShare, longWords, share, time, words } from '../panels/columns';
import { Table } from '../panels/table';
import type { Collective, Messages, Rank, SizeClass } from './documents';

export interface RanksHost {
  /** When it waited. */
  onRanks(ranks: number[]): void;
}

export function waitedOf(rank: Rank): number {
  return rank.sent.waited_ns + rank.received.waited_ns + rank.collective_waited_ns;
}

/** How well the job uses its ranks, as POP has it. */
function efficiencyTiles({ efficiency, ranks }: Messages): HTMLElement[] {
  const lives = ranks.filter((rank) => rank.life_ns !== null);
  const life = lives.reduce((sum, rank) => sum + (rank.life_ns ?? 0), 0);
  const ofLife = (ns: number): string => (life > 0 ? formatShare(ns / life) : '–');
  const tile = (name: string, value: string, hint: string): HTMLElement => el('div', { className: 'tile', title: hint }, el('b', {}, value), el('small', {}, name));
  return [
    tile('parallel efficiency', efficiency ? formatShare(efficiency.parallel) : '–', 'Load balance × communication: the part of all ranks’ time that is useful'),
    tile('load balance', efficiency ? formatShare(efficiency.load_balance) : '–', 'Useful on average, of the most useful of any rank'),
    tile('communication', efficiency ? formatShare(efficiency.communication) : '–', 'The most useful of any rank, of the longest life'),
    tile('in MPI', ofLife(lives.reduce((sum, rank) => sum + rank.mpi_ns, 0)), 'Of the time of all ranks, in functions of MPI'),
    tile('waited', ofLife(lives.reduce((sum, rank) => sum + waitedOf(rank), 0)), 'Of the time of all ranks, for others to come'),
  ];
}

/** Whether there is a job of MPI: else processes exchange messages through pipes, sockets and the like. */
export function hasRanks({ ranks }: Pick<Messages, 'ranks'>): boolean {
  return ranks.some((rank) => rank.rank !== null);
}

/** A pipe has no messages: calls write to it and read from it, as many as they like. */
const PROCESS_COLUMNS = [
  { title: 'Process', numeric: false, width: 'minmax(130px, 1.4fr)', rank: (rank: Rank) => rank.pid ?? NaN, show: (rank: Rank) => rank.name },
  figure<Rank>('CPU', 'On which it was most often', '50px', (rank) => rank.cpu),
  time<Rank>('Waited', 'For others to come', waitedOf),
  share<Rank>('Of life', 'What it waited', (rank) => (rank.life_ns ? waitedOf(rank) / rank.life_ns : NaN)),
  count<Rank>('Writes', 'Calls', (rank) => rank.sent.count, '70px'), bytes<Rank>('Written', 'Bytes', (rank) => rank.sent.bytes), time<Rank>('W waited', 'In writing, for room', (rank) => rank.sent.waited_ns),
  count<Rank>('Reads', 'Calls', (rank) => rank.received.count, '74px'), bytes<Rank>('Read', 'Bytes', (rank) => rank.received.bytes), time<Rank>('R waited', 'In reading, for data', (rank) => rank.received.waited_ns),
];

export class RankTable {
  readonly root: HTMLElement;
  private readonly tiles = el('div', { className: 'tiles' });
  private readonly table: Table<Rank>;
  private isOfRanks: boolean | null = null;

  constructor(host: RanksHost) {
    this.table = new Table<Rank>('No rank was seen.', (rank) => host.onRanks([rank.id]));
    this.root = el('div', { className: 'rank-table' }, this.tiles, this.table.root);
  }

  private setColumns(isOfRanks: boolean): void {
    if (isOfRanks === this.isOfRanks) return;
    this.isOfRanks = isOfRanks;
    this.root.classList.toggle('of-processes', !isOfRanks);
    this.table.setColumns(isOfRanks ? [
      { title: 'Rank', numeric: false, width: 'minmax(90px, 1fr)', rank: (rank) => rank.rank ?? NaN, show: (rank) => rank.name },
      figure('Process', 'Process', '70px', (rank) => rank.pid),
      figure('CPU', 'On which it was most often', '50px', (rank) => rank.cpu),
      time('In MPI', 'In all functions of MPI', (rank) => rank.mpi_ns),
      share('Share', 'Of its life', (rank) => (rank.life_ns ? rank.mpi_ns / rank.life_ns : NaN)),
      time('Waited', 'Of it, for others to come', waitedOf),
      share('Of life', 'What it waited', (rank) => (rank.life_ns ? waitedOf(rank) / rank.life_ns : NaN)),
      count('Calls', 'Of functions of MPI', (rank) => rank.calls),
      count('Sent', 'Messages', (rank) => rank.sent.count, '70px'), bytes('Bytes sent', 'In messages', (rank) => rank.sent.bytes), time('S waited', 'In sending, for receivers', (rank) => rank.sent.waited_ns),
      count('Received', 'Messages', (rank) => rank.received.count, '74px'), bytes('Bytes got', 'In messages', (rank) => rank.received.bytes), time('R waited', 'In receiving, for senders', (rank) => rank.received.waited_ns),
      count('Collectives', 'Operations that it took part in', (rank) => rank.collectives), time('In them', 'In collective operations', (rank) => rank.collective_ns), time('C waited', 'Of it, for others to come', (rank) => rank.collective_waited_ns),
    ] : PROCESS_COLUMNS);
  }

  show(messages: Messages): void {
    this.setColumns(hasRanks(messages));
    this.tiles.replaceChildren(...(hasRanks(messages) ? efficiencyTiles(messages) : []));
    this.table.setRows(messages.ranks);
  }
}

export class CollectiveTable {
  readonly root: HTMLElement;
  private readonly table: Table<Collective>;

  constructor() {
    this.table = new Table<Collective>('No collective operation was seen.', null);
    this.table.setColumns([
      words('Operation', 'minmax(130px, 1fr)', (row) => row.function),
      longWords('Communicator', 'minmax(140px, 1.2fr)', (row) => row.name),
      count('Operations', 'Of all its ranks together', (row) => row.operations), count('Parts', 'Of single ranks', (row) => row.parts),
      bytes('Given', 'By all ranks', (row) => row.bytes_sent), bytes('Got', 'By all ranks', (row) => row.bytes_received),
      time('Time', 'Of all ranks in it', (row) => row.time_ns), time('Waited', 'Of it, for others to come', (row) => row.waited_ns),
      share('Waiting', 'Of the time in it', (row) => (row.time_ns > 0 ? row.waited_ns / row.time_ns : NaN)),
      time('A part', 'On average', (row) => (row.parts > 0 ? row.time_ns / row.parts : 0)),
    ]);
    this.root = el('div', { className: 'collective-table' }, this.table.root);
  }

  show({ collectives }: Messages): void {
    this.table.setRows(collectives);
  }
}

/** "4 – 7 B", "1 KiB – 2 KiB". */
export function sizeText({ low_bytes: low, high_bytes: high }: SizeClass): string {
  return low >= high ? formatBytes(low) : `${formatBytes(low)} – ${high < 1024 ? formatBytes(high) : formatBytes(high + 1)}`;
}

export class SizeHistogram {
  readonly root = el('div', { className: 'sizes' });
  private sizes: SizeClass[] = [];
  private readonly saving = saveChoice('Save the table', ['CSV'], () => this.save());

  show(messages: Messages): void {
    const { sizes } = messages;
    this.sizes = sizes;
    const mostCount = Math.max(1, ...sizes.map((size) => size.count));
    const mostBytes = Math.max(1, ...sizes.map((size) => size.bytes));
    const bar = (value: number, most: number, text: string): HTMLElement => {
      const fill = el('i', {});
      fill.style.width = `${((value / most) * 100).toFixed(1)}%`;
      return el('span', { className: 'size-bar', role: 'cell' }, fill, el('b', {}, text));
    };
    const row = (size: SizeClass): HTMLElement => el('div', { className: 'size-row', role: 'row' }, el('span', { role: 'rowheader' }, sizeText(size)), bar(size.count, mostCount, formatCount(size.count)), bar(size.bytes, mostBytes, formatBytes(size.bytes)));
    const head = el('div', { className: 'size-row head', role: 'row' }, ...['Size', hasRanks(messages) ? 'Messages' : 'Writes', 'Data in all'].map((title) => el('span', { role: 'columnheader' }, title)));
    this.root.replaceChildren(el('div', { 'role': 'table', 'aria-label': 'Messages by their size' }, head, ...sizes.map(row)), sizes.length === 0 ? el('p', { className: 'empty' }, 'Nothing was sent.') : this.saving);
  }

  private save(): void {
    saveText('sizes.csv', 'text/csv', csvOf([['From (B)', 'To (B)', 'Messages', 'Data in all (B)'], ...this.sizes.map((size) => [size.low_bytes, size.high_bytes, size.count, size.bytes])]));
  }
}
