// Saves what is drawn on a canvas, or as SVG, in a part of the page.

import { fileName, pngOf, saveFile, saveText } from './save';
import { saveChoice } from './widgets';

/** What style sheets give to a drawing, and a file does not have. */
const STYLES = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-dasharray', 'opacity', 'font-family', 'font-size', 'font-weight', 'text-anchor', 'paint-order', 'stroke-linejoin', 'display', 'visibility'];
const SVG = 'http://www.w3.org/2000/svg';

/** @param root the first drawing in it that is in sight is saved  @param name of the file */
export function drawingChoice(label: string, name: string, root: () => HTMLElement): HTMLElement {
  return saveChoice(label, ['PNG', 'SVG'], (kind) => {
    const drawing = [...root().querySelectorAll<HTMLCanvasElement | SVGElement>('canvas, svg:not(.icon)')].find((one) => one.getClientRects().length > 0);
    if (!drawing) return;
    const { width, height } = drawing.getBoundingClientRect();
    const svg = documentOf(drawing, width, height);
    if (kind === 'SVG') saveText(fileName(name, 'svg'), 'image/svg+xml', svg);
    else void pngOf(svg, width, height, Math.max(2, devicePixelRatio)).then((image) => saveFile(fileName(name, 'png'), image));
  });
}

function documentOf(drawing: HTMLCanvasElement | SVGElement, width: number, height: number): string {
  const root = document.createElementNS(SVG, 'svg');
  const attributes = { width, height, viewBox: `0 0 ${width} ${height}` };
  for (const [key, value] of Object.entries(attributes)) root.setAttribute(key, String(value));
  const back = document.createElementNS(SVG, 'rect');
  for (const [key, value] of Object.entries({ width, height, fill: getComputedStyle(document.documentElement).getPropertyValue('--surface') })) back.setAttribute(key, String(value));
  root.append(back, drawing instanceof HTMLCanvasElement ? imageOf(drawing, width, height) : withStyles(drawing));
  return new XMLSerializer().serializeToString(root);
}

function imageOf(canvas: HTMLCanvasElement, width: number, height: number): SVGElement {
  const image = document.createElementNS(SVG, 'image');
  for (const [key, value] of Object.entries({ href: canvas.toDataURL('image/png'), width, height })) image.setAttribute(key, String(value));
  return image;
}

function withStyles(drawing: SVGElement): SVGElement {
  const copy = drawing.cloneNode(true) as SVGElement;
  const copies = [copy, ...copy.querySelectorAll('*')];
  [drawing, ...drawing.querySelectorAll('*')].forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const name of STYLES) copies[i].setAttribute(name, style.getPropertyValue(name));
  });
  return copy;
}
