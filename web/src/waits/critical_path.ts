// What had to happen one after the other for the program to end when it did, and what not to wait for would save at best
// (docs/critical-path.md).

import { button, el } from '../app/dom';
import { formatDuration } from '../charts/format';
import { formatShare } from '../panels/columns';
import type { CriticalPath } from './documents';

export interface CriticalPathHost {
  /** When this thread waited. */
  onThreads(threads: number[]): void;
  onObject(object: number): void;
}

export interface PathPart {
  kind: 'thread' | 'others' | 'handing-over' | 'unknown';
  /** Of a thread. */
  thread: number;
  name: string;
  hint: string;
  share: number;
}

/** Threads that do less of it are one part. */
const LEAST_SHARE = 0.02;
const MOST_THREADS = 12;
/** What would save less is not worth a word. */
const LEAST_SAVED = 0.01;
const MOST_WHAT_IFS = 3;
/** Narrower parts have no name. */
const LEAST_NAMED = 0.05;

/** Of the whole length, in the order in which they are drawn. */
export function partsOf(path: CriticalPath): PathPart[] {
  const share = (ns: number): number => (path.length_ns > 0 ? ns / path.length_ns : 0);
  const text = (ns: number, what: string): string => `${formatShare(share(ns))}, ${formatDuration(ns)}: ${what}`;
  const parts: PathPart[] = [];
  const shown = path.threads.filter((thread) => share(thread.ns) >= LEAST_SHARE).slice(0, MOST_THREADS);
  for (const { thread, tid, name, ns } of shown) {
    const full = `${name === '' ? 'thread' : name} ${tid ?? ''}`.trim();
    parts.push({ kind: 'thread', thread, name: name || full, hint: text(ns, `${full} ran`), share: share(ns) });
  }
  const others = path.threads.slice(shown.length);
  const othersNs = others.reduce((sum, thread) => sum + thread.ns, 0);
  if (othersNs > 0) parts.push({ kind: 'others', thread: 0, name: `${others.length} more`, hint: text(othersNs, `${others.length} more threads ran`), share: share(othersNs) });
  if (path.handing_over_ns > 0) {
    const most = path.objects[0];
    parts.push({ kind: 'handing-over', thread: 0, name: 'handing over', hint: text(path.handing_over_ns, `from a release until the other thread went on${most ? `, most of it at ${most.name}, ${most.times} times` : ''}`), share: share(path.handing_over_ns) });
  }
  if (path.unknown_ns > 0) parts.push({ kind: 'unknown', thread: 0, name: 'not known', hint: text(path.unknown_ns, 'waiting, not known for whom'), share: share(path.unknown_ns) });
  return parts;
}

export class CriticalPathPanel {
  readonly root = el('section', { className: 'critical', 'aria-label': 'Critical path', hidden: true });
  private drawn = '';

  constructor(private readonly host: CriticalPathHost) {}

  /** @param path null: there is nothing to say */
  show(path: CriticalPath | null): void {
    const drawn = JSON.stringify(path);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    this.root.hidden = path === null;
    if (!path) return;
    this.root.replaceChildren(
      el('header', {}, el('h3', {}, 'Critical path'), el('small', {}, `what had to happen one after the other in these ${formatDuration(path.length_ns)}: work on it, and the program ends earlier`)),
      el('div', { className: 'critical-bar' }, ...partsOf(path).map((part) => this.part(part))), ...this.whatIfs(path));
  }

  private part({ kind, thread, name, hint, share }: PathPart): HTMLElement {
    const text = share >= LEAST_NAMED ? `${formatShare(share)} ${name}` : '';
    const className = `critical-part ${kind}`;
    const part = thread > 0 ? button(className, text, () => this.host.onThreads([thread]), { 'title': hint, 'aria-label': `${text} ${hint}`.trim() }) : el('span', { className, title: hint }, text);
    part.style.flex = `${share} 1 0`;
    return part;
  }

  private whatIfs(path: CriticalPath): HTMLElement[] {
    const worth = path.what_if.filter(({ saved_ns: saved }) => saved >= LEAST_SAVED * path.length_ns).slice(0, MOST_WHAT_IFS);
    if (worth.length === 0) return [];
    return [el('p', {}, 'Had nobody waited for ', ...worth.flatMap(({ object, name, saved_ns: saved }, i) => {
      const link = button('place', name, () => this.host.onObject(object), { title: 'Where it is waited for' });
      return [i === 0 ? '' : '; for ', link, `: ${formatDuration(saved)} less at best, ${formatShare(saved / path.length_ns)}`];
    }))];
  }
}
