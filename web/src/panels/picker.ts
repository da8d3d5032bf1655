// The list of everything that can be shown: sensors, their signals, and the elements that have them.

import { el, icon, ICONS } from '../app/dom';
import { byElement, elementOf } from '../charts/traces';
import { displayOf } from '../charts/format';
import type { SessionModel, Series } from '../session/model';

export interface PickerHost {
  model: SessionModel;
  selected: Set<number>;
  onSelect(): void;
}

/** Rows beyond this are reached by typing more letters: thousands of nodes would make the page slow. */
const MAX_ROWS = 400;

export class Picker {
  readonly root: HTMLElement;
  readonly search: HTMLInputElement;
  private readonly list: HTMLElement;
  private readonly open = new Set<string>();

  constructor(private readonly host: PickerHost) {
    this.search = el('input', { type: 'search', placeholder: 'Search signals', 'aria-label': 'Search signals', spellcheck: false });
    this.search.addEventListener('input', () => this.render());
    this.list = el('div', { className: 'tree', role: 'tree', 'aria-label': 'Signals' });
    const none = el('button', { className: 'link', type: 'button' }, 'Clear');
    none.addEventListener('click', () => {
      host.selected.clear();
      host.onSelect();
      this.render();
    });
    this.root = el('aside', { className: 'picker' },
      el('label', { className: 'search' }, icon(ICONS.search), this.search, el('kbd', {}, '/')), this.list,
      el('footer', {}, el('span', { className: 'selected-count' }), none));
  }

  render(): void {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = [...this.host.model.series.values()].filter((series) => {
      const text = `${series.sensor} ${series.signal} ${elementOf(this.host.model, series)?.name ?? ''} ${series.unit}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    const sensors = new Map<string, Map<string, Series[]>>();
    for (const series of matches) {
      const signals = sensors.get(series.sensor) ?? new Map<string, Series[]>();
      signals.set(series.signal, [...(signals.get(series.signal) ?? []), series]);
      sensors.set(series.sensor, signals);
    }
    const rows: Node[] = [];
    for (const [sensor, signals] of sensors) this.renderSensor(rows, sensor, signals, words.length > 0);
    if (rows.length === 0) rows.push(el('p', { className: 'empty' }, words.length > 0 ? 'No signal matches.' : 'No signals yet.'));
    if (rows.length > MAX_ROWS) {
      rows.length = MAX_ROWS;
      rows.push(el('p', { className: 'empty' }, 'More match: type further letters.'));
    }
    this.list.replaceChildren(...rows);
    const count = this.host.selected.size;
    this.root.querySelector('.selected-count')!.textContent = count === 1 ? '1 series shown' : `${count} series shown`;
  }

  private renderSensor(rows: Node[], sensor: string, signals: Map<string, Series[]>, searching: boolean): void {
    const all = [...signals.values()].flat();
    const some = all.some((series) => this.host.selected.has(series.id));
    const isOpen = searching || this.isOpen(sensor, some && signals.size <= 24);
    rows.push(this.row(sensor, sensor, String(signals.size), 0, all, isOpen, true));
    if (!isOpen) return;
    const names = [...signals.keys()].sort((a, b) => Number(this.anySelected(signals.get(b)!)) - Number(this.anySelected(signals.get(a)!)));
    for (const signal of names) {
      const members = signals.get(signal)!.sort(byElement(this.host.model));
      const key = `${sensor}.${signal}`;
      const many = members.length > 1;
      const note = many ? `× ${members.length}` : displayOf(members[0]).unit;
      const signalOpen = many && this.isOpen(key, false);
      rows.push(this.row(key, signal, note, 1, members, signalOpen, many));
      if (!signalOpen) continue;
      for (const series of members) {
        rows.push(this.row(`${key}@${series.element}`, elementOf(this.host.model, series)?.name ?? `element ${series.element}`, '', 2, [series], false, false));
      }
    }
  }

  private anySelected(members: Series[]): boolean {
    return members.some((series) => this.host.selected.has(series.id));
  }

  /** The set holds what differs from the default. */
  private isOpen(key: string, byDefault: boolean): boolean {
    return this.open.has(`+${key}`) || (byDefault && !this.open.has(`-${key}`));
  }

  private toggleOpen(key: string, isOpen: boolean): void {
    this.open.delete(isOpen ? `+${key}` : `-${key}`);
    this.open.add(isOpen ? `-${key}` : `+${key}`);
    this.render();
  }

  private row(key: string, name: string, note: string, depth: number, members: Series[], isOpen: boolean, expandable: boolean): HTMLElement {
    const chosen = members.filter((series) => this.host.selected.has(series.id)).length;
    const box = el('input', { type: 'checkbox', checked: chosen === members.length, indeterminate: chosen > 0 && chosen < members.length, 'aria-label': name });
    box.addEventListener('change', () => {
      for (const series of members) {
        if (box.checked) this.host.selected.add(series.id);
        else this.host.selected.delete(series.id);
      }
      this.host.onSelect();
      this.render();
    });
    const text = el('span', { className: 'name', title: name }, name);
    const twist = el('button', { className: isOpen ? 'twist open' : 'twist', type: 'button', 'aria-label': isOpen ? 'Close' : 'Open', tabIndex: expandable ? 0 : -1 });
    if (expandable) {
      twist.append(icon(ICONS.chevron));
      twist.addEventListener('click', () => this.toggleOpen(key, isOpen));
    }
    text.addEventListener('click', () => (depth === 0 ? this.toggleOpen(key, isOpen) : box.click()));
    const row = el('div', { className: `row depth-${depth}${chosen > 0 ? ' chosen' : ''}`, role: 'treeitem' }, twist, depth === 0 ? null : box, text, el('span', { className: 'note' }, note));
    if (expandable) row.setAttribute('aria-expanded', String(isOpen));
    return row;
  }
}
