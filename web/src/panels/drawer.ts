// The tables below the charts, one at a time.

import { el, icon, ICONS } from '../app/dom';

export interface Panel {
  readonly root: HTMLElement;
  readonly count: number;
  /** Rows changed. */
  render(): void;
  /** Values, the cursor or the shown range changed. */
  refresh(): void;
}

interface Tab {
  panel: Panel;
  button: HTMLButtonElement;
  count: HTMLElement;
}

export class Drawer {
  readonly root: HTMLElement;
  private readonly tabs: Tab[];
  private active: Tab;

  /** @param onChange another panel is shown, or none */
  constructor(panels: [string, Panel][], private isOpen: boolean, private readonly onChange: () => void) {
    this.tabs = panels.map(([name, panel], index) => {
      const count = el('b', {});
      const button = el('button', { className: 'drawer-tab', type: 'button', role: 'tab', title: `${name} (${index + 1})` }, name, count);
      const tab = { panel, button, count };
      button.addEventListener('click', () => this.toggle(tab));
      return tab;
    });
    this.active = this.tabs[0];
    const fold = el('button', { className: 'fold', type: 'button', title: 'Open or close the tables (P)', 'aria-label': 'Tables' }, icon(ICONS.chevron));
    fold.addEventListener('click', () => this.toggle(this.active));
    this.root = el('section', { className: 'drawer' }, el('div', { className: 'drawer-tabs' }, fold, el('div', { 'role': 'tablist', 'aria-label': 'Tables' }, ...this.tabs.map((tab) => tab.button))), ...this.tabs.map((tab) => tab.panel.root));
    this.show();
  }

  /** Whether this panel is on screen. */
  shows(panel: Panel): boolean {
    return this.isOpen && this.active.panel === panel;
  }

  /** @param index of the panel; the open one: closes it */
  toggleAt(index: number): void {
    if (this.tabs[index]) this.toggle(this.tabs[index]);
  }

  toggleOpen(): void {
    this.toggle(this.active);
  }

  refresh(): void {
    if (this.isOpen) this.active.panel.refresh();
  }

  showCounts(): void {
    for (const { panel, count } of this.tabs) {
      const text = panel.count > 0 ? String(panel.count) : '';
      if (count.textContent !== text) count.textContent = text;
    }
  }

  private toggle(tab: Tab): void {
    this.isOpen = tab !== this.active || !this.isOpen;
    this.active = tab;
    this.show();
    this.onChange();
  }

  private show(): void {
    this.root.classList.toggle('closed', !this.isOpen);
    for (const tab of this.tabs) {
      const on = this.isOpen && tab === this.active;
      tab.panel.root.hidden = !on;
      tab.button.setAttribute('aria-selected', String(on));
    }
    if (this.isOpen) this.active.panel.render();
  }
}
