// Fields and buttons that many panels have.

import { button, el, icon, ICONS } from './dom';

/** A field that filters what is shown. */
export class Search {
  readonly input: HTMLInputElement;
  readonly root: HTMLElement;

  constructor(placeholder: string, label: string, onInput: () => void, ...beside: HTMLElement[]) {
    this.input = el('input', { type: 'search', placeholder, 'aria-label': label, spellcheck: false });
    this.input.addEventListener('input', onInput);
    this.root = el('label', { className: 'search' }, icon(ICONS.search), this.input, ...beside);
  }

  /** All of these are to be found. */
  get words(): string[] {
    return this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
  }
}

/** Buttons of which one is on. */
export class Segments<Value> {
  readonly root: HTMLElement;
  readonly buttons: HTMLButtonElement[];
  private readonly state: string;

  /** @param choices values, texts and hints @param tabs the name of the tabs; absent: they are no tabs */
  constructor(private readonly choices: readonly (readonly [Value, string, string?])[], onChoose: (value: Value) => void, tabs?: string) {
    this.state = tabs === undefined ? 'aria-pressed' : 'aria-selected';
    this.buttons = choices.map(([value, text, title = '']) => button('segment', text, () => onChoose(value), { title, ...(tabs === undefined ? {} : { role: 'tab' }) }));
    this.root = el('div', { className: 'segments', ...(tabs === undefined ? {} : { 'role': 'tablist', 'aria-label': tabs }) }, ...this.buttons);
  }

  show(chosen: Value): void {
    this.buttons.forEach((one, i) => {
      const on = this.choices[i][0] === chosen;
      one.classList.toggle('on', on);
      one.setAttribute(this.state, String(on));
    });
  }
}

export function choiceOf<T extends string>(label: string, options: [T, string][], onChange: (value: T) => void): HTMLSelectElement {
  const select = el('select', { className: 'level', 'aria-label': label }, ...options.map(([value, text]) => el('option', { value }, text)));
  select.addEventListener('change', () => onChange(select.value as T));
  return select;
}

/** Saves what is shown as a file of one of these kinds. */
export function saveChoice<T extends string>(label: string, kinds: readonly T[], onSave: (kind: T) => void): HTMLElement {
  const select = el('select', { className: 'save', 'title': label, 'aria-label': label }, el('option', { value: '' }, 'Save'), ...kinds.map((kind) => el('option', { value: kind }, kind)));
  select.addEventListener('change', () => {
    const kind = kinds.find((known) => known === select.value);
    select.value = '';
    select.blur();
    if (kind !== undefined) onSave(kind);
  });
  return el('span', { className: 'save-choice' }, icon(ICONS.save), select);
}

/** @param what "the machine" @param key that does the same */
export function closeButton(what: string, key: string, onClick: () => void): HTMLButtonElement {
  return button('tool', icon(ICONS.close), onClick, { 'title': `Close ${what} (${key})`, 'aria-label': `Close ${what}` });
}
