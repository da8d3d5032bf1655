// A table of many rows that changes while it is looked at: rows out of sight are not made, and those in sight are
// filled again rather than replaced, so that what is under the pointer stays there.

import { el } from '../app/dom';
import { csvOf, fileName, saveText, type Cell } from '../app/save';
import { saveChoice } from '../app/widgets';

export interface Column<Row> {
  title: string;
  hint?: string;
  /** Instead of the title. */
  head?(): Node;
  numeric: boolean;
  /** A grid track. */
  width: string;
  /** NaN and '' come last. Absent: the column does not sort. */
  rank?(row: Row): number | string;
  /** Of the ranks, for files; on screen each value has its own. */
  unit?: string;
  /** What to write, or fills the cell itself. */
  show(row: Row, cell: HTMLElement): string | null;
}

const ROW_HEIGHT = 28;
const OVERSCAN_ROWS = 8;

interface RowElements {
  root: HTMLElement;
  cells: HTMLElement[];
}

export class Table<Row> {
  readonly root: HTMLElement;
  private readonly head = el('div', { className: 'table-row head' });
  private readonly body = el('div', { className: 'table-rows' });
  private readonly spacer = el('div', { className: 'table-spacer' }, this.body);
  private readonly scroller = el('div', { className: 'table-scroller', tabIndex: 0 }, this.spacer);
  private readonly empty: HTMLElement;
  /** Without rows there is nothing to save. */
  private readonly saving = saveChoice('Save the table', ['CSV'], () => this.save());
  private columns: Column<Row>[] = [];
  private inFiles: Column<Row>[] = [];
  private rows: Row[] = [];
  private sorted: Row[] = [];
  private visible: Row[] = [];
  private pool: RowElements[] = [];
  private sortBy: string | null = null;
  private descending = true;
  /** As they were last laid out: to ask for them would lay out the whole page each time. 0: out of sight. */
  private height = 0;
  private scrollerHeight = 0;
  private scrollTop = 0;

  /** @param nothing what stands there without rows @param onClick of a row */
  constructor(nothing: string, private readonly onClick: ((row: Row) => void) | null) {
    this.empty = el('p', { className: 'empty' }, nothing);
    this.saving.hidden = true;
    this.scroller.addEventListener('scroll', () => {
      this.scrollTop = this.scroller.scrollTop;
      this.refresh();
    });
    this.root = el('div', { className: 'table', role: 'group' }, this.head, this.scroller, this.empty, this.saving);
    const resized = new ResizeObserver((entries) => {
      for (const { target, contentRect } of entries) {
        if (target === this.root) this.height = contentRect.height;
        else this.scrollerHeight = contentRect.height;
      }
      this.refresh();
    });
    for (const element of [this.root, this.scroller]) resized.observe(element);
  }

  /** @param inFiles columns that only a saved table has @param sortBy the title of the column to sort by at first, falling; null: as the rows come */
  setColumns(columns: Column<Row>[], sortBy: string | null = this.sortBy, inFiles: Column<Row>[] = []): void {
    this.columns = columns;
    this.inFiles = inFiles;
    this.sortBy = columns.some((column) => column.title === sortBy) ? sortBy : null;
    const tracks = columns.map((column) => column.width).join(' ');
    this.root.style.setProperty('--tracks', tracks);
    this.pool = [];
    this.body.replaceChildren();
    this.showHead();
  }

  setRows(rows: Row[]): void {
    this.rows = rows;
    this.refresh();
  }

  /** Values changed, or what is in sight. */
  refresh(): void {
    if (this.height === 0) return;
    this.empty.hidden = this.rows.length > 0;
    this.saving.hidden = this.rows.length === 0;
    this.sort();
    this.spacer.style.height = `${this.sorted.length * ROW_HEIGHT}px`;
    const first = Math.max(0, Math.floor(this.scrollTop / ROW_HEIGHT) - OVERSCAN_ROWS);
    const last = Math.min(this.sorted.length, first + Math.ceil(this.scrollerHeight / ROW_HEIGHT) + 2 * OVERSCAN_ROWS);
    this.body.style.transform = `translateY(${first * ROW_HEIGHT}px)`;
    this.visible = this.sorted.slice(first, last);
    while (this.pool.length < this.visible.length) this.pool.push(this.newRow(this.pool.length));
    this.pool.forEach((elements, i) => {
      elements.root.hidden = i >= this.visible.length;
      if (i < this.visible.length) this.fill(elements, this.visible[i]);
    });
  }

  private sort(): void {
    const rank = this.columns.find((column) => column.title === this.sortBy)?.rank;
    if (!rank) {
      this.sorted = this.rows;
      return;
    }
    const sign = this.descending ? -1 : 1;
    const ranked = this.rows.map((row) => ({ row, rank: rank(row) }));
    const isLast = (value: number | string): boolean => value === '' || Number.isNaN(value);
    ranked.sort((a, b) => {
      if (isLast(a.rank) || isLast(b.rank)) return Number(isLast(a.rank)) - Number(isLast(b.rank));
      return (a.rank < b.rank ? -1 : a.rank > b.rank ? 1 : 0) * sign;
    });
    this.sorted = ranked.map(({ row }) => row);
  }

  /** All rows, in the order of the screen, numbers with every digit. */
  private save(): void {
    const columns = [...this.columns, ...this.inFiles];
    const cellOf = (column: Column<Row>, row: Row): Cell => {
      if (column.rank) return column.rank(row);
      const cell = el('span', {});
      return column.show(row, cell) ?? cell.textContent;
    };
    this.sort();
    const heads = columns.map(({ title, unit }) => (unit === undefined ? title : `${title} (${unit})`));
    saveText(fileName(this.root.getAttribute('aria-label') ?? this.columns[0].title, 'csv'), 'text/csv', csvOf([heads, ...this.sorted.map((row) => columns.map((column) => cellOf(column, row)))]));
  }

  private showHead(): void {
    // The keyboard's focus stays at the heading.
    const focused = [...this.head.children].indexOf(document.activeElement!);
    this.head.replaceChildren(...this.columns.map((column) => {
      const on = column.title === this.sortBy;
      const cell = el('button', { className: `${column.numeric ? 'number ' : ''}${on ? (this.descending ? 'falling' : 'rising') : ''}`, type: 'button', title: column.hint ?? column.title, disabled: column.rank === undefined }, column.head?.() ?? column.title);
      cell.addEventListener('click', () => {
        // Falling, rising, as it came.
        if (!on) [this.sortBy, this.descending] = [column.title, column.numeric];
        else if (this.descending === column.numeric) this.descending = !this.descending;
        else this.sortBy = null;
        this.showHead();
        this.refresh();
      });
      return cell;
    }));
    if (focused >= 0) (this.head.children[focused] as HTMLElement | undefined)?.focus();
  }

  private newRow(index: number): RowElements {
    const cells = this.columns.map((column) => el('span', column.numeric ? { className: 'number' } : {}));
    const root = el(this.onClick ? 'button' : 'div', { className: 'table-row' }, ...cells);
    if (this.onClick) root.addEventListener('click', () => this.visible[index] !== undefined && this.onClick?.(this.visible[index]));
    this.body.append(root);
    return { root, cells };
  }

  private fill(elements: RowElements, row: Row): void {
    this.columns.forEach((column, i) => {
      const text = column.show(row, elements.cells[i]);
      if (text !== null && elements.cells[i].textContent !== text) elements.cells[i].textContent = text;
    });
  }
}

/** A panel that is one table. */
export abstract class TablePanel<Row> {
  protected readonly table: Table<Row>;

  /** @param nothing, onClick as of Table */
  constructor(nothing: string, onClick: (row: Row) => void) {
    this.table = new Table(nothing, onClick);
  }

  /** Rows changed. */
  abstract render(): void;
  abstract get count(): number;

  get root(): HTMLElement {
    return this.table.root;
  }

  /** Values, the cursor or the shown range changed. */
  refresh(): void {
    this.table.refresh();
  }
}
