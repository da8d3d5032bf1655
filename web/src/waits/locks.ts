// What was waited for: locks first, with the places that asked for them and those that had them meanwhile.

import { button, el } from '../app/dom';
import { Search, Segments } from '../app/widgets';
import { formatCount, formatDuration } from '../charts/format';
import { count, figure, formatShare, partsOf, share } from '../panels/columns';
import { Table, type Column } from '../panels/table';
import { uses } from '../session/documents';
import { placeText, type Place, type WaitObject, type WaitPlace, type Waits } from './documents';
import { stateOf, STATES } from './states';

export interface LocksHost {
  onSource(place: Place): void;
  onObject(object: number): void;
}

type Group = 'locks' | 'others';
const GROUPS: [Group, string][] = [['locks', 'Locks'], ['others', 'Conditions, barriers, …']];

export class Locks {
  readonly root: HTMLElement;
  readonly documents = [uses('waits', ({ waits }) => this.show(waits))];
  private readonly table: Table<WaitObject>;
  private readonly summary = el('span', { className: 'waits-summary' });
  private readonly search = new Search('Filter: lock, place', 'Filter locks', () => this.showRows());
  private readonly segments = new Segments(GROUPS, (group) => this.showGroup(group));
  private readonly details = el('div', { className: 'lock-details' });
  private group: Group = 'locks';
  private selected = 0;
  private waits: Waits['waits'] | null = null;
  private drawn = '';

  constructor(private readonly host: LocksHost) {
    this.table = new Table<WaitObject>('Nothing was waited for.', (object) => this.select(object.object));
    this.table.setColumns(this.columns());
    this.root = el('div', { className: 'locks' },
      el('div', { className: 'waits-bar' }, this.segments.root, this.summary, el('span', { className: 'grow' }), this.search.root),
      this.table.root, this.details);
    this.showGroup('locks');
  }

  show(waits: Waits['waits']): void {
    this.waits = waits;
    this.showRows();
  }

  /** @return whether it is there */
  select(object: number): boolean {
    const group = GROUPS.map(([name]) => name).find((name) => this.waits?.[name].some((row) => row.object === object));
    if (!group) return false;
    this.selected = object;
    if (group !== this.group) this.showGroup(group);
    this.showRows();
    return true;
  }

  /** The size, or the theme. */
  refresh(): void {
    this.table.refresh();
  }

  private showGroup(group: Group): void {
    this.group = group;
    this.segments.show(group);
    this.showRows();
  }

  private showRows(): void {
    const { waits } = this;
    const { words } = this.search;
    const all = waits?.[this.group] ?? [];
    const rows = all.filter((row) => words.every((word) => textOf(row).includes(word)));
    if (waits) {
      const count = waits[`${this.group}_in_all`];
      this.summary.textContent = `${formatDuration(waits.wait_ns)} waited in all, of ${formatDuration(waits.thread_ns)} of all threads${count > all.length ? ` · the ${all.length} with most of ${count}` : ''}`;
    }
    this.table.setRows(rows);
    const shown = rows.find((row) => row.object === this.selected) ?? rows[0];
    this.selected = shown?.object ?? 0;
    this.table.refresh();
    this.showDetails(shown);
  }

  private showDetails(object: WaitObject | undefined): void {
    const drawn = JSON.stringify(object ?? null);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    this.details.hidden = object === undefined;
    if (!object) return;
    this.details.replaceChildren(
      el('header', {}, el('h3', {}, object.name), el('small', {}, `${formatDuration(object.wait_ns)} waited by ${object.threads} ${object.threads === 1 ? 'thread' : 'threads'}`), button('finding-action', 'In the graph', () => this.host.onObject(object.object))),
      el('div', { className: 'lock-columns' }, this.places('Waited at', object.sites, object.wait_ns),
        this.places(object.kind === 'condition' || object.kind === 'semaphore' ? 'Woken by' : 'Had meanwhile by', object.holders, object.wait_ns, 'Who had it is recorded from --level blame on.')));
  }

  private places(title: string, places: WaitPlace[], whole: number, nothing = ''): HTMLElement {
    const rows = places.map((place) => {
      const share = whole > 0 ? place.wait_ns / whole : 0;
      const bar = el('i', {});
      bar.style.width = `${(share * 100).toFixed(1)}%`;
      const row = el('button', { className: 'place-row', type: 'button', title: place.file || place.name },
        el('span', { className: 'place-share' }, bar, el('b', {}, formatShare(share))), el('span', { className: 'place-name' }, placeText(place)),
        el('small', {}, `${place.kind ?? ''} ${formatDuration(place.wait_ns)}, ${formatCount(place.waits)} waits, ${place.threads} ${place.threads === 1 ? 'thread' : 'threads'}`.trim()));
      row.addEventListener('click', () => this.host.onSource(place));
      return row;
    });
    return el('section', {}, el('h4', {}, title), ...(rows.length > 0 ? rows : [el('p', { className: 'empty' }, nothing)]));
  }

  private columns(): Column<WaitObject>[] {
    const time = (title: string, hint: string, of: (row: WaitObject) => number): Column<WaitObject> => figure(title, hint, '88px', of, (ns) => (ns > 0 ? formatDuration(ns) : '–'));
    return [
      {
        title: 'What', numeric: false, width: 'minmax(170px, 1.1fr)', rank: (row) => row.name,
        show: (row, cell) => {
          cell.parentElement?.classList.toggle('current', row.object === this.selected);
          const [sign, name] = partsOf(cell, 'i', 'span');
          sign.className = 'state-dot';
          sign.style.background = `var(${STATES[stateOf(row.kind)].color})`;
          name.textContent = row.name;
          cell.title = `${row.name}, process ${row.pid ?? '?'}`;
          return null;
        },
      },
      time('Waited', 'Of all threads together, between asking for it and getting it', (row) => row.wait_ns),
      share('Share', 'Of all threads’ time', (row) => row.share, '104px'),
      count('Waits', 'Calls that had to wait', (row) => row.waits),
      figure('Contended', 'Part of all calls that had to wait', '84px', (row) => row.contended, formatShare),
      count('Acquired', 'How often it was acquired', (row) => row.count),
      time('Held', 'How long it was held in all, estimated from one acquisition in 64', (row) => row.hold_ns ?? 0),
      count('Threads', 'That used it', (row) => row.threads),
      { title: 'Where', hint: 'The place with most waiting', numeric: false, width: 'minmax(150px, 1.6fr)', rank: (row) => placeText(row.sites[0] ?? null), show: (row, cell) => (cell.title = row.sites.map(placeText).join('\n'), placeText(row.sites[0] ?? null)) },
    ];
  }
}

function textOf(row: WaitObject): string {
  return `${row.name} ${row.kind} ${row.pid ?? ''} ${[...row.sites, ...row.holders].map(placeText).join(' ')}`.toLowerCase();
}
