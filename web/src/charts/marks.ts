// What is painted over a plot besides its values: samples that are missing, times of pause, and labels.

import type { Alarm } from '../session/alarms';
import { GAP_REASONS, PAUSED, type Gap, type Label } from '../session/model';
import { clipped, xOf } from './canvas';
import type { Plane } from './draw';

export type Css = (name: string) => string;

const STRIP_HEIGHT = 5;
const NARROW = 3;
const TEXT_WIDTH = 64;

function hatch(context: CanvasRenderingContext2D, left: number, width: number, plane: Plane, ratio: number): void {
  clipped(context, left, plane.top, width, plane.height, () => {
    context.beginPath();
    const step = 7 * ratio;
    for (let x = Math.floor((left - plane.height) / step) * step; x < left + width; x += step) {
      context.moveTo(x, plane.top + plane.height);
      context.lineTo(x + plane.height, plane.top);
    }
    context.stroke();
  });
}

/** Missing samples are red, with a tick at the bottom that is seen however short they were; pauses are hatched. */
export function paintGaps(context: CanvasRenderingContext2D, plane: Plane, gaps: Gap[], css: Css): void {
  const x = (t: number): number => xOf(plane, t);
  const ratio = devicePixelRatio;
  const texts: { left: number; right: number; text: string; paused: boolean }[] = [];
  context.lineWidth = ratio;
  for (const gap of gaps) {
    if (gap.t1 < plane.t0 || gap.t0 > plane.t1) continue;
    const paused = gap.reason === PAUSED;
    const left = Math.max(x(gap.t0), plane.left - 1);
    const width = Math.min(x(gap.t1), plane.left + plane.width + 1) - left;
    if (paused) {
      context.strokeStyle = css('--pause');
      hatch(context, left, Math.max(width, NARROW * ratio), plane, ratio);
    } else {
      context.fillStyle = css('--gap');
      if (width > NARROW * ratio) context.fillRect(left, plane.top, width, plane.height);
      context.fillStyle = css('--gap-text');
      context.fillRect(left, plane.top + plane.height - STRIP_HEIGHT * ratio, Math.max(width, 1.5 * ratio), STRIP_HEIGHT * ratio);
    }
    if (width > TEXT_WIDTH * ratio && !texts.some((other) => left < other.right && left + width > other.left)) {
      const text = paused ? 'paused' : `${gap.count} ${GAP_REASONS[gap.reason] ?? 'missing'}`;
      texts.push({ left, right: left + width, text, paused });
    }
  }
  context.font = `${10.5 * ratio}px system-ui, sans-serif`;
  context.textAlign = 'center';
  context.textBaseline = 'bottom';
  for (const { left, right, text, paused } of texts) {
    context.fillStyle = css(paused ? '--text-faint' : '--gap-text');
    context.fillText(text, (left + right) / 2, plane.top + plane.height - (STRIP_HEIGHT + 3) * ratio);
  }
}

export function paintLabels(context: CanvasRenderingContext2D, plane: Plane, labels: Label[], css: Css): void {
  const x = (t: number): number => xOf(plane, t);
  const ratio = devicePixelRatio;
  context.strokeStyle = css('--label');
  context.fillStyle = css('--label');
  context.lineWidth = ratio;
  context.font = `600 ${10.5 * ratio}px system-ui, sans-serif`;
  context.textAlign = 'left';
  context.textBaseline = 'top';
  let textEnd = -Infinity;
  for (const label of labels) {
    if (label.t < plane.t0 || label.t > plane.t1) continue;
    const at = Math.round(x(label.t)) + 0.5;
    context.setLineDash([3 * ratio, 3 * ratio]);
    context.beginPath();
    context.moveTo(at, plane.top);
    context.lineTo(at, plane.top + plane.height);
    context.stroke();
    if (at < textEnd) continue;
    const text = label.text.length > 40 ? `${label.text.slice(0, 39)}…` : label.text;
    const width = context.measureText(text).width + 5 * ratio;
    // At the right edge it stands before its line, which would cut it.
    const isBefore = at + width > plane.left + plane.width && at - width > Math.max(plane.left, textEnd);
    context.fillText(text, isBefore ? at - width : at + 5 * ratio, plane.top + 3 * ratio);
    textEnd = at + 5 * ratio + (isBefore ? 0 : width);
  }
  context.setLineDash([]);
}

const ALARM_STRIP_HEIGHT = 4;

/** An alarm is a bar along the top, and a tint below it, for as long as it was on. */
export function paintAlarms(context: CanvasRenderingContext2D, plane: Plane, alarms: Alarm[], newest: number, css: Css): void {
  const x = (t: number): number => xOf(plane, t);
  const ratio = devicePixelRatio;
  context.font = `600 ${10.5 * ratio}px system-ui, sans-serif`;
  context.textAlign = 'left';
  context.textBaseline = 'bottom';
  for (const alarm of alarms) {
    const end = Number.isNaN(alarm.end) ? Math.max(newest, alarm.start) : alarm.end;
    if (end < plane.t0 || alarm.start > plane.t1) continue;
    const left = Math.max(x(alarm.start), plane.left - 1);
    const width = Math.max(Math.min(x(end), plane.left + plane.width + 1) - left, NARROW * ratio);
    context.fillStyle = css(alarm.critical ? '--bad' : '--warn');
    context.globalAlpha = 0.09;
    context.fillRect(left, plane.top, width, plane.height);
    context.globalAlpha = 1;
    context.fillRect(left, plane.top, width, ALARM_STRIP_HEIGHT * ratio);
    if (width > context.measureText(alarm.alarm).width + 10 * ratio) context.fillText(alarm.alarm, left + 5 * ratio, plane.top + plane.height - (STRIP_HEIGHT + 3) * ratio);
  }
}
