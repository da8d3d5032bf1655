// The list of everything that can be shown: by sensor or by place, with a search.

import { button, el, icon, ICONS } from '../app/dom';
import { Search, Segments } from '../app/widgets';
import { DRAGGED_SERIES } from '../charts/chart';
import type { SessionModel, Series } from '../session/model';
import { makeTree, type TreeBy, type TreeNode } from './tree';

export interface PickerHost {
  model: SessionModel;
  selected: Set<number>;
  /** The selection changed: the tree is to be drawn again, too. */
  onSelect(): void;
}

/** Rows beyond this are reached by typing more letters: thousands of nodes would make the page slow. */
const MAX_ROWS = 400;
/** What a search finds is opened while it is so little. */
const MAX_OPENED = 120;
const MAX_OPEN_SIGNALS = 24;
const INDENT = 18;

export class Picker {
  readonly root: HTMLElement;
  private readonly filter = new Search('Search signals', 'Search signals', () => this.render(), el('kbd', {}, '/'));
  private readonly list = el('div', { className: 'tree', role: 'tree', 'aria-label': 'Signals' });
  private readonly count = el('span', { className: 'selected-count' });
  private readonly tabs = new Segments<TreeBy>([['sensor', 'By sensor'], ['place', 'By place']], (by) => {
    this.by = by;
    this.render();
  }, 'Tree of signals');
  private by: TreeBy = 'sensor';
  /** "+key" was opened, "-key" closed by hand. */
  private readonly toggled = new Set<string>();

  constructor(private readonly host: PickerHost) {
    const none = button('link', 'Clear', () => {
      host.selected.clear();
      host.onSelect();
    });
    this.tabs.root.classList.add('tree-tabs');
    this.root = el('aside', { className: 'picker' }, this.filter.root, this.tabs.root, this.list, el('footer', {}, this.count, none));
  }

  get search(): HTMLInputElement {
    return this.filter.input;
  }

  render(): void {
    this.tabs.show(this.by);
    const { words } = this.filter;
    const nodes = makeTree(this.host.model, this.by, words);
    const found = nodes.reduce((sum, node) => sum + node.series.length, 0);
    const rows: Node[] = [];
    for (const node of nodes) this.renderNode(rows, node, 0, words.length > 0 && found <= MAX_OPENED);
    if (rows.length === 0) rows.push(el('p', { className: 'empty' }, words.length > 0 ? 'No signal matches.' : 'No signals yet.'));
    if (rows.length > MAX_ROWS) {
      rows.length = MAX_ROWS;
      rows.push(el('p', { className: 'empty' }, 'More match: type further letters.'));
    }
    this.list.replaceChildren(...rows);
    const count = this.host.selected.size;
    this.count.textContent = count === 1 ? '1 series shown' : `${count} series shown`;
  }

  private renderNode(rows: Node[], node: TreeNode, depth: number, allOpen: boolean): void {
    if (rows.length > MAX_ROWS) return;
    const chosen = node.series.filter((series) => this.host.selected.has(series.id)).length;
    const closedByHand = this.toggled.has(`-${node.key}`);
    const byDefault = node.heading && !closedByHand && (this.by === 'place' || (chosen > 0 && node.children.length <= MAX_OPEN_SIGNALS));
    const isOpen = node.children.length > 0 && (allOpen || this.toggled.has(`+${node.key}`) || byDefault);
    rows.push(this.row(node, depth, chosen, isOpen));
    // Of a sensor with very many signals those that are shown stand there at least.
    if (!isOpen && node.heading && this.by === 'sensor' && !closedByHand) {
      for (const child of node.children) if (this.any(child)) this.renderNode(rows, child, depth + 1, false);
    }
    if (!isOpen) return;
    // What is shown comes first among the many signals of a sensor.
    const children = this.by === 'sensor' && node.heading ? [...node.children].sort((a, b) => Number(this.any(b)) - Number(this.any(a))) : node.children;
    for (const child of children) this.renderNode(rows, child, depth + 1, allOpen);
  }

  private any(node: TreeNode): boolean {
    return node.series.some((series) => this.host.selected.has(series.id));
  }

  private toggle(key: string, isOpen: boolean): void {
    // From open to closed, and back.
    this.toggled.delete(isOpen ? `+${key}` : `-${key}`);
    this.toggled.add(isOpen ? `-${key}` : `+${key}`);
    this.render();
  }

  private choose(series: Series[], chosen: boolean): void {
    for (const { id } of series) {
      if (chosen) this.host.selected.add(id);
      else this.host.selected.delete(id);
    }
    this.host.onSelect();
  }

  private row(node: TreeNode, depth: number, chosen: number, isOpen: boolean): HTMLElement {
    const expandable = node.children.length > 0;
    const box = el('input', { type: 'checkbox', checked: chosen === node.series.length, indeterminate: chosen > 0 && chosen < node.series.length, 'aria-label': node.name });
    box.addEventListener('change', () => this.choose(node.series, box.checked));
    const text = el('span', { className: 'name', title: node.name }, node.name);
    const twist = el('button', { className: isOpen ? 'twist open' : 'twist', type: 'button', 'aria-label': isOpen ? 'Close' : 'Open', tabIndex: expandable ? 0 : -1 });
    if (expandable) {
      twist.append(icon(ICONS.chevron));
      twist.addEventListener('click', () => this.toggle(node.key, isOpen));
    }
    const opensByName = node.heading || (this.by === 'place' && expandable);
    text.addEventListener('click', () => (opensByName ? this.toggle(node.key, isOpen) : box.click()));
    const row = el('div', { className: `row${node.heading ? ' heading' : ''}${chosen > 0 ? ' chosen' : ''}`, role: 'treeitem', 'aria-level': String(depth + 1) },
      twist, node.heading ? null : box, text, el('span', { className: 'note' }, node.note));
    row.style.paddingLeft = `${4 + Math.max(0, depth - (node.heading ? 0 : 1)) * INDENT + (depth > 0 ? 10 : 0)}px`;
    if (expandable) row.setAttribute('aria-expanded', String(isOpen));
    row.draggable = true;
    row.addEventListener('dragstart', (event) => {
      event.dataTransfer?.setData(DRAGGED_SERIES, node.series.map((series) => series.id).join());
      if (event.dataTransfer) event.dataTransfer.effectAllowed = 'copy';
    });
    return row;
  }
}
