// Columns that several tables have.

import { el } from '../app/dom';
import { formatBytes, formatCount, formatDuration } from '../charts/format';
import type { Column } from './table';

/** "28.6 %" */
export function formatShare(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

/** A short time in a table. */
export function brief(ns: number): string {
  return ns > 0 ? formatDuration(Number(ns.toPrecision(4))) : '–';
}

/** What a cell is made of: made once, and filled again with each row. */
export function partsOf(cell: HTMLElement, ...tags: ('b' | 'em' | 'i' | 'small' | 'span')[]): HTMLElement[] {
  if (cell.childElementCount === 0) cell.append(...tags.map((tag) => el(tag, {})));
  return [...cell.children] as HTMLElement[];
}

export function words<Row>(title: string, width: string, of: (row: Row) => string, hint = title): Column<Row> {
  return { title, hint, numeric: false, width, rank: of, show: of };
}

/** As words, which a hint shows whole where there is no room. */
export function longWords<Row>(title: string, width: string, of: (row: Row) => string): Column<Row> {
  return { title, numeric: false, width, rank: of, show: (row, cell) => (cell.title = of(row)) };
}

/** @param of a row; null, or NaN: it is not known */
export function figure<Row>(title: string, hint: string, width: string, of: (row: Row) => number | null, text: (value: number) => string = String): Column<Row> {
  const rank = (row: Row): number => of(row) ?? NaN;
  return { title, hint, numeric: true, width, rank, show: (row) => (Number.isNaN(rank(row)) ? '–' : text(rank(row))) };
}

export function time<Row>(title: string, hint: string, of: (row: Row) => number, width = '84px'): Column<Row> {
  return { ...figure(title, hint, width, of, brief), unit: 'ns' };
}

export function count<Row>(title: string, hint: string, of: (row: Row) => number, width = '84px'): Column<Row> {
  return figure(title, hint, width, of, formatCount);
}

export function bytes<Row>(title: string, hint: string, of: (row: Row) => number, width = '92px'): Column<Row> {
  return { ...figure(title, hint, width, of, formatBytes), unit: 'bytes' };
}

/** A share of a whole, 0 to 1, with a bar. */
export function share<Row>(title: string, hint: string, of: (row: Row) => number, width = '96px'): Column<Row> {
  return {
    title, hint, numeric: true, width, rank: of,
    show: (row, cell) => {
      const [bar, text] = partsOf(cell, 'i', 'b');
      cell.classList.add('share-cell');
      bar.style.width = `${Math.min(100, (of(row) || 0) * 100).toFixed(1)}%`;
      text.textContent = Number.isNaN(of(row)) ? '–' : formatShare(of(row));
      return null;
    },
  };
}
