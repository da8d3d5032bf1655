// The bar in which formulas over events are written: a preview while one is typed, and the formulas that are columns of the table.

import { button, el, icon, ICONS } from '../app/dom';
import { formatValue } from '../charts/format';
import { figure } from '../panels/columns';
import type { Column } from '../panels/table';
import { FormulaError, type Formula } from './formula';
import { readFormula, SECONDS, valueOf, type Counted } from './rows';

const MAX_FORMULAS = 8;
/** The hint names as many events. */
const MAX_NAMED = 4;
const LEAST_FIXED = 0.001;

export interface FormulaHost {
  /** What was chosen in the pane: the formulas. */
  chosen(): string[];
  choose(formulas: string[]): void;
  /** What a formula is previewed of, and how that is called. */
  whole(): { about: string; counted: Counted } | null;
  /** The columns are others. @param added one more than before */
  onColumns(added: boolean): void;
}

export function formulaText(value: number): string {
  if (value !== 0 && Math.abs(value) < LEAST_FIXED) return value.toPrecision(3);
  return formatValue(value, { unit: '', factor: 1, prefixes: 'decimal' });
}

export class FormulaBar {
  readonly root: HTMLElement;
  formulas: string[] = [];
  private readonly input: HTMLInputElement;
  private readonly preview = el('output', { className: 'counter-preview' });
  private readonly addButton = el('button', { type: 'submit', className: 'finding-action' }, 'Add a column');
  private readonly chips = el('span', { className: 'counter-chips' });

  /** @param id of the preview: two bars may be on the page @param example of a formula */
  constructor(id: string, example: string, private readonly host: FormulaHost) {
    this.input = el('input', { 'placeholder': example, 'aria-label': 'Formula', 'aria-describedby': id, 'autocomplete': 'off', 'spellcheck': false, 'maxLength': 400 });
    this.preview.id = id;
    const form = el('form', { className: 'counter-formula' }, el('label', {}, el('span', {}, 'Formula'), this.input), this.addButton, this.chips, this.preview);
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.add();
    });
    this.input.addEventListener('input', () => this.showPreview());
    this.root = form;
  }

  restore(): void {
    this.show(this.host.chosen().slice(-MAX_FORMULAS));
  }

  /** Puts the name of an event where the cursor is. */
  insert(name: string): void {
    const { input } = this;
    const [from, to] = [input.selectionStart ?? input.value.length, input.selectionEnd ?? input.value.length];
    const before = input.value.slice(0, from);
    const space = before === '' || /[\s(]$/.test(before) ? '' : ' ';
    input.setRangeText(`${space}${name}`, from, to, 'end');
    input.focus();
    this.showPreview();
  }

  /** The counts are others. */
  showPreview(): void {
    const whole = this.host.whole();
    const text = this.input.value.trim();
    const formula = whole && text !== '' ? readFormula(text, whole.counted.events) : null;
    const isWrong = formula instanceof FormulaError;
    this.preview.classList.toggle('wrong', isWrong);
    this.input.setAttribute('aria-invalid', String(isWrong));
    this.addButton.disabled = formula === null || isWrong;
    if (formula === null) this.preview.textContent = `${[...(whole?.counted.events ?? ['Events']).slice(-MAX_NAMED), SECONDS].join(', ')}, numbers, + - * / ( ); times are in ns`;
    else if (isWrong) this.preview.textContent = formula.message;
    else if (whole) {
      const value = valueOf(formula, whole.counted);
      this.preview.textContent = Number.isNaN(value) ? `has no value for ${whole.about}` : `${whole.about}: ${formulaText(value)}`;
    }
  }

  /** @param of what was counted in a row; null: nothing is known of it any more */
  column<Row>(text: string, of: (row: Row) => Counted | null): Column<Row> {
    let known: { events: Counted['events']; formula: Formula | FormulaError } | null = null;
    const value = (row: Row): number => {
      const counted = of(row);
      if (!counted) return NaN;
      // The events may be others than before.
      if (known?.events !== counted.events) known = { events: counted.events, formula: readFormula(text, counted.events) };
      return known.formula instanceof FormulaError ? NaN : valueOf(known.formula, counted);
    };
    return figure(text, text, 'minmax(116px, 1fr)', value, formulaText);
  }

  private add(): void {
    const whole = this.host.whole();
    const read = readFormula(this.input.value, whole?.counted.events ?? []);
    if (!whole || read instanceof FormulaError) return;
    const isThere = this.formulas.includes(read.text) || whole.counted.events.includes(read.text);
    if (!isThere) this.set([...this.formulas, read.text].slice(-MAX_FORMULAS), true);
    this.input.value = '';
    this.showPreview();
  }

  private set(formulas: string[], added = false): void {
    this.host.choose(formulas);
    this.show(formulas, added);
  }

  private show(formulas: string[], added = false): void {
    this.formulas = formulas;
    this.chips.replaceChildren(...formulas.map((text) => button('counter-chip', el('span', {}, text), () => {
      this.set(this.formulas.filter((other) => other !== text));
      this.input.focus();
    }, { 'title': 'Remove this column', 'aria-label': `Remove the column ${text}` })));
    for (const chip of this.chips.children) chip.append(icon(ICONS.close));
    this.host.onColumns(added);
  }
}
