// Saves what is drawn on a canvas, as SVG, or as boxes (class `boxes`), in a part of the page.

import { fileName, pngOf, saveFile, saveText } from './save';
import { saveChoice } from './widgets';

/** What style sheets give to a drawing, and a file does not have. */
const STYLES = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-dasharray', 'opacity', 'font-family', 'font-size', 'font-weight', 'text-anchor', 'paint-order', 'stroke-linejoin', 'display', 'visibility'];
const SVG = 'http://www.w3.org/2000/svg';

type Drawing = HTMLCanvasElement | SVGElement | HTMLElement;

/** @param root the first drawing in it that is in sight is saved  @param name of the file */
export function drawingChoice(label: string, name: string, root: () => HTMLElement): HTMLElement {
  return saveChoice(label, ['PNG', 'SVG'], (kind) => {
    const drawing = [...root().querySelectorAll<Drawing>('canvas, svg:not(.icon), .boxes')].find((one) => one.getClientRects().length > 0);
    if (!drawing) return;
    const { width, height } = drawing.getBoundingClientRect();
    const svg = documentOf(drawing, width, height);
    if (kind === 'SVG') saveText(fileName(name, 'svg'), 'image/svg+xml', svg);
    else void pngOf(svg, width, height, Math.max(2, devicePixelRatio)).then((image) => saveFile(fileName(name, 'png'), image));
  });
}

function documentOf(drawing: Drawing, width: number, height: number): string {
  const root = svgElement('svg', { width, height, viewBox: `0 0 ${width} ${height}` });
  const back = svgElement('rect', { width, height, fill: getComputedStyle(document.documentElement).getPropertyValue('--surface') });
  root.append(back, drawing instanceof HTMLCanvasElement ? imageOf(drawing, width, height) : drawing instanceof SVGElement ? withStyles(drawing) : boxesOf(drawing));
  return new XMLSerializer().serializeToString(root);
}

function svgElement(name: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, name) as SVGElement;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

function imageOf(canvas: HTMLCanvasElement, width: number, height: number): SVGElement {
  return svgElement('image', { href: canvas.toDataURL('image/png'), width, height });
}

/** Each child of the stage with its colour, and its text where it fits. */
function boxesOf(stage: HTMLElement): SVGElement {
  const from = stage.getBoundingClientRect();
  const group = svgElement('g', {});
  for (const box of stage.children) {
    const { left, top, width, height } = box.getBoundingClientRect();
    const { backgroundColor, color, fontFamily, fontSize, paddingLeft } = getComputedStyle(box);
    const place = { x: left - from.left, y: top - from.top, width, height };
    const inner = svgElement('svg', place);
    inner.append(svgElement('rect', { width, height, rx: 3, fill: plainColor(backgroundColor) }));
    if (box.textContent) {
      const text = svgElement('text', { 'x': parseFloat(paddingLeft), 'y': height / 2, 'dominant-baseline': 'central', 'fill': plainColor(color), 'font-family': fontFamily, 'font-size': fontSize });
      text.textContent = box.textContent;
      inner.append(text);
    }
    group.append(inner);
  }
  return group;
}

/** As programs that are no browsers read it: mixed colours are "color(srgb 0.1 0.2 0.3)" in style sheets. */
function plainColor(color: string): string {
  const parts = /^color\(srgb ([\d.]+) ([\d.]+) ([\d.]+)/.exec(color)?.slice(1);
  return parts ? `rgb(${parts.map((part) => Math.round(Number(part) * 255)).join(', ')})` : color;
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
