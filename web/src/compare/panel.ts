// The comparison of two recordings: the programs' figures first, then what holds them back, what their threads waited for and the
// difference of their flame graphs; last the signals, a ranked table with intervals and the lines of both. Loaded when needed.

import './compare.css';
import { button, el } from '../app/dom';
import { closeButton, Search } from '../app/widgets';
import { formatCount, formatDuration, percentOf } from '../charts/format';
import { SessionModel, type RawMessage } from '../session/model';
import { partsOf } from '../panels/columns';
import { Table, type Column } from '../panels/table';
import { PairChart, type PairRequest } from './pair_chart';
import { FlameDifference } from './flames';
import {
  atPlace, betterSignal, displayOfChange, formatFigure, formatMean, formatRelative, intervalOf, judgeChange, judgeFigure, position,
  readComparison, relativeOf, seriesOf, verdict, type Change, type Comparison, type Figure, type FindingChange, type Verdict, type WaitChange,
} from './comparison';

export interface CompareHost {
  /** What is shown on the page: the first recording. */
  model: SessionModel;
  css(name: string): string;
  request(pair: PairRequest): void;
  onDiscrete(discrete: boolean): void;
  onClose(): void;
}

const VERDICTS: Record<Verdict, string> = {
  'higher': 'The interval leaves out no change, and the change is at least 5 %',
  'lower': 'The interval leaves out no change, and the change is at least 5 %',
  'too little': 'Surely different, but by less than 5 %',
  'by chance': 'The interval holds no change: runs scatter as much by themselves',
};

/** Where the interval plot has its marks. */
const MARKS: [number, string][] = [[-0.9, '÷10'], [-0.5, '÷2'], [-0.1, '−10 %'], [0, '0'], [0.1, '+10 %'], [1, '×2'], [9, '×10']];

function percentAt(at: number): string {
  return `${((at + 1) * 50).toFixed(2)}%`;
}

/** Shorter waits are not worth a row. */
const LEAST_WAIT_S = 1e-3;
const FEW_WAITS = 8;

function seconds(value: number | null): string {
  return value === null ? '–' : formatDuration(value * 1e9);
}

function head(figures: string[]): HTMLElement {
  return el('div', { className: 'compare-line head' }, ...figures.map((text) => el('span', { className: 'number' }, text)), el('span', {}, 'change'), el('span', {}));
}

/** @param judged whether the change is for the better or the worse */
function line(figures: string[], word: string, judged: string, what: string): HTMLElement {
  return el('div', { className: 'compare-line' }, ...figures.map((text) => el('span', { className: 'number' }, text)), el('em', { className: `change ${judged}` }, word), el('span', { className: 'compare-what', title: what }, what));
}

export class ComparePanel {
  readonly root: HTMLElement;
  readonly chart: PairChart;
  comparison: Comparison | null = null;
  private readonly heading = el('div', { className: 'compare-names' });
  private readonly lead = el('section', { className: 'compare-lead', 'aria-label': 'The programs' });
  private readonly busier = el('p', { className: 'compare-busier', role: 'status', hidden: true });
  private readonly findings = el('section', { 'className': 'compare-section', 'aria-label': 'What holds the programs back' });
  private readonly waits = el('section', { 'className': 'compare-section', 'aria-label': 'What threads waited for' });
  readonly flames = new FlameDifference();
  private readonly signals: HTMLElement;
  private allWaits = false;
  private readonly summary = el('span', { className: 'compare-summary' });
  private readonly search = new Search('Filter signals', 'Filter signals', () => this.showRows());
  private readonly all = el('input', { type: 'checkbox' });
  private readonly discrete = el('input', { type: 'checkbox' });
  private readonly table: Table<Change>;
  private selected: Change | null = null;

  constructor(private readonly host: CompareHost) {
    this.chart = new PairChart({ css: host.css, request: host.request });
    this.table = new Table<Change>('Nothing changed by this much. “Also what did not change” shows the rest.', (change) => this.select(change));
    this.table.setColumns(this.columns());
    this.all.addEventListener('change', () => this.showRows());
    this.discrete.addEventListener('change', () => {
      this.discrete.disabled = true;
      this.summary.textContent = 'Comparing …';
      host.onDiscrete(this.discrete.checked);
    });
    this.signals = el('section', { 'className': 'compare-signals', 'aria-label': 'Signals' }, el('header', {}, el('h3', {}, 'Signals')), this.chart.root,
      el('div', { className: 'compare-bar' }, this.summary, el('span', { className: 'grow' }), el('label', {}, this.discrete, 'Each element by itself'), el('label', {}, this.all, 'Also what did not change'),
        this.search.root), this.table.root);
    this.root = el('section', { className: 'compare', 'aria-label': 'Comparison' },
      el('header', { className: 'compare-head' }, this.heading, el('span', { className: 'grow' }), closeButton('the comparison', 'Esc', () => host.onClose())),
      el('div', { className: 'compare-body' }, this.lead, this.busier, this.findings, this.waits, this.flames.root, this.signals));
  }

  /** @throws SyntaxError on what is no comparison */
  take(message: RawMessage): void {
    this.comparison = readComparison(message);
    this.discrete.disabled = false;
    const { title, beforeNs, afterNs, busier, flames, signals } = this.comparison;
    const name = (which: string, text: string, length: number): HTMLElement => el('span', { className: 'compare-name' }, el('i', { className: which }), el('b', {}, text), el('small', {}, formatDuration(length)));
    this.heading.replaceChildren(name('solid', this.host.model.title, beforeNs), el('span', { className: 'compare-arrow' }, '→'), name('dashed', title, afterNs));
    this.showLead(this.comparison.run);
    this.busier.hidden = busier === '';
    this.busier.textContent = busier;
    this.showFindings(this.comparison.findings);
    this.showWaits(this.comparison.waits);
    this.flames.show(flames);
    this.signals.hidden = signals.length === 0;
    this.showRows();
    const first = this.rows()[0] ?? this.comparison.signals[0];
    if (first) this.select(first);
  }

  /** What was asked for cannot be compared: what is here stays. */
  failed(): void {
    if (!this.discrete.disabled) return;
    this.discrete.disabled = false;
    this.discrete.checked = !this.discrete.checked;
    this.showRows();
  }

  /** The lines that were asked for. */
  takePair({ envelope, frames }: RawMessage): void {
    const [before, after] = [new SessionModel(), new SessionModel()];
    const count = Number(envelope.get('before') ?? 0);
    before.applyTables(frames.slice(0, count));
    after.applyTables(frames.slice(count));
    this.chart.take(Number(envelope.get('id')), before, after);
  }

  /** Looks or size changed. */
  refresh(): void {
    this.chart.draw();
    this.table.refresh();
  }

  /** Wall time first, larger than the others. */
  private showLead(run: Figure[]): void {
    this.lead.hidden = run.length === 0;
    this.lead.replaceChildren(...run.map((figure, i) => el('div', { className: `compare-figure${i === 0 ? ' first' : ''}` },
      el('span', {}, figure.name.replace(/_/g, ' ')), el('b', {}, formatFigure(figure, figure.after)),
      el('small', {}, `${formatFigure(figure, figure.before)} before, `, el('em', { className: `change ${judgeFigure(figure)}` }, formatRelative(relativeOf(figure)))))));
  }

  private showFindings(findings: FindingChange[]): void {
    const row = ({ class: name, site, before, after }: FindingChange): HTMLElement => {
      const word = before === null ? 'new' : after === null ? 'gone' : formatRelative(relativeOf({ before, after }));
      const judged = before === null ? 'bad' : after === null ? 'good' : judgeFigure({ name, unit: 's', before, after });
      return line([seconds(before), seconds(after)], word, judged, atPlace(name, site));
    };
    this.findings.replaceChildren(el('header', {}, el('h3', {}, 'What holds it back'), el('small', {}, 'time that threads lost')), findings.length > 0 ? head(['before', 'after']) : '', ...findings.map(row),
      findings.length === 0 ? el('p', { className: 'compare-note' }, 'Nothing was found in either run.') : '');
  }

  private showWaits(waits: WaitChange[] | null): void {
    const worth = (waits ?? []).filter(({ before, after }) => Math.max(before, after) >= LEAST_WAIT_S);
    const shown = this.allWaits ? worth : worth.slice(0, FEW_WAITS);
    const cell = (time: number, count: number): string => (count === 0 ? '–' : `${formatDuration(time * 1e9)} in ${formatCount(count)}`);
    const row = ({ kind, site, before, after, before_waits: a, after_waits: b }: WaitChange): HTMLElement =>
      line([cell(before, a), cell(after, b)], a === 0 ? 'new' : b === 0 ? 'gone' : formatRelative(relativeOf({ before, after })), judgeFigure({ name: kind, unit: 's', before, after }), atPlace(kind, site));
    const more = button('link', this.allWaits ? 'fewer' : `${worth.length - shown.length} more`, () => {
      this.allWaits = !this.allWaits;
      this.showWaits(waits);
    }, { hidden: worth.length <= FEW_WAITS });
    this.waits.hidden = waits !== null && worth.length === 0;
    this.waits.replaceChildren(el('header', {}, el('h3', {}, 'Locks, and what else threads waited for'), el('small', {}, 'by place, the largest difference first')), ...(waits === null ? [el('p', { className: 'compare-note' }, 'Waits were not seen in both runs, and are not compared.')] : [head(['before, in waits', 'after, in waits']), ...shown.map(row), more]));
  }

  private rows(): Change[] {
    const { words } = this.search;
    return (this.comparison?.signals ?? []).filter((change) => (this.all.checked || change.changed) && words.every((word) => `${change.sensor} ${change.signal} ${change.element}`.toLowerCase().includes(word)));
  }

  private showRows(): void {
    const { comparison } = this;
    if (!comparison) return;
    const only = [comparison.onlyBefore, comparison.onlyAfter].map((names, i) => (names.length > 0 ? ` · ${names.length} only in the ${i === 0 ? 'first' : 'second'}` : '')).join('');
    this.summary.textContent = `${comparison.changed} of ${comparison.signals.length} signals changed${only}`;
    this.summary.title = [...comparison.onlyBefore.slice(0, 20).map((name) => `only in the first: ${name}`), ...comparison.onlyAfter.slice(0, 20).map((name) => `only in the second: ${name}`)].join('\n');
    this.table.setRows(this.rows());
  }

  private select(change: Change): void {
    const { comparison, host } = this;
    if (!comparison) return;
    this.selected = change;
    const discrete = comparison.signals.some((one) => one.element !== '');
    const series: [ReturnType<typeof seriesOf>, ReturnType<typeof seriesOf>] = [seriesOf(host.model, change, discrete), seriesOf(comparison.other, change, discrete)];
    const count = Math.max(series[0].length, series[1].length);
    const of = count > 1 ? ` · ${change.rate ? 'sum' : 'mean'} of ${count}` : '';
    const maximum = change.most_percent === undefined ? NaN : (series[1][0]?.maxPerSecond ?? NaN);
    const shown = maximum > 0 ? { display: percentOf(maximum), unit: `of at most ${change.most_percent} %` } : { display: displayOfChange(change), unit: displayOfChange(change).unit };
    this.chart.show(`${change.sensor} ${change.signal}${change.element === '' ? '' : ` ${change.element}`}${of}`, shown.display, shown.unit, [host.model.title, comparison.title], series, Math.max(comparison.beforeNs, comparison.afterNs));
    this.table.refresh();
  }

  private columns(): Column<Change>[] {
    return [
      {
        title: 'Signal', numeric: false, width: 'minmax(150px, 1.5fr)', rank: (change) => `${change.sensor} ${change.signal}`,
        show: (change, cell) => {
          cell.parentElement?.classList.toggle('current', change === this.selected);
          const [name, element] = partsOf(cell, 'span', 'small');
          name.textContent = `${change.sensor} ${change.signal}`;
          element.textContent = change.element;
          cell.title = `${name.textContent} ${change.element}`;
          return null;
        },
      },
      { title: 'Before', hint: 'Mean over the first recording', numeric: true, width: 'minmax(84px, 0.7fr)', rank: (change) => change.before, show: (change) => formatMean(change, 'before') },
      { title: 'After', hint: 'Mean over the second recording', numeric: true, width: 'minmax(84px, 0.7fr)', rank: (change) => change.after, show: (change) => formatMean(change, 'after') },
      { title: 'Change', numeric: true, width: '92px', rank: (change) => (change.relative === null ? Infinity : Math.abs(change.relative)), show: (change) => formatRelative(change.relative) },
      {
        title: '95 % interval of the change', hint: 'Dot: the change. Bar: where the true one lies, at 95 % for all signals together', numeric: false, width: 'minmax(180px, 1.3fr)',
        head: () => el('span', { className: 'interval-marks' }, ...MARKS.map(([relative, text]) => {
          const mark = el('span', {}, text);
          mark.style.left = percentAt(position(relative));
          return mark;
        })),
        show: (change, cell) => this.showInterval(change, cell),
      },
      {
        title: 'Verdict', numeric: false, width: '92px', rank: (change) => verdict(change),
        show: (change, cell) => {
          const word = verdict(change);
          const [badge] = partsOf(cell, 'em');
          badge.className = `verdict ${word.replace(' ', '-')} ${change.changed ? judgeChange(change.before, change.after, betterSignal(change)) : ''}`;
          badge.textContent = word === 'higher' ? '▲ higher' : word === 'lower' ? '▼ lower' : word;
          badge.title = VERDICTS[word];
          return null;
        },
      },
    ];
  }

  private showInterval(change: Change, cell: HTMLElement): null {
    if (cell.childElementCount === 0) {
      cell.classList.add('interval');
      cell.append(...MARKS.map(([relative]) => {
        const mark = el('u', relative === 0 ? { className: 'same' } : {});
        mark.style.left = percentAt(position(relative));
        return mark;
      }), el('i', {}), el('b', {}));
    }
    const [bar, dot] = [...cell.children].slice(-2) as HTMLElement[];
    const interval = intervalOf(change);
    bar.hidden = dot.hidden = interval === null;
    cell.classList.toggle('changed', change.changed);
    if (!interval) return null;
    bar.style.left = percentAt(interval.low);
    bar.style.width = `max(2px, ${((interval.high - interval.low) * 50).toFixed(2)}%)`;
    dot.style.left = percentAt(interval.mean);
    return null;
  }
}
