// The few helpers that the page needs to make elements.

type Child = Node | string | null;

/** An element with properties, attributes (`aria-…`, `data-…`, `role`) and children. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Partial<Omit<HTMLElementTagNameMap[K], 'style'>> & Record<`aria-${string}` | `data-${string}`, string> | Record<string, unknown> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes('-') || key === 'role' || key === 'for') element.setAttribute(key, String(value));
    else (element as unknown as Record<string, unknown>)[key] = value;
  }
  for (const child of children) if (child !== null) element.append(child);
  return element;
}

/** @param content a text, or an icon */
export function button(className: string, content: Child, onClick: () => void, properties: Record<string, unknown> = {}): HTMLButtonElement {
  const result = el('button', { className, type: 'button', ...properties }, content);
  result.addEventListener('click', onClick);
  return result;
}

/**
 * What is dropped on an element, which has a class while it is dragged over it.
 * @param accepts whether it can be dropped there @param leaves whether a drag that ends at this element has left
 */
export function acceptDrops(element: HTMLElement, className: string, accepts: (data: DataTransfer) => boolean, leaves: (to: EventTarget | null) => boolean, onDrop: (data: DataTransfer) => void): void {
  const data = (event: DragEvent): DataTransfer | null => (event.dataTransfer && accepts(event.dataTransfer) ? event.dataTransfer : null);
  element.addEventListener('dragover', (event) => {
    if (!data(event)) return;
    event.preventDefault();
    element.classList.add(className);
  });
  element.addEventListener('dragleave', (event) => leaves(event.relatedTarget) && element.classList.remove(className));
  element.addEventListener('drop', (event) => {
    element.classList.remove(className);
    const dropped = data(event);
    if (!dropped) return;
    event.preventDefault();
    onDrop(dropped);
  });
}

/** The sign of a state, in its colour. */
export function dot(color: string): HTMLElement {
  const result = el('i', { className: 'state-dot' });
  result.style.background = color;
  return result;
}

export function svg(tag: string, attributes: Record<string, string | number>, ...children: (Node | string)[]): SVGElement {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

/** A 16 x 16 line icon. */
export function icon(path: string): SVGElement {
  return svg('svg', { 'viewBox': '0 0 16 16', 'class': 'icon', 'aria-hidden': 'true' }, svg('path', { d: path }));
}

export const ICONS = {
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM11 11l3 3',
  share: 'M6.5 9.5l3-3M7 4.5l1.2-1.2a3 3 0 0 1 4.3 4.3L11.200 8.800M9 11.500l-1.2 1.2a3 3 0 0 1-4.300-4.300L4.800 7.200',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1v1.500M8 13.500V15M1 8h1.500M13.500 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1',
  moon: 'M13.500 9.500A6 6 0 1 1 6.500 2.500a5 5 0 0 0 7 7Z',
  flag: 'M4 14V2.500h8l-2 3 2 3H4',
  help: 'M6 6a2 2 0 1 1 2.700 1.900C8.200 8.100 8 8.500 8 9.300M8 12v.1M8 15A7 7 0 1 0 8 1a7 7 0 0 0 0 14Z',
  close: 'M4 4l8 8M12 4l-8 8',
  chevron: 'M6 4l4 4-4 4',
  sidebar: 'M2.500 3h11v10h-11zM6 3v10',
  pause: 'M5.500 3v10M10.500 3v10',
  play: 'M5 2.800v10.400L13 8Z',
  open: 'M2 13V3.500h4l1.500 2H14V13Z',
  gauge: 'M2.500 12a6.500 6.500 0 1 1 11 0M8 10l3-4',
  back: 'M6.500 4 2.500 8l4 4M3 8h10.500',
  lines: 'M1.500 11l4-5 3 4 5.500-7',
  stack: 'M1.500 13.500h13M1.500 10l4-3 3 2 6-5M1.500 13.500V10M14.500 13.500V4',
  console: 'M1.500 3h13v10h-13zM4 6l2.500 2L4 10M8 10.500h3.500',
  heat: 'M2 2.500h5v5H2zM9 2.500h5v5H9zM2 9h5v4.500H2zM9 9h5v4.500H9z',
  compare: 'M5.5 2.500v11M5.500 5H2.500v6h3M10.500 2.500v11M10.500 5h3v6h-3',
  bell: 'M8 2a4 4 0 0 0-4 4c0 3.500-1.500 4.500-1.500 5.500h11C13.500 10.500 12 9.500 12 6a4 4 0 0 0-4-4ZM6.700 13.500a1.400 1.400 0 0 0 2.600 0',
  machine: 'M2.500 2.500h11v11h-11zM5.500 5.500h5v5h-5zM6.500 .800v1.700M9.500 .800v1.700M6.500 13.500v1.700M9.500 13.500v1.700M.800 6.500h1.700M.800 9.500h1.700M13.500 6.500h1.700M13.500 9.500h1.700',
  save: 'M8 2v8M4.500 7 8 10.500 11.500 7M2.500 13.500h11',
  plus: 'M8 3v10M3 8h10',
  all: 'M2 8h12M4.500 5.500 2 8l2.500 2.500M11.500 5.500 14 8l-2.500 2.500',
};
