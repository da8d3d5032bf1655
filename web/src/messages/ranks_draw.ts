// What lies around the calls of ranks: messages as arrows, collective operations as bands over the ranks that take part.

import { xOf } from '../charts/canvas';
import { extentOf, ROW, type Area } from '../timeline/draw';
import type { Meeting, MessageArrow } from './timeline';

/** More arrows in sight are drawn as thin lines without heads. */
const FEW_ARROWS = 500;
/** And beyond it those of the least waiting are left out. */
const MOST_ARROWS = 1500;
/** Thinner bands are not seen. */
const LEAST_BAND_PX = 3;

/** @param middles of the rows, by rank */
export function drawMeetings(context: CanvasRenderingContext2D, area: Area, meetings: Meeting[], middles: Map<number, number>): void {
  context.fillStyle = area.css('--mpi-4');
  for (const meeting of meetings) {
    const { from, to } = extentOf(area, meeting) ?? { from: 0, to: 0 };
    if (to - from < LEAST_BAND_PX) continue;
    const rows = meeting.parts.flatMap((part) => middles.get(part.rank) ?? []);
    if (rows.length < 2) continue;
    const [top, bottom] = [Math.min(...rows) - ROW / 2, Math.max(...rows) + ROW / 2];
    context.globalAlpha = 0.1;
    context.fillRect(from, top, to - from, bottom - top);
    context.globalAlpha = 0.5;
    context.fillRect(from, top, 1, bottom - top);
    context.fillRect(to - 1, top, 1, bottom - top);
  }
  context.globalAlpha = 1;
}

/** Arrows that can be seen, those that were waited for longest last, so that they lie on top. */
export function arrowsInSight(arrows: MessageArrow[], { t0, t1 }: { t0: number; t1: number }, middles: Map<number, number>): MessageArrow[] {
  const inSight = arrows.filter((arrow) => arrow.t1 >= t0 && arrow.t0 <= t1 && middles.has(arrow.from) && middles.has(arrow.to));
  inSight.sort((a, b) => a.waited - b.waited);
  return inSight.slice(-MOST_ARROWS);
}

export function drawMessageArrows(context: CanvasRenderingContext2D, area: Area, inSight: MessageArrow[], middles: Map<number, number>, chosen: MessageArrow | null): void {
  const { css } = area;
  const withHeads = inSight.length <= FEW_ARROWS;
  const draw = (arrow: MessageArrow, color: string, thick: number): void => {
    const [x0, y0, x1, y1] = endsOf(area, middles, arrow);
    context.strokeStyle = context.fillStyle = color;
    context.lineWidth = thick;
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
    if (!withHeads && thick < 2) return;
    const length = Math.hypot(x1 - x0, y1 - y0) || 1;
    const [ux, uy] = [(x1 - x0) / length, (y1 - y0) / length];
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - ux * 7 - uy * 3, y1 - uy * 7 + ux * 3);
    context.lineTo(x1 - ux * 7 + uy * 3, y1 - uy * 7 - ux * 3);
    context.fill();
    context.beginPath();
    context.arc(x0, y0, 1.8, 0, Math.PI * 2);
    context.fill();
  };
  const [plain, late] = [css('--arrow'), css('--mpi-2')];
  const isLate = (arrow: MessageArrow): boolean => arrow.waited > (arrow.t1 - arrow.t0) / 2;
  context.globalAlpha = withHeads ? 0.7 : 0.3;
  if (withHeads) {
    for (const arrow of inSight) draw(arrow, isLate(arrow) ? late : plain, 1);
  } else {
    // One path of a colour: a line by itself takes much longer.
    context.lineWidth = 1;
    for (const of of [false, true]) {
      context.strokeStyle = of ? late : plain;
      context.beginPath();
      for (const arrow of inSight) {
        if (isLate(arrow) !== of) continue;
        const [x0, y0, x1, y1] = endsOf(area, middles, arrow);
        context.moveTo(x0, y0);
        context.lineTo(x1, y1);
      }
      context.stroke();
    }
  }
  context.globalAlpha = 1;
  if (chosen) draw(chosen, css('--accent'), 2.5);
}

/** From where to where an arrow goes. */
function endsOf(area: Area, middles: Map<number, number>, arrow: MessageArrow): [number, number, number, number] {
  return [xOf(area, arrow.t0), middles.get(arrow.from)!, xOf(area, arrow.t1), middles.get(arrow.to)!];
}

/** The arrow nearest to a point. @param y from the top of the first row */
export function arrowAt(inSight: MessageArrow[], area: Area, middles: Map<number, number>, x: number, y: number, within: number): MessageArrow | null {
  let best: MessageArrow | null = null;
  let distance = within;
  for (const arrow of inSight) {
    const [x0, y0, x1, y1] = endsOf(area, middles, arrow);
    const [dx, dy] = [x1 - x0, y1 - y0];
    const share = Math.max(0, Math.min(1, ((x - x0) * dx + (y - y0) * dy) / Math.max(1e-9, dx * dx + dy * dy)));
    const away = Math.hypot(x - x0 - share * dx, y - y0 - share * dy);
    if (away >= distance) continue;
    best = arrow;
    distance = away;
  }
  return best;
}
