// How what ranks do looks: calls as boxes, what was waited in them over these, messages as arrows, collective operations as
// bands over the ranks that take part.

import { BAR, pixelOf, ROW, SUM_ROWS, type Area } from '../waits/threads_draw';
import { RankState, type Meeting, type MessageArrow, type RankSpan, type RankTimeline } from './timeline';

const LEAST_PX = 0.7;
/** More arrows in sight are drawn as thin lines without heads. */
const FEW_ARROWS = 500;
/** And beyond it those of the least waiting are left out. */
const MOST_ARROWS = 1500;
/** Thinner bands are not seen. */
const LEAST_BAND_PX = 3;

export function colorOf(state: RankState, css: (name: string) => string): string {
  return css(`--mpi-${state}`);
}

export function drawRankSpans(context: CanvasRenderingContext2D, { left, width, t0, t1, css }: Area, spans: RankSpan[], top: number, hidden: Set<RankState>): void {
  const scale = width / (t1 - t0);
  const y = top + (ROW - BAR) / 2;
  let color = '';
  for (const span of spans) {
    if (span.t1 < t0 || span.t0 > t1 || hidden.has(span.state)) continue;
    const wanted = colorOf(span.state, css);
    if (wanted !== color) context.fillStyle = color = wanted;
    const from = Math.max(left - 1, left + (span.t0 - t0) * scale);
    const to = Math.min(left + width + 1, left + (span.t1 - t0) * scale);
    context.fillRect(from, y, Math.max(LEAST_PX, to - from - (to - from > 2 ? 0.5 : 0)), BAR);
  }
}

/** A row for each rank of an answer, a column for each part of the time; states on top of each other. As SumsImage, of columns. */
export class RankSumsImage {
  readonly canvas = document.createElement('canvas');
  readonly rowOf = new Map<number, number>();

  constructor({ t0, t1, width, sums }: RankTimeline, hidden: Set<RankState>, css: (name: string) => string) {
    const buckets = Math.max(1, Math.ceil((t1 - t0) / width));
    this.canvas.width = buckets;
    this.canvas.height = Math.max(1, sums.rows.size * SUM_ROWS);
    const context = this.canvas.getContext('2d')!;
    const picture = context.createImageData(buckets, this.canvas.height);
    const pixels = new Uint32Array(picture.data.buffer);
    const colors = [0, ...[1, 2, 3, 4, 5].map((state) => (hidden.has(state) ? 0 : pixelOf(colorOf(state, css))))];
    const filled = new Float32Array(buckets);
    for (const [rank, { from, to }] of sums.rows) {
      this.rowOf.set(rank, this.rowOf.size);
      const floor = this.rowOf.size * SUM_ROWS - 1;
      filled.fill(0);
      for (let row = from; row < to; row++) {
        const bucket = sums.bucket[row];
        const color = colors[sums.state[row]];
        if (!color || !(bucket >= 0 && bucket < buckets)) continue;
        const low = Math.round(filled[bucket] * SUM_ROWS);
        filled[bucket] = Math.min(1, filled[bucket] + sums.share[row]);
        // What is there at all is seen.
        const high = Math.min(SUM_ROWS, Math.max(low + (low === 0 ? 1 : 0), Math.round(filled[bucket] * SUM_ROWS)));
        for (let y = low; y < high; y++) pixels[(floor - y) * buckets + bucket] = color;
      }
    }
    context.putImageData(picture, 0, 0);
  }
}

/** @param middles of the rows, by rank */
export function drawMeetings(context: CanvasRenderingContext2D, { left, width, t0, t1, css }: Area, meetings: Meeting[], middles: Map<number, number>): void {
  const scale = width / (t1 - t0);
  context.fillStyle = css('--mpi-4');
  for (const meeting of meetings) {
    const from = Math.max(left - 1, left + (meeting.t0 - t0) * scale);
    const to = Math.min(left + width + 1, left + (meeting.t1 - t0) * scale);
    if (to < left || from > left + width || to - from < LEAST_BAND_PX) continue;
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
  const { left, width, t0, t1, css } = area;
  const scale = width / (t1 - t0);
  const withHeads = inSight.length <= FEW_ARROWS;
  const draw = (arrow: MessageArrow, color: string, thick: number): void => {
    const [x0, y0, x1, y1] = [left + (arrow.t0 - t0) * scale, middles.get(arrow.from)!, left + (arrow.t1 - t0) * scale, middles.get(arrow.to)!];
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
        context.moveTo(left + (arrow.t0 - t0) * scale, middles.get(arrow.from)!);
        context.lineTo(left + (arrow.t1 - t0) * scale, middles.get(arrow.to)!);
      }
      context.stroke();
    }
  }
  context.globalAlpha = 1;
  if (chosen) draw(chosen, css('--accent'), 2.5);
}

/** The arrow nearest to a point. @param y from the top of the first row */
export function arrowAt(inSight: MessageArrow[], { left, width, t0, t1 }: Area, middles: Map<number, number>, x: number, y: number, within: number): MessageArrow | null {
  const scale = width / (t1 - t0);
  let best: MessageArrow | null = null;
  let distance = within;
  for (const arrow of inSight) {
    const [x0, y0, x1, y1] = [left + (arrow.t0 - t0) * scale, middles.get(arrow.from)!, left + (arrow.t1 - t0) * scale, middles.get(arrow.to)!];
    const [dx, dy] = [x1 - x0, y1 - y0];
    const share = Math.max(0, Math.min(1, ((x - x0) * dx + (y - y0) * dy) / Math.max(1e-9, dx * dx + dy * dy)));
    const away = Math.hypot(x - x0 - share * dx, y - y0 - share * dy);
    if (away >= distance) continue;
    best = arrow;
    distance = away;
  }
  return best;
}
