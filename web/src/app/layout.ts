// The frame around the charts: bar, side, drawers, dialogs. It knows nothing of data.

import { formatDuration } from '../charts/format';
import { kindName, type ChartsBy, type LinesBy } from '../charts/traces';
import type { ElementKind } from '../session/model';
import { PLOT_HEIGHT } from '../charts/chart';
import { TIME_AXIS_HEIGHT } from '../charts/axes';
import { acceptDrops, button, el, icon, ICONS } from './dom';
import { FILE_KINDS, type FileKind } from './files';
import { readCharts, readLines } from './settings';
import { saveChoice } from './widgets';

export interface LayoutActions {
  onFollow(length?: number): void;
  onAll(): void;
  onTheme(): void;
  onShare(): void;
  /** The recording as a file for others. */
  onSaveFile(kind: FileKind): void;
  onLabel(text: string): void;
  onToken(token: string): void;
  onResize(): void;
  onCharts(charts: ChartsBy): void;
  onLines(lines: LinesBy): void;
  onPause(): void;
  onAlarms(): void;
  onMachine(): void;
  onConsole(): void;
  /** Charts of all elements again. */
  onOnlyEnd(): void;
  onSampling(): void;
  /** @param compare with what is shown, instead of showing it */
  onFile(file: File, compare: boolean): void;
  /** Leave the loaded recording. */
  onBack(): void;
}

/** What the session of this connection allows. */
export interface Abilities {
  label: boolean;
  control: boolean;
  load: boolean;
  compare: boolean;
  run: boolean;
  /** A recording from a file is shown. */
  loaded: boolean;
  /** It can be had as a trace. */
  trace: boolean;
}

/** What the frame holds. */
export interface Parts {
  strip: HTMLElement;
  picker: HTMLElement;
  drawer: HTMLElement;
  navigator: HTMLElement;
  /** Over everything else, when open. */
  floating: HTMLElement[];
}

/** Windows in which the tables are closed at first, and findings take one line. */
export const isSmall = (): boolean => matchMedia('(max-height: 900px), (max-width: 900px)').matches;

/** Small charts stand side by side from here on; the first of them is as wide as the page. */
const TWO_COLUMNS_PX = 760;
const GAP_PX = 12;
/** Title, border and time axis of a small chart. */
const AROUND_PLOT_PX = 36 + TIME_AXIS_HEIGHT;
const LEAST_PLOT_PX = 52;
/** Where they have to be scrolled anyway. */
const SCROLLED_PLOT_PX = 100;
const SCROLLER_PADDING_PX = 16;

const WINDOWS_S = [5, 15, 60, 300, 1800];
const TOAST_MS = 4000;

const KEYS: [string, string][] = [
  ['Drag', 'move in time'], ['Wheel', 'zoom at the pointer'], ['Shift + drag', 'zoom to a range'], ['Double click', 'zoom in'], ['Drag a signal', 'onto a chart: shows it there too'],
  ['← →', 'move'], ['↑ ↓', 'zoom'], ['Space', 'stop and follow again'], ['Home, End', 'first and newest data'], ['A', 'whole session'],
  ['L', 'add a label'], ['1 – 5', 'values, threads, processes, labels, alarms'], ['P', 'tables open or closed'], ['O', 'pause sampling, go on'], ['I', 'sampling intervals'], ['S', 'signals'], ['M', 'the machine'], ['C', 'the console, where there is one'], ['W', 'the next view: charts, locks, graph, timeline, …'], ['T', 'dark or light'], ['/', 'search'], ['Esc', 'close'],
];

function tool(name: string, path: string | null, onClick: () => void, className = 'tool'): HTMLButtonElement {
  return button(className, path ? icon(path) : name, onClick, { 'title': name, 'aria-label': name });
}

export class Layout {
  readonly charts = el('div', { className: 'charts' });
  /** Everything right of the tree; panels that need all of its room are laid over it. */
  readonly main: HTMLElement;
  private readonly rangeBar: HTMLElement;
  /** Above tree and charts, so that they stay where they are whatever is shown. */
  private readonly tabs = el('nav', { className: 'workspace-bar', hidden: true });
  private readonly state = el('span', { className: 'state connecting', role: 'status' });
  private readonly missing = el('span', { className: 'missing' });
  private readonly title = el('h1', {});
  private readonly range = el('span', { className: 'range-text' });
  private readonly moment = el('span', { className: 'moment' });
  private readonly chartsBy = el('select', { className: 'level', 'aria-label': 'One chart a' });
  private readonly linesBy = el('select', { className: 'level', 'aria-label': 'One line a' });
  private readonly windows: HTMLButtonElement[];
  private readonly live: HTMLButtonElement;
  private readonly labelButton: HTMLButtonElement;
  private readonly pauseButton: HTMLButtonElement;
  private readonly samplingButton: HTMLButtonElement;
  private readonly alarmButton: HTMLButtonElement;
  private readonly machineButton: HTMLButtonElement;
  private readonly consoleButton: HTMLButtonElement;
  private readonly only: HTMLButtonElement;
  private readonly openButton: HTMLButtonElement;
  private readonly backButton: HTMLButtonElement;
  private readonly compareButton: HTMLButtonElement;
  private readonly saveMenu: HTMLElement;
  private readonly fileInput = el('input', { type: 'file', accept: '.attune', hidden: true, 'aria-label': 'Recording to load' });
  private readonly compareInput = el('input', { type: 'file', accept: '.attune', hidden: true, 'aria-label': 'Recording to compare with' });
  private readonly loading = el('span', { className: 'loading', role: 'status', hidden: true });
  private readonly labelForm: HTMLFormElement;
  private readonly labelInput = el('input', { type: 'text', placeholder: 'What happens now?', maxLength: 200, 'aria-label': 'Text of the label' });
  private readonly emptyText = el('p', {});
  private readonly empty = el('div', { className: 'empty-charts' }, this.emptyText, el('p', {}, 'Choose signals on the left.'));
  private readonly toasts = el('div', { className: 'toasts', role: 'status' });
  private readonly damage = el('details', { className: 'damage', hidden: true });
  private readonly help: HTMLDialogElement;
  private readonly login: HTMLDialogElement;
  private readonly loginText = el('p', {});

  constructor(private readonly root: HTMLElement, parts: Parts, private readonly actions: LayoutActions) {
    const { picker, drawer, navigator } = parts;
    this.windows = WINDOWS_S.map((seconds) => tool(formatDuration(seconds * 1e9), null, () => actions.onFollow(seconds * 1e9), 'segment'));
    this.live = tool('Live', null, () => actions.onFollow(), 'live');
    this.live.title = 'Follow the newest data (Space)';
    this.labelButton = tool('Add a label (L)', ICONS.flag, () => this.openLabel());
    this.pauseButton = tool('Pause sampling (O)', ICONS.pause, () => actions.onPause());
    this.samplingButton = tool('Sampling intervals (I)', ICONS.gauge, () => actions.onSampling(), 'tool sampling-button');
    this.machineButton = tool('The machine (M)', ICONS.machine, () => actions.onMachine());
    this.consoleButton = tool('Console: run programs (C)', ICONS.console, () => actions.onConsole());
    this.only = button('only', null, () => actions.onOnlyEnd(), { hidden: true, title: 'Charts of all elements again' });
    this.alarmButton = tool('Alarms (5)', ICONS.bell, () => actions.onAlarms(), 'tool alarms');
    this.openButton = tool('Load a recording from a file', ICONS.open, () => this.fileInput.click());
    this.backButton = button('back', icon(ICONS.back), () => actions.onBack());
    this.backButton.append('Back');
    this.saveMenu = saveChoice('Save the recording', FILE_KINDS, (kind) => actions.onSaveFile(kind));
    this.compareButton = tool('Compare with a recording…', ICONS.compare, () => this.compareInput.click());
    for (const input of [this.fileInput, this.compareInput]) {
      input.addEventListener('change', () => {
        const file = input.files?.[0];
        if (file) actions.onFile(file, input === this.compareInput);
        input.value = '';
      });
    }
    this.labelForm = el('form', { className: 'label-form', hidden: true }, this.labelInput, el('button', { type: 'submit', className: 'primary' }, 'Add label'));
    this.labelForm.addEventListener('submit', (event) => {
      event.preventDefault();
      const text = this.labelInput.value.trim();
      if (text !== '') actions.onLabel(text);
      this.closeLabel();
    });
    this.chartsBy.addEventListener('change', () => actions.onCharts(readCharts(this.chartsBy.value)));
    this.linesBy.addEventListener('change', () => actions.onLines(readLines(this.linesBy.value)));
    const bar = el('header', { className: 'bar' },
      tool('Signals (S)', ICONS.sidebar, () => this.toggleSidebar()), el('span', { className: 'brand' }, 'attune'), this.backButton, this.title, this.state, this.missing, this.loading,
      el('span', { className: 'grow' }),
      el('div', { className: 'segments', role: 'group', 'aria-label': 'Length of the window' }, ...this.windows, tool('Whole session (A)', ICONS.all, () => actions.onAll(), 'segment')),
      this.alarmButton, this.live, this.consoleButton, this.machineButton, this.pauseButton, this.samplingButton, this.labelButton, this.openButton, this.fileInput, this.compareButton, this.compareInput, this.saveMenu, tool('Copy a link to this view', ICONS.share, () => actions.onShare()),
      tool('Dark or light (T)', ICONS.moon, () => actions.onTheme(), 'tool theme'), tool('Keys (?)', ICONS.help, () => this.toggleHelp()));
    this.rangeBar = el('div', { className: 'range-bar' }, this.range, this.moment, this.only, el('span', { className: 'grow' }), this.labelForm,
      el('label', { className: 'grouping' }, 'Charts', this.chartsBy), el('label', { className: 'grouping' }, 'Lines', this.linesBy));
    this.main = el('main', {}, this.rangeBar, parts.strip, this.damage,
      el('div', { className: 'chart-scroller' }, this.charts, this.empty), el('div', { className: 'navigator-frame' }, navigator), drawer);
    this.empty.hidden = true;
    // Abilities of the server are known once it has said so; until then nothing of them can be clicked.
    this.setTitle('', { label: false, control: false, load: false, compare: false, run: false, loaded: false, trace: false });
    this.help = this.makeHelp();
    this.login = this.makeLogin();
    root.replaceChildren(bar, this.tabs, el('div', { className: 'body' }, picker, this.main), ...parts.floating, this.toasts, this.help, this.login);
    // A file dropped anywhere is loaded.
    acceptDrops(root, 'dropping', ({ types }) => !this.openButton.hidden && types.includes('Files'), (to) => to === null, ({ files }) => files[0] && actions.onFile(files[0], false));
    const resized = new ResizeObserver(() => actions.onResize());
    for (const element of [this.charts, this.charts.parentElement!]) resized.observe(element);
  }

  /** @param compact one of `count` that share the first screen; the first one is as wide as the page */
  chartWidth(compact: boolean, index: number): number {
    const width = this.charts.clientWidth;
    return Math.max(200, compact && index > 0 && this.hasTwoColumns ? (width - GAP_PX) / 2 : width);
  }

  /** Of plots, so that so many small charts are all on the screen. */
  compactHeight(count: number): number {
    const rows = this.hasTwoColumns ? 1 + Math.ceil((count - 1) / 2) : count;
    const { clientHeight } = this.charts.parentElement!;
    const room = (clientHeight - SCROLLER_PADDING_PX - (rows - 1) * GAP_PX) / rows - AROUND_PLOT_PX;
    return room < LEAST_PLOT_PX ? SCROLLED_PLOT_PX : Math.round(Math.min(PLOT_HEIGHT, room));
  }

  private get hasTwoColumns(): boolean {
    return this.charts.clientWidth >= TWO_COLUMNS_PX;
  }

  setTitle(title: string, can: Abilities): void {
    this.title.textContent = title;
    document.title = title ? `${title} · attune` : 'attune';
    this.labelButton.hidden = !can.label;
    this.pauseButton.hidden = this.samplingButton.hidden = !can.control;
    this.openButton.hidden = !can.load;
    this.compareButton.hidden = !can.compare;
    this.backButton.hidden = !can.loaded;
    this.consoleButton.hidden = !can.run;
    this.saveMenu.hidden = !can.trace;
  }

  setPaused(paused: boolean): void {
    const name = paused ? 'Go on sampling (O)' : 'Pause sampling (O)';
    if (this.pauseButton.title === name) return;
    this.pauseButton.title = name;
    this.pauseButton.setAttribute('aria-label', name);
    this.pauseButton.replaceChildren(icon(paused ? ICONS.play : ICONS.pause));
    this.pauseButton.classList.toggle('on', paused);
  }

  /** @param on raised and not cleared, of `all` that there were */
  setAlarms(on: number, all: number, critical: boolean): void {
    this.alarmButton.hidden = all === 0;
    this.alarmButton.className = `tool alarms${on > 0 ? ' on' : ''}${critical ? ' critical' : ''}`;
    this.alarmButton.title = on > 0 ? `${on} ${on === 1 ? 'alarm is' : 'alarms are'} on, of ${all} (5)` : `No alarm is on; ${all} ${all === 1 ? 'was' : 'were'} (5)`;
    this.alarmButton.setAttribute('aria-label', this.alarmButton.title);
    this.alarmButton.replaceChildren(icon(ICONS.bell), on > 0 ? el('b', {}, String(on)) : '');
  }

  /** @param text '': nothing is loading */
  setLoading(text: string): void {
    this.loading.hidden = text === '';
    this.loading.textContent = text;
  }

  setState(kind: string, text: string, missing: string): void {
    if (this.state.textContent !== text || !this.state.classList.contains(kind)) {
      this.state.className = `state ${kind}`;
      this.state.textContent = text;
    }
    if (this.missing.textContent !== missing) this.missing.textContent = missing;
  }

  /** @param growing a recording that is complete has nothing to follow */
  setRange(growing: boolean, following: boolean, length: number, text: string): void {
    this.live.hidden = !growing;
    if (this.range.textContent !== text) this.range.textContent = text;
    this.live.classList.toggle('on', following);
    this.windows.forEach((segment, i) => segment.classList.toggle('on', Math.abs(length - WINDOWS_S[i] * 1e9) < 1e6));
  }

  /** What the charts are made by, of what is possible. */
  setGrouping(charts: ChartsBy, lines: LinesBy, places: { charts: ElementKind[]; lines: ElementKind[] }): void {
    const option = (value: ChartsBy | LinesBy, text: string): HTMLOptionElement => el('option', { value: String(value) }, text);
    this.chartsBy.replaceChildren(option('signal', 'by signal'), option('sensor', 'by sensor and unit'), ...places.charts.map((kind) => option(kind, `by ${kindName(kind)}`)));
    this.linesBy.replaceChildren(option('each', 'each element'), ...places.lines.map((kind) => option(kind, `sum per ${kindName(kind)}`)));
    this.chartsBy.value = String(charts);
    this.linesBy.value = String(lines);
  }

  setMoment(text: string): void {
    this.moment.textContent = text;
  }

  /** What of the recording could not be read. */
  setDamage(damage: string[]): void {
    this.damage.hidden = damage.length === 0;
    if (damage.length === 0 || this.damage.childElementCount === damage.length + 1) return;
    this.damage.replaceChildren(el('summary', {}, `Parts of this recording could not be read (${damage.length})`), ...damage.map((text) => el('p', {}, text)));
  }

  /** @param text why there is no chart; null: there is one */
  showEmpty(text: string | null): void {
    this.empty.hidden = text === null;
    this.emptyText.textContent = text;
  }

  /** @param element that the charts are of; '': all */
  setOnly(element: string): void {
    this.only.hidden = element === '';
    this.only.replaceChildren(`only ${element}`, icon(ICONS.close));
  }

  /** @param stage takes the place of the charts @param findings come first */
  addWorkspaces(tabs: HTMLElement, findings: HTMLElement[], stage: HTMLElement): void {
    this.tabs.replaceChildren(tabs);
    this.tabs.hidden = false;
    this.rangeBar.after(...findings);
    this.charts.parentElement!.after(stage);
  }

  setConsole(open: boolean): void {
    this.consoleButton.setAttribute('aria-pressed', String(open));
  }

  setMachine(open: boolean): void {
    this.machineButton.setAttribute('aria-pressed', String(open));
  }

  toast(level: string, text: string): void {
    const toast = el('div', { className: `toast ${level}` }, text);
    this.toasts.append(toast);
    window.setTimeout(() => toast.remove(), TOAST_MS);
  }

  openLabel(): void {
    if (this.labelButton.hidden) return;
    this.labelForm.hidden = false;
    this.labelInput.focus();
  }

  toggleSidebar(): void {
    this.root.classList.toggle('sidebar-toggled');
  }

  toggleHelp(): void {
    if (this.help.open) this.help.close();
    else this.help.showModal();
  }

  /** @return whether one was open */
  closeDialogs(): boolean {
    const wasOpen = this.help.open || !this.labelForm.hidden;
    this.closeLabel();
    if (this.help.open) this.help.close();
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    return wasOpen;
  }

  askForToken(text: string): void {
    this.loginText.textContent = text;
    if (!this.login.open) this.login.showModal();
  }

  hideToken(): void {
    if (this.login.open) this.login.close();
  }

  private closeLabel(): void {
    this.labelForm.hidden = true;
    this.labelInput.value = '';
  }

  private makeHelp(): HTMLDialogElement {
    const rows = KEYS.flatMap(([key, what]) => [el('dt', {}, el('kbd', {}, key)), el('dd', {}, what)]);
    return el('dialog', { className: 'help' }, el('header', {}, el('h2', {}, 'Keys and gestures'), tool('Close', ICONS.close, () => this.help.close())), el('dl', {}, ...rows));
  }

  private makeLogin(): HTMLDialogElement {
    const input = el('input', { type: 'password', placeholder: 'http://127.0.0.1:…/#token=…', 'aria-label': 'Address or token', autocomplete: 'off' });
    const form = el('form', {}, el('h2', {}, 'Log in to attune'), this.loginText, input, el('button', { type: 'submit', className: 'primary' }, 'Log in'));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.actions.onToken(/([0-9a-f]+)\s*$/i.exec(input.value)?.[1] ?? '');
    });
    const dialog = el('dialog', { className: 'login' }, form);
    dialog.addEventListener('cancel', (event) => event.preventDefault());
    return dialog;
  }
}
