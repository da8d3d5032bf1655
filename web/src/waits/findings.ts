// What holds the program back: one line each, first on the page; a click shows why that is said, and what to do.

import { button, el, icon, ICONS } from '../app/dom';
import { formatDuration } from '../charts/format';
import { formatShare } from '../panels/columns';
import { findingKey, placeText, type Balance, type Finding, type FindingThread, type Place, type Waits } from './documents';

export interface FindingsHost {
  onSource(place: Place): void;
  /** When it lost its time. */
  onWhen(finding: Finding): void;
  onObject(object: number): void;
}

/** Lines at first. */
const FEW = 3;
const MAX_THREADS = 8;

export class Findings {
  /** What the program does most of the time, and who had the CPUs. */
  readonly verdict = el('section', { className: 'verdict-line', 'aria-label': 'Verdict', hidden: true });
  readonly root = el('section', { className: 'findings', 'aria-label': 'What holds it back', hidden: true });
  private findings: Finding[] = [];
  private open = '';
  private all = false;
  private drawn = '';

  /** @param brief one line is enough at first */
  constructor(private readonly host: FindingsHost, private readonly brief: () => boolean) {}

  /** Shows what is behind one of them. @param key of findingKey() */
  select(key: string): void {
    const at = this.findings.findIndex((finding) => findingKey(finding) === key);
    if (at < 0) return;
    this.open = key;
    if (at >= (this.brief() ? 1 : FEW)) this.all = true;
    this.render();
    this.root.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`)?.scrollIntoView({ block: 'nearest' });
  }

  show({ findings, verdict, balance }: Pick<Waits, 'findings' | 'verdict' | 'balance'>): void {
    this.findings = findings;
    this.verdict.hidden = verdict === null && balance === null;
    const text = verdict?.text ?? '';
    this.verdict.replaceChildren(...(balance ? balanceOf(balance) : []), el('p', { title: text }, text));
    this.render();
  }

  private render(): void {
    const { findings } = this;
    this.root.hidden = findings.length === 0;
    const few = this.brief() ? 1 : FEW;
    const drawn = JSON.stringify([findings, this.open, this.all, few]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const focused = this.root.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset['key'] : undefined;
    const shown = this.all ? findings : findings.slice(0, few);
    const rest = findings.length - shown.length;
    this.root.classList.toggle('brief', few === 1 && !this.all && this.open === '');
    this.root.replaceChildren(
      el('header', {}, el('h2', {}, 'What holds it back'), el('small', {}, 'time that threads lost, and its share of all threads’ time')),
      ...shown.flatMap((finding, i) => [this.line(finding, i + 1), ...(findingKey(finding) === this.open ? [this.details(finding)] : [])]),
      rest > 0 || this.all ? this.more(rest) : '');
    if (focused) this.root.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  /** @param number as on the timeline */
  private line(finding: Finding, number: number): HTMLElement {
    const key = findingKey(finding);
    const bar = el('i', {});
    bar.style.width = `${Math.min(100, finding.share * 100).toFixed(1)}%`;
    const line = el('button', { className: 'finding', type: 'button', title: finding.about, 'aria-expanded': String(key === this.open), 'data-key': key },
      el('span', { className: 'finding-share' }, bar, el('b', {}, finding.seconds > 0 ? formatShare(finding.share) : 'may')), el('span', { className: 'finding-time' }, finding.seconds > 0 ? formatDuration(finding.seconds * 1e9) : 'hang'),
      el('em', { className: 'finding-class' }, el('i', { className: 'finding-number' }, String(number)), finding.class), el('span', { className: 'finding-place' }, placeText(finding.site) || finding.object?.name || `${finding.threads_in_all} threads`),
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
    const actions = [
      ...(site && site.id > 0 ? [action('Source', () => host.onSource(site))] : []),
      ...(object ? [action('Lock and places', () => host.onObject(object.id))] : []),
      ...(finding.threads.length + finding.caused_by.length > 0 ? [action('On the timeline', () => host.onWhen(finding))] : []),
    ];
    const waiters = finding.waiters.slice(0, 4).map((waiter) => el('li', {}, el('b', {}, formatDuration(waiter.seconds * 1e9)), ` in ${waiter.waits} waits of ${waiter.threads} threads at `, this.place(waiter.site)));
    const places = finding.places.map(({ site: where, what }) => el('li', {}, `${what} at `, this.place(where)));
    return el('div', { className: 'finding-details' },
      el('p', { className: 'finding-advice' }, finding.advice),
      el('ul', {}, ...finding.evidence.map((sentence) => el('li', {}, sentence)), ...waiters, ...places),
      el('p', { hidden: finding.threads.length === 0 }, 'Lost it: ', threadsText(finding.threads, finding.threads_in_all), ...(finding.caused_by.length > 0 ? [el('span', {}, '. Because of: ', threadsText(finding.caused_by, finding.caused_by.length))] : [])),
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

/** "2 CPUs", a bar, and "program 37 %, others 31 %, idle 32 %". */
function balanceOf({ cpus, program, others, idle }: Balance): HTMLElement[] {
  const parts: { name: string; share: number }[] = ([['program', program], ['others', others], ['idle', idle]] as const).flatMap(([name, share]) => (share === null ? [] : [{ name, share }]));
  const rest = parts.length === 3 ? 1 - parts.reduce((sum, { share }) => sum + share, 0) : 0;
  if (rest >= 0.01) parts.push({ name: 'not known', share: rest });
  const bar = el('span', { className: 'balance', 'aria-hidden': 'true' }, ...parts.map(({ name, share }) => {
    const part = el('i', { className: name });
    part.style.width = `${(Math.max(0, Math.min(1, share)) * 100).toFixed(1)}%`;
    return part;
  }));
  return [el('b', {}, `${cpus} ${cpus === 1 ? 'CPU' : 'CPUs'}`), bar, el('span', { className: 'balance-text' }, parts.map(({ name, share }) => `${name} ${Math.round(share * 100)} %`).join(', '))];
}
