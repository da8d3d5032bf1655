// Files that the page makes of what it shows: the browser saves them.

import { el } from './dom';

export function saveFile(name: string, content: Blob): void {
  const link = el('a', { href: URL.createObjectURL(content), download: name });
  link.click();
  // The browser has taken it by then.
  window.setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export function saveText(name: string, type: string, text: string): void {
  saveFile(name, new Blob([text], { type }));
}

export type Cell = string | number;

/** By RFC 4180. What is not known is an empty field. */
export function csvOf(rows: Cell[][]): string {
  const field = (cell: Cell): string => {
    if (typeof cell === 'number') return Number.isNaN(cell) ? '' : String(cell);
    return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
  };
  return rows.map((row) => `${row.map(field).join(',')}\r\n`).join('');
}

/** "cpu user" as "cpu-user". */
export function fileName(title: string, ending: string): string {
  return `${title.replace(/[^\w.-]+/g, '-').replace(/^-+|-+$/g, '') || 'attune'}.${ending}`;
}

/** @param svg a whole document @param scale pixels of the image for one of the document's */
export async function pngOf(svg: string, width: number, height: number, scale: number): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = el('canvas', { width: Math.round(width * scale), height: Math.round(height * scale) });
  canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('the image could not be made'))), 'image/png'));
}
