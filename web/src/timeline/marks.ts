// Findings on the timeline: a row for each that says when it lost its time, and a mark on the rows of its threads.

import { within } from '../charts/traces';
import { ElementKind, type SessionModel } from '../session/model';
import type { Range } from '../session/view';
import { findingKey, type Finding, type Waits } from '../waits/documents';
import { extentOf, LEAST_PX, type Area } from './draw';
import type { Row } from './rows';
import type { Answer, Span } from './spans';

/** A part of the time in which a finding lost some. */
export interface MarkPart extends Range {
  /** Loss in this part by the largest loss in any part: 0 to 1. */
  weight: number;
}

export interface Mark {
  /** As on the page: counts from 1. */
  number: number;
  key: string;
  finding: Finding;
  /** Threads and ranks that lost the time, and those because of which they did. */
  losers: ReadonlySet<number>;
  causes: ReadonlySet<number>;
  /** When; null: it is not known, and may be at any time in the lives of its threads. */
  parts: MarkPart[] | null;
}

/** @param times of each finding, as Waits has them */
export function marksOf(findings: Finding[], times: Waits['finding_times'], model: SessionModel): Mark[] {
  const withRanks = (threads: { id: number }[]): Set<number> => new Set(threads.flatMap(({ id }) => [id, within(model, id, ElementKind.Rank)?.id ?? []].flat()));
  return findings.map((finding, i) => ({
    number: i + 1, key: findingKey(finding), finding, losers: withRanks(finding.threads), causes: withRanks(finding.caused_by), parts: partsOf(times?.[i], model.origin),
  }));
}

function partsOf(when: [number, number, number][] | undefined, origin: bigint): MarkPart[] | null {
  if (!when || when.length === 0) return null;
  const rates = when.map(([t0, t1, lost]) => lost / Math.max(1, t1 - t0));
  const most = Math.max(...rates);
  return when.map(([t0, t1], i) => ({ t0: t0 - Number(origin), t1: t1 - Number(origin), weight: most > 0 ? rates[i] / most : 1 }));
}

/** From the begin of a finding to its end. @param whole where that is not known */
export function rangeOf({ parts }: Mark, whole: Range): Range {
  if (!parts || parts.length === 0) return whole;
  return { t0: Math.max(whole.t0, parts[0].t0), t1: Math.min(whole.t1, parts[parts.length - 1].t1) };
}

/** Whether the row is about one that the finding is about. */
export function concerns({ losers, causes }: Mark, { thread, rank }: Row): 'loser' | 'cause' | null {
  const is = (set: ReadonlySet<number>): boolean => (thread !== null && set.has(thread.id)) || (rank !== null && set.has(rank.id));
  return is(losers) ? 'loser' : is(causes) ? 'cause' : null;
}

/** Single waits of a finding: those at its places, or for its object. */
export function waitsOf({ finding }: Mark, spans: readonly (Span & { object?: number })[]): Range[] {
  const sites = new Set([finding.site, ...finding.waiters.map(({ site }) => site)].flatMap((site) => (site && site.id > 0 ? [site.id] : [])));
  const object = finding.object?.id ?? 0;
  return spans.filter((span) => (object > 0 && span.object === object) || sites.has(span.site));
}

/** Whether all threads of the finding are listed. */
function isWhole({ finding }: Mark): boolean {
  return finding.threads_in_all <= finding.threads.length;
}

/** Whether the finding has nothing to do with the row, as far as that is known. @param answer as of markRanges() */
export function isApart(mark: Mark, row: Row, answer: Answer<Span> | null): boolean {
  if (concerns(mark, row) !== null) return false;
  return isWhole(mark) || (answer?.single === true && waitsOf(mark, answer.spans.get(row.thread?.id ?? 0) ?? []).length === 0);
}

/** Times of a mark on a row; empty: it has none. @param answer of what is on screen, with single waits where `single`; null: none of this row */
export function markRanges(mark: Mark, row: Row, life: Range, answer: Answer<Span> | null): Range[] {
  const role = concerns(mark, row);
  if (answer?.single && row.thread && (role === 'loser' || (role === null && !isWhole(mark)))) {
    const waits = waitsOf(mark, answer.spans.get(row.thread.id) ?? []);
    if (waits.length > 0 || role === null) return waits;
  }
  if (role === null) return [];
  return (mark.parts ?? [life]).flatMap(({ t0, t1 }) => (t1 < life.t0 || t0 > life.t1 ? [] : [{ t0: Math.max(t0, life.t0), t1: Math.min(t1, life.t1) }]));
}

/** A finding's own row: when it lost how much. @param waits of it, where they are known one by one @param isChosen looks different */
export function drawMarkRow(context: CanvasRenderingContext2D, area: Area, mark: Mark, waits: Range[], whole: Range, top: number, height: number, isChosen: boolean): void {
  const { css } = area;
  context.fillStyle = context.strokeStyle = css('--warn');
  const parts = waits.length > 0 ? waits.map((range) => ({ ...range, weight: 0.3 })) : (mark.parts ?? [{ ...whole, weight: 0 }]);
  for (const part of parts) {
    const at = extentOf(area, part);
    if (!at) continue;
    context.globalAlpha = (isChosen ? 0.4 : 0.2) + 0.55 * part.weight;
    const wide = Math.max(LEAST_PX, at.to - at.from);
    context.fillRect(at.from, top + 4, wide, height - 8);
    if (waits.length > 0 || mark.parts !== null) continue;
    context.setLineDash([3, 3]);
    context.strokeRect(at.from + 0.5, top + 4.5, wide - 1, height - 9);
    context.setLineDash([]);
  }
  context.globalAlpha = 1;
}

/** Height of a mark above a bar. */
const LINE = 2;

export function drawMark(context: CanvasRenderingContext2D, area: Area, ranges: Range[], top: number, color: string, alpha: number): void {
  context.fillStyle = color;
  context.globalAlpha = alpha;
  let drawnTo = -Infinity;
  for (const range of ranges) {
    const at = extentOf(area, range);
    // Many short ones in a pixel are one.
    if (!at || at.to <= drawnTo) continue;
    drawnTo = Math.max(at.to, at.from + 1.5);
    context.fillRect(at.from, top, drawnTo - at.from, LINE);
  }
  context.globalAlpha = 1;
}

/** The number of a finding in a circle. @param x its middle */
export function drawBadge(context: CanvasRenderingContext2D, css: (name: string) => string, number: number, x: number, y: number, isSolid: boolean): void {
  context.beginPath();
  context.arc(x, y, BADGE / 2, 0, Math.PI * 2);
  context.lineWidth = 1.2;
  context.strokeStyle = context.fillStyle = css('--warn');
  if (isSolid) context.fill();
  else context.stroke();
  context.font = '600 9.5px system-ui, sans-serif';
  context.textAlign = 'center';
  context.fillStyle = css(isSolid ? '--surface' : '--warn');
  context.fillText(String(number), x, y + 0.5);
  context.textAlign = 'left';
}

export const BADGE = 13;
