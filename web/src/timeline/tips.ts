// Tooltips of the timeline.

import { dot, el } from '../app/dom';
import { formatBytes, formatCount, formatDuration } from '../charts/format';
import { elementName } from '../charts/traces';
import { RankState, type MessageArrow, type RankSpan } from '../messages/timeline';
import type { SessionModel } from '../session/model';
import { placeText, type Place } from '../waits/documents';
import type { LockHold, WaitSpan } from '../waits/timeline';
import type { Stretch, ThreadAccount } from './account';
import type { Mark } from './marks';
import { callState, LOOKS, waitState, type State } from './states';

export interface TipHost {
  model: SessionModel;
  css(name: string): string;
  placeOf(site: number): Place | null;
}

/** Instead of a name that is not known. */
const OTHER = 'another one';
const LEAST_SHARE = 0.005;
/** Of a life: what is said as 0.1 % or more. */
const LEAST_PART = 0.0005;

export class Tips {
  constructor(private readonly host: TipHost) {}

  /** A line that begins with a state's colour. */
  line(color: string, text: string): HTMLElement {
    return el('p', {}, dot(color), text);
  }

  state(state: State, text: string): HTMLElement {
    return this.line(this.host.css(LOOKS[state].color), text);
  }

  /** "at add_result (queue.cpp:71)" */
  place(before: string, site: number): HTMLElement {
    return el('p', {}, `${before} ${placeText(this.host.placeOf(site)) || 'an unknown place'}`);
  }

  /** @param otherwise without such an element */
  nameOf(id: number, otherwise: string): string {
    const element = this.host.model.elements.get(id);
    return element ? elementName(element) : otherwise;
  }

  wait(span: WaitSpan, giver: number | undefined): Node[] {
    const state = waitState(span.kind);
    const length = formatDuration(span.t1 - span.t0);
    const object = this.nameOf(span.object, LOOKS[state].name);
    const until = giver !== undefined && this.host.model.elements.has(giver) ? [el('p', {}, `until ${this.nameOf(giver, '')} let it go on`)] : [];
    return [this.state(state, state === 'sleep' ? `sleeps for ${length}` : `waits ${length} for ${object}`), this.place('at', span.site), ...until];
  }

  call(span: RankSpan): Node[] {
    return [this.state(callState(span.state), this.callText(span)), this.place('at', span.site)];
  }

  private callText(span: RankSpan): string {
    const call = this.nameOf(span.function, OTHER);
    const length = formatDuration(span.t1 - span.t0);
    const of = span.sequence > 0 ? ` of ${this.nameOf(span.communicator, OTHER)}, its ${formatCount(span.sequence)}.` : '';
    if (span.state === RankState.Messages) return `sends or receives for ${length}, by ${call}`;
    if (span.state === RankState.Collective) return `in ${call}${of} for ${length}`;
    const whom = span.state === RankState.LateSender ? 'a message that is not sent yet' : span.state === RankState.LateReceiver ? 'its message to be received' : 'others to come';
    return `waits ${length} for ${whom}, by ${call}${of}`;
  }

  message(arrow: MessageArrow): Node[] {
    const waited = arrow.waited > 0 ? `, waited for ${formatDuration(arrow.waited)}` : '';
    return [el('b', {}, `${this.nameOf(arrow.from, OTHER)} → ${this.nameOf(arrow.to, OTHER)}`), el('p', {}, `${formatBytes(arrow.bytes)}, tag ${arrow.tag}, ${this.nameOf(arrow.communicator, OTHER)}`),
      el('p', {}, `there after ${formatDuration(arrow.t1 - arrow.t0)}${waited}`), this.place('sent at', arrow.site)];
  }

  hold(hold: LockHold, color: string): Node {
    const place = placeText(this.host.placeOf(hold.site));
    return this.line(color, holdText(hold, this.nameOf(hold.object, 'a lock')) + (place === '' ? '' : `, from ${place}`));
  }

  /** What a thread did around a moment. */
  stretch({ t0, t1, states }: Stretch): Node[] {
    const shares = states.map(([state, ns]) => ({ state, share: Math.min(1, ns / (t1 - t0)) })).filter(({ share }) => share >= LEAST_SHARE);
    const lines = shares.map(({ state, share }) => this.state(state, `${Math.round(share * 100)} % ${LOOKS[state].name}`));
    return [...lines, el('p', {}, `${lines.length > 0 ? 'of' : 'asleep in'} these ${formatDuration(t1 - t0)}`)];
  }

  /** All that a thread did, the most first: "In all: 82.9 % join, 11.5 % runnable, no CPU, of 290 ms". */
  account({ life, sums, unknown }: ThreadAccount): Node {
    const states: [string, number][] = [...[...sums].map(([state, ns]): [string, number] => [LOOKS[state].name, ns]), ['not known', unknown]];
    const parts = states.map(([name, ns]) => ({ name, share: ns / life })).filter(({ share }) => share >= LEAST_PART).sort((a, b) => b.share - a.share);
    return el('p', { className: 'in-all' }, `In all: ${parts.map(({ name, share }) => `${(share * 100).toFixed(1)} % ${name}`).join('; ')}; of ${formatDuration(life)}`);
  }

  /** "finding 1: lock-contention, flush_table (many_threads.c:61)" */
  finding({ number, finding }: Mark): Node {
    return this.line(this.host.css('--warn'), `finding ${number}: ${finding.class}${placeText(finding.site) === '' ? '' : `, ${placeText(finding.site)}`}`);
  }

  findingRow(mark: Mark): Node[] {
    const { finding } = mark;
    const lost = finding.seconds > 0 ? `${formatDuration(finding.seconds * 1e9)} lost, ${(finding.share * 100).toFixed(1)} % of all threads’ time` : finding.about;
    const when = mark.parts === null ? [el('p', {}, 'at which time is not recorded')] : [];
    return [this.finding(mark), el('p', {}, lost), ...when, el('p', {}, `${finding.threads_in_all} ${finding.threads_in_all === 1 ? 'thread' : 'threads'} · a click shows why, and marks them`)];
  }
}

/** "mutex 0x5581c0a01040 for 1.2 ms", or as much of it as is known. */
export function holdText(hold: LockHold, name: string): string {
  if (hold.open) return `has ${name}: its release is not recorded`;
  if (hold.holds === 1) return `has ${name} for ${formatDuration(hold.held)}`;
  return `has ${name} ${hold.holds} times in ${formatDuration(hold.t1 - hold.t0)}, ${Math.round((hold.held / Math.max(1, hold.t1 - hold.t0)) * 100)} % of it`;
}
