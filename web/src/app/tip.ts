// Tips beside the pointer.

const BESIDE_PX = 14;
const BELOW_PX = 18;
const EDGE_PX = 4;

/** Shows lines beside a point of a surface, within the window. @param tip has a fixed position */
export function showTip(tip: HTMLElement, surface: HTMLElement, lines: Node[], x: number, y: number): void {
  tip.replaceChildren(...lines);
  tip.hidden = false;
  const box = surface.getBoundingClientRect();
  const [left, top] = [box.left + x, box.top + y];
  const { offsetWidth: width, offsetHeight: height } = tip;
  // Rather on the other side of the pointer than below it.
  const beside = left + BESIDE_PX + width > innerWidth - EDGE_PX ? left - BESIDE_PX - width : left + BESIDE_PX;
  const below = top + BELOW_PX + height > innerHeight - EDGE_PX ? top - 8 - height : top + BELOW_PX;
  tip.style.left = `${Math.max(EDGE_PX, Math.min(beside, innerWidth - width - EDGE_PX))}px`;
  tip.style.top = `${Math.max(EDGE_PX, Math.min(below, innerHeight - height - EDGE_PX))}px`;
}
