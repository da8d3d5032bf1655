// What holds the program back: one line each, first on the page; a click shows why that is said, and what to do.

import { button, el, icon, ICONS } from '../app/dom';
import { formatDuration } from '../charts/format';
import { formatShare } from '../panels/columns';
import { placeText, type Finding, type FindingThread, type Place } from './documents';

export interface FindingsHost {
  onSource(place: Place): void;
  /** When these threads waited. */
  onThreads(threads: number[]): void;
  /** When the ranks of these threads waited, and the messages between them. */
  onRanks(threads: number[]): void;
  onObject(object: number): void;
}

/** Lines at first. */
const FEW = 3;
const MAX_THREADS = 8;


/** A finding stays the same one while its figures change. */
function keyOf(finding: Finding): string {
  return `${finding.class} ${finding.object?.id ?? 0} ${finding.site?.id ?? 0}`;
}

export class Findings {
  readonly root = el('section', { className: 'findings', 'aria-label': 'What holds it back', hidden: true });
  private findings: Finding[] = [];
  private open = '';
  private all = false;
  private drawn = '';

  constructor(private readonly host: FindingsHost) {}

  show(findings: Finding[]): void {
    this.findings = findings;
    this.render();
  }

  private render(): void {
    const { findings } = this;
    this.root.hidden = findings.length === 0;
    const drawn = JSON.stringify([findings, this.open, this.all]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const focused = this.root.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset['key'] : undefined;
    const shown = this.all ? findings : findings.slice(0, FEW);
    const rest = findings.length - shown.length;
    this.root.replaceChildren(
      el('header', {}, el('h2', {}, 'What holds it back'), el('small', {}, 'time that threads lost, and its share of all threads’ time')),
      ...shown.flatMap((finding) => [this.line(finding), ...(keyOf(finding) === this.open ? [this.details(finding)] : [])]),
      rest > 0 || this.all ? this.more(rest) : '');
    if (focused) this.root.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  private line(finding: Finding): HTMLElement {
    const key = keyOf(finding);
    const bar = el('i', {});
    bar.style.width = `${Math.min(100, finding.share * 100).toFixed(1)}%`;
    const line = el('button', { className: 'finding', type: 'button', title: finding.about, 'aria-expanded': String(key === this.open), 'data-key': key },
      el('span', { className: 'finding-share' }, bar, el('b', {}, finding.seconds > 0 ? formatShare(finding.share) : 'may')), el('span', { className: 'finding-time' }, finding.seconds > 0 ? formatDuration(finding.seconds * 1e9) : 'hang'),
      el('em', { className: 'finding-class' }, finding.class), el('span', { className: 'finding-place' }, placeText(finding.site) || finding.object?.name || `${finding.threads_in_all} threads`),
      el('span', { className: 'finding-object' }, finding.site && finding.object ? finding.object.name : ''), icon(ICONS.chevron));
    line.addEventListener('click', () => {
      this.open = key === this.open ? '' : key;
      this.render();
    });
    return line;
  }

  private details(finding: Finding): HTMLElement {
    const { host } = this;
    const { site, object } = finding;
    const action = (text: string, onClick: () => void): HTMLElement => button('finding-action', text, onClick);
    const threads = finding.threads.map((thread) => thread.id);
    const actions = [
      ...(site && site.id > 0 ? [action('Source', () => host.onSource(site))] : []),
      ...(object ? [action('Lock and places', () => host.onObject(object.id))] : []),
      ...(threads.length > 0 ? [action('When they waited', () => (finding.of_ranks ? host.onRanks : host.onThreads)([...threads, ...finding.caused_by.map((thread) => thread.id)]))] : []),
    ];
    const waiters = finding.waiters.slice(0, 4).map((waiter) => el('li', {}, el('b', {}, formatDuration(waiter.seconds * 1e9)), ` in ${waiter.waits} waits of ${waiter.threads} threads at `, this.place(waiter.site)));
    const places = finding.places.map(({ site: where, what }) => el('li', {}, `${what} at `, this.place(where)));
    return el('div', { className: 'finding-details' },
      el('p', { className: 'finding-advice' }, finding.advice),
      el('ul', {}, ...finding.evidence.map((sentence) => el('li', {}, sentence)), ...waiters, ...places),
      el('p', { hidden: threads.length === 0 }, 'Lost it: ', threadsText(finding.threads, finding.threads_in_all), ...(finding.caused_by.length > 0 ? [el('span', {}, '. Because of: ', threadsText(finding.caused_by, finding.caused_by.length))] : [])),
      el('footer', {}, ...actions, el('small', {}, `confidence ${finding.confidence}`)));
  }

  private place(place: Place | null): HTMLElement | string {
    if (!place) return 'an unknown place';
    return button('place', placeText(place), () => this.host.onSource(place), { title: place.file || place.name });
  }

  private more(rest: number): HTMLElement {
    return button('finding-more link', rest > 0 ? `${rest} more` : 'fewer', () => {
      this.all = !this.all;
      this.render();
    });
  }
}

function threadsText(threads: FindingThread[], all: number): string {
  const names = threads.slice(0, MAX_THREADS).map((thread) => `${thread.tid ?? '?'}${thread.name === '' ? '' : ` ${thread.name}`} (${formatDuration(thread.seconds * 1e9)})`);
  const rest = all - names.length;
  return names.join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}
