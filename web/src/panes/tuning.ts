// What attune tune has tried: each decision with the gain that was predicted and the one that was measured.

import { el } from '../app/dom';
import { csvOf, saveText } from '../app/save';
import { saveChoice } from '../app/widgets';
import { uses } from '../session/documents';
import type { OwnPane, Pane, PaneHost } from '../waits/workspaces';
import './tuning.css';

interface Decision {
  id: number;
  t0: number | null;
  t1: number | null;
  state: string;
  tunlet: string;
  knob: string;
  before: string;
  after: string;
  objective: string;
  expected_gain: number | null;
  gain: number | null;
  low: number | null;
  high: number | null;
  finding: string;
  reason: string;
}

interface Tuning {
  objective: string;
  unit: string;
  decisions: Decision[];
  decisions_in_all: number;
}

declare module '../session/documents' {
  interface DocumentTypes {
    'tuning': Tuning;
  }
}

const HEADINGS = ['What became of it', 'Knob', 'Before', 'After', 'Predicted', 'Measured', 'Why', ''];

/** "+12.3 %", "3.4 times" */
function gainText(gain: number | null): string {
  if (gain === null) return '';
  return gain >= 1 ? `${(1 + gain).toFixed(1)} times` : `${gain >= 0 ? '+' : '−'}${(100 * Math.abs(gain)).toFixed(1)} %`;
}

/** The interval of a gain as a bar from −100 % to the largest of all, with the prediction as a mark. */
function gainBar(decision: Decision, most: number): HTMLElement {
  const at = (gain: number): number => (100 * (Math.min(gain, most) + 1)) / (most + 1);
  const bar = el('div', { className: 'gain-bar', title: 'From −100 %; the line is no gain, the diamond what was predicted' });
  const mark = (className: string, left: number, width: number): void => {
    const part = el('i', { className });
    part.style.left = `${left}%`;
    if (width > 0) part.style.width = `${width}%`;
    bar.append(part);
  };
  mark('gain-none', at(0), 0);
  if (decision.low !== null && decision.high !== null) mark(`gain-interval ${decision.state}`, at(decision.low), Math.max(0.5, at(decision.high) - at(decision.low)));
  if (decision.expected_gain !== null) mark('gain-expected', at(decision.expected_gain), 0);
  return bar;
}

class TuningPane implements Pane {
  readonly root = el('div', { className: 'tuning' });
  readonly documents = [uses('tuning', (tuning) => this.show(tuning))];
  private readonly knob = el('input', { placeholder: 'openmp.team', 'aria-label': 'Knob', autocomplete: 'off' });
  private readonly value = el('input', { placeholder: '2', 'aria-label': 'Value', autocomplete: 'off' });
  private readonly form = el('form', { className: 'tuning-form' }, el('span', {}, 'Try'), this.knob, el('span', {}, '='), this.value, el('button', { type: 'submit' }, 'Try'), el('small', {}, 'attune list knobs has their names and values'));

  private readonly objective = el('small', {});
  /** Apart from the form, in which somebody may be typing when a decision comes. */
  private readonly body = el('div', {});
  private readonly saving = saveChoice('Save the decisions', ['CSV'], () => this.save());
  private decisions: Decision[] = [];

  constructor(private readonly host: PaneHost) {
    this.form.hidden = this.saving.hidden = true;
    this.root.append(el('header', {}, el('h2', {}, 'Tuning'), this.objective, el('span', { className: 'grow' }), this.saving), this.form, this.body);
    this.form.addEventListener('submit', (event) => {
      event.preventDefault();
      if (this.knob.value.trim() !== '' && this.value.value.trim() !== '') host.tune(this.knob.value.trim(), this.value.value.trim());
    });
  }

  refresh(): void {
    // Nothing in it depends on size, theme or range.
  }

  private save(): void {
    const parts = (gain: number | null): number => gain ?? NaN;
    saveText('tuning.csv', 'text/csv', csvOf([['State', 'Knob', 'Before', 'After', 'Predicted gain', 'Measured gain', 'Lowest', 'Highest', 'Tunlet', 'Finding', 'Why'],
      ...this.decisions.map((row) => [row.state, row.knob, row.before, row.after, parts(row.expected_gain), parts(row.gain), parts(row.low), parts(row.high), row.tunlet, row.finding, row.reason])]));
  }

  /** What can be done about a decision: the last one of its knob is what holds. */
  private actions(decision: Decision, isLast: boolean): HTMLElement[] {
    if (!this.host.canTune() || decision.state === 'on trial') return [];
    const action = (text: string, hint: string, value: string): HTMLElement => {
      const made = el('button', { type: 'button', title: hint }, text);
      made.addEventListener('click', () => this.host.tune(decision.knob, value));
      return made;
    };
    if (decision.state === 'kept') return isLast ? [action('Take back', `Sets ${decision.knob} to what it was before`, '')] : [];
    return [action('Try', `Tries ${decision.knob} = ${decision.after}, and keeps it if it helps`, decision.after)];
  }

  private show({ objective, decisions, decisions_in_all }: Tuning): void {
    this.form.hidden = !this.host.canTune();
    this.decisions = decisions;
    this.saving.hidden = decisions.length === 0;
    this.objective.textContent = objective === '' ? '' : `objective: ${objective}`;
    if (decisions.length === 0) {
      this.body.replaceChildren(el('p', { className: 'tuning-none' }, 'Nothing was tuned. attune tune -- PROGRAM makes a program faster while it runs.'));
      return;
    }
    const most = Math.max(0.5, ...decisions.flatMap(({ high, expected_gain }) => [high ?? 0, expected_gain ?? 0]));
    const last = new Map(decisions.map(({ knob, id }) => [knob, id]));
    const row = (decision: Decision): HTMLElement =>
      el(
        'tr',
        { className: decision.state },
        el('td', {}, el('b', { className: 'tuning-state' }, decision.state)),
        el('td', {}, decision.knob),
        el('td', {}, decision.before),
        el('td', {}, decision.after),
        el('td', {}, gainText(decision.expected_gain)),
        el('td', {}, el('span', {}, gainText(decision.gain)), gainBar(decision, most)),
        el('td', { className: 'tuning-reason' }, decision.reason),
        el('td', {}, ...this.actions(decision, last.get(decision.knob) === decision.id)),
      );
    const left = decisions_in_all - decisions.length;
    this.body.replaceChildren(
      el('table', {}, el('thead', {}, el('tr', {}, ...HEADINGS.map((heading) => el('th', {}, heading)))), el('tbody', {}, ...decisions.map(row))),
      el('p', { className: 'tuning-none' }, left > 0 ? `and ${left} more: attune query FILE "select * from decisions"` : ''),
    );
  }
}

export const PANE: OwnPane = { tab: ['tuning', 'Tuning', 'What was changed while it ran, and what that gained'], make: (host) => new TuningPane(host) };
