// Moving in time with the pointer and the wheel over a plot: drag pans, Shift + drag chooses a range, the wheel zooms.
// Fingers: a swipe pans, two zoom; up and down they scroll the page, by `touch-action: pan-y`.

import { el } from './dom';
import type { Range, TimeView } from '../session/view';

export interface GestureHost {
  view: TimeView;
  onMoved(): void;
}

const ZOOM_A_NOTCH = 1.0018;
const MIN_SELECTION_PX = 5;
const LEAST_PINCH_PX = 8;

export function addGestures(plot: HTMLElement, host: GestureHost): void {
  let last: number | null = null;
  let selection: { from: number; box: HTMLElement } | null = null;
  const timeAt = (x: number): number => {
    const { t0, t1 } = host.view.range;
    return t0 + (x / plot.clientWidth) * (t1 - t0);
  };
  const x = (event: PointerEvent | WheelEvent): number => event.clientX - plot.getBoundingClientRect().left;
  /** Fingers and buttons that are down, by pointer. */
  const down = new Map<number, number>();
  /** Two fingers hold two moments: they pan and zoom at once. */
  const pinch = (event: PointerEvent): void => {
    const [before, other] = [down.get(event.pointerId)!, [...down].find(([id]) => id !== event.pointerId)![1]];
    down.set(event.pointerId, x(event));
    const [from, to] = [Math.abs(before - other), Math.abs(x(event) - other)];
    if (from < LEAST_PINCH_PX || to < LEAST_PINCH_PX) return;
    host.view.zoom(from / to, timeAt(other));
    host.onMoved();
  };

  plot.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    plot.setPointerCapture(event.pointerId);
    down.set(event.pointerId, x(event));
    if (down.size > 1) {
      selection?.box.remove();
      last = selection = null;
    } else if (event.shiftKey) {
      selection = { from: x(event), box: el('div', { className: 'selection' }) };
      plot.append(selection.box);
    } else {
      last = x(event);
    }
  });
  plot.addEventListener('pointermove', (event) => {
    if (down.size === 2 && down.has(event.pointerId)) {
      pinch(event);
    } else if (selection) {
      const [left, right] = [Math.min(selection.from, x(event)), Math.max(selection.from, x(event))];
      selection.box.style.left = `${left}px`;
      selection.box.style.width = `${right - left}px`;
    } else if (last !== null && x(event) !== last) {
      plot.classList.add('grabbing');
      host.view.pan(timeAt(last) - timeAt(x(event)));
      last = x(event);
      host.onMoved();
    }
  });
  const finish = (event: PointerEvent): void => {
    plot.classList.remove('grabbing');
    down.delete(event.pointerId);
    // The finger that stays goes on from where it is.
    last = down.size === 1 ? [...down.values()][0] : null;
    if (!selection) return;
    selection.box.remove();
    const [left, right] = [Math.min(selection.from, x(event)), Math.max(selection.from, x(event))];
    selection = null;
    if (right - left < MIN_SELECTION_PX) return;
    const range: Range = { t0: timeAt(left), t1: timeAt(right) };
    host.view.show(range);
    host.onMoved();
  };
  plot.addEventListener('pointerup', finish);
  plot.addEventListener('pointercancel', finish);
  plot.addEventListener('wheel', (event) => {
    event.preventDefault();
    const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    const { t0, t1 } = host.view.range;
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (sideways !== 0 && (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))) {
      host.view.pan(((sideways * pixels) / plot.clientWidth) * (t1 - t0));
    } else {
      host.view.zoom(ZOOM_A_NOTCH ** (event.deltaY * pixels), timeAt(x(event)));
    }
    host.onMoved();
  }, { passive: false });
  plot.addEventListener('dblclick', (event) => {
    host.view.zoom(event.shiftKey ? 4 : 0.25, timeAt(x(event as unknown as PointerEvent)));
    host.onMoved();
  });
}

const CLICK_PX = 4;

/**
 * The pointer over rows that are drawn: a drag scrolls them, shift leaves that to the gestures.
 * @param onMove where it is on the element; null: it has left
 * @param onClick it was pressed and released at nearly one place
 */
export function addPointer(over: HTMLElement, scroller: HTMLElement, onMove: (at: { x: number; y: number } | null) => void, onClick: () => void): void {
  let pressed: { x: number; y: number } | null = null;
  over.addEventListener('pointerdown', (event) => (pressed = { x: event.clientX, y: event.clientY }));
  over.addEventListener('pointermove', (event) => {
    const box = over.getBoundingClientRect();
    if (pressed && !event.shiftKey && event.pointerType !== 'touch') scroller.scrollTop -= event.movementY;
    onMove({ x: event.clientX - box.left, y: event.clientY - box.top });
  });
  over.addEventListener('pointerleave', () => onMove(null));
  over.addEventListener('pointerup', (event) => {
    const from = pressed;
    pressed = null;
    if (from && Math.hypot(event.clientX - from.x, event.clientY - from.y) <= CLICK_PX) onClick();
  });
  over.addEventListener('pointercancel', () => (pressed = null));
}
