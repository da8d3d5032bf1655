// What lies over the waits of threads: who has which lock, and who let whom go on.

import { xOf } from '../charts/canvas';
import { BAR, extentOf, LEAST_PX, ROW, type Area } from '../timeline/draw';
import { hueOf } from './flame_model';
import { stateOfNumber } from './states';
import type { Arrow, LockHold } from './timeline';

/** Height of a lock that a thread has. */
const HOLD = 4;
const MOST_ARROWS = 400;
/** Shorter arrows are only a mess. */
const LEAST_GAP_PX = 4;

/** The colour of a lock, in all rows. */
export function holdColor(object: number, css: (name: string) => string): string {
  return `hsl(${hueOf(String(object))} ${css('--hold')})`;
}

/** Who has a lock: a thin bar below the waits; a lock within another one lies on it. @param holds the longer ones first */
export function drawHolds(context: CanvasRenderingContext2D, area: Area, holds: LockHold[], top: number): void {
  const { css } = area;
  const y = top + ROW - HOLD - 1;
  for (const hold of holds) {
    const at = extentOf(area, hold);
    if (!at) continue;
    const wide = Math.max(LEAST_PX, at.to - at.from - 0.5);
    context.fillStyle = css('--surface');
    context.fillRect(at.from, y - 1, wide, HOLD + 2);
    context.fillStyle = holdColor(hold.object, css);
    // What is not known to have ended, and what is not all of the time.
    context.globalAlpha = hold.open ? 0.4 : Math.max(0.35, Math.min(1, hold.held / Math.max(1, hold.t1 - hold.t0)));
    context.fillRect(at.from, y, wide, HOLD);
    context.globalAlpha = 1;
  }
}

/** @param middles of the rows in sight, by thread */
export function drawArrows(context: CanvasRenderingContext2D, area: Area, arrows: Arrow[], middles: Map<number, number>, hidden: ReadonlySet<string>): void {
  const { width, t0, t1, css } = area;
  const inSight = arrows.filter(({ from, to }) => from.t >= t0 && from.t <= t1 && middles.has(from.thread) && middles.has(to.thread) && !hidden.has(stateOfNumber(to.kind)));
  // As many as can be told apart.
  if (inSight.length > MOST_ARROWS || (inSight.length > 1 && width / inSight.length < LEAST_GAP_PX)) return;
  context.strokeStyle = context.fillStyle = css('--text');
  context.lineWidth = 1;
  context.globalAlpha = 0.75;
  for (const { from, to } of inSight) {
    const [x0, y0] = [xOf(area, from.t), middles.get(from.thread)!];
    const [x1, y1] = [xOf(area, to.t1), middles.get(to.thread)!];
    const down = Math.sign(y1 - y0);
    const bend = Math.max(6, Math.min(30, Math.abs(y1 - y0) * 0.3));
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0 + (y1 - y0) * 0.25, x1 - bend * 0.2, y1 - down * bend, x1, y1 - down * (BAR / 2));
    context.stroke();
    context.beginPath();
    context.moveTo(x1, y1 - down * (BAR / 2 - 2));
    context.lineTo(x1 - 3, y1 - down * (BAR / 2 + 4));
    context.lineTo(x1 + 3, y1 - down * (BAR / 2 + 4));
    context.fill();
    context.beginPath();
    context.arc(x0, y0, 2, 0, Math.PI * 2);
    context.fill();
  }
  context.globalAlpha = 1;
}
