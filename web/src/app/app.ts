// The page: joins the connection, the model, the view and the panels, and draws when something changed.

import { Chart, DEFAULT_OPTIONS, PLOT_HEIGHT } from '../charts/chart';
import { plotWidthIn } from '../charts/axes';
import { pointsOfLine } from '../charts/detail';
import { formatClock, formatCount, formatDate, formatRange } from '../charts/format';
import { arrangeFirstLook, defaultSelection, elementName, groupSeries, isIn, placesOf, signatureOf, type ChartGroup } from '../charts/traces';
import { Adder } from '../panels/adder';
import { AlarmList } from '../panels/alarms';
import { Drawer } from '../panels/drawer';
import { LabelList } from '../panels/labels';
import { Navigator } from '../panels/navigator';
import { Picker } from '../panels/picker';
import { ProcessList } from '../panels/processes';
import { Sampling } from '../panels/sampling';
import { Strip } from '../panels/strip';
import { ThreadTable } from '../panels/threads';
import { ValueTable } from '../panels/values';
import type { ComparePanel } from '../compare/panel';
import type { ConsolePanel } from '../console/panel';
import type { MachinePanel } from '../machine/panel';
import type { WaitsPage } from '../waits/page';
import type { Alarm } from '../session/alarms';
import { Connection, logIn, type ConnectionHandlers, type ConnectionState, type Transport } from '../session/connection';
import { ElementKind, PAUSED, SessionModel, type Applied } from '../session/model';
import { TimeView, type Range } from '../session/view';
import type { Frame } from '../wire/frame';
import { Comparing } from './comparing';
import { addGestures } from './gestures';
import { addKeys } from './keys';
import { isSmall, Layout } from './layout';
import { AddressBar, keepToken, keptToken, linkFor, readLink, takeToken } from './link';
import { newSettings } from './settings';
import { Files } from './files';
import { TextPace } from './text_pace';
import { css, isDark, startTheme, toggleTheme } from './theme';

const MAX_SERIES = 1024;
/** What the server takes: of charts, tables and the machine together. */
const MAX_WANTED = 2048;
/** Scrolling by less than this is not worth drawing everything again. */
const LEAST_SCROLL_PX = 0.6;
/** As much wider or narrower than what was asked for a plot may be. */
const SPARE_PIXELS = 0.1;
const CREDITS = 2;
const LINK_DELAY_MS = 400;
const MAX_AGES = 2000;
const ALARMS_TAB = 4;
/** On both sides of a run that has ended. */
const RUN_MARGIN = 0.02;

export class App {
  readonly model = new SessionModel();
  readonly view = new TimeView(this.model.extent);
  readonly selected = new Set<number>();
  readonly settings = newSettings();
  /** For the browser tests: messages drawn, the newest view asked for and drawn, and the last ages of drawn data in ms. */
  drawnUpdates = 0;
  lastRequestedView = 0;
  lastDrawnView = 0;
  readonly ages: number[] = [];
  private readonly connection: Transport;
  private readonly layout: Layout;
  private readonly picker: Picker;
  private readonly processes: ProcessList;
  private readonly threads: ThreadTable;
  private readonly values: ValueTable;
  private readonly labels: LabelList;
  private readonly alarms: AlarmList;
  private readonly drawer: Drawer;
  private readonly sampling: Sampling;
  private readonly navigator: Navigator;
  private readonly adder: Adder;
  private readonly strip: Strip;
  private machine: MachinePanel | null = null;
  /** Public for the browser tests. */
  waits: WaitsPage | null = null;
  private waitsComing = false;
  private charts: Chart[] = [];
  private groups: ChartGroup[] = [];
  private cursor = NaN;
  private owedCredits = 0;
  private pickerIsOld = false;
  private answeredView = 0;
  /** What there is was asked for before the page's code was there. */
  private greeted = false;
  /** The series asked for last. */
  private requested = '';
  private requestedPixels = 0;
  private dirty = true;
  private lastFrameMs = 0;
  private readonly textPace = new TextPace();
  private drawnEnd = 0;
  /** Time of the newest data on screen. */
  private newest = 0;
  private linkTimer = 0;
  private readonly address = new AddressBar();
  private readonly files = new Files({
    send: (message) => this.connection.send(message),
    sendFile: (file, compare, onProgress) => this.connection.sendFile(file, compare, onProgress),
    model: this.model,
    view: this.view,
    setLoading: (text) => this.layout.setLoading(text),
    toast: (level, text) => this.layout.toast(level, text),
  });
  private started = false;
  /** A program that was started had not ended when it was heard of last. */
  private runs = false;
  private wasLoaded = false;
  private state: ConnectionState = 'connecting';
  /** When the server was heard last; NaN: it is there. */
  private goneSince = NaN;
  private readonly comparison = new Comparing({
    model: this.model,
    send: (message) => this.connection.send(message),
    place: () => this.layout.main,
    setLoading: (text) => this.layout.setLoading(text),
    onError: (text) => this.layout.toast('error', text),
  });
  /** Public for the browser tests. */
  console: ConsolePanel | null = null;

  /** @param connect makes what answers the page */
  constructor(root: HTMLElement, connect: (handlers: ConnectionHandlers) => Transport = (handlers) => new Connection(handlers)) {
    startTheme(() => this.themeChanged());
    const show = (range: Range): void => this.show(range);
    const range = (): Range => this.view.range;
    this.picker = new Picker({ model: this.model, selected: this.selected, onSelect: () => this.selectionChanged() });
    this.processes = new ProcessList({ model: this.model, range, onShow: show });
    this.navigator = new Navigator({ model: this.model, range, onShow: show, ask: (document) => this.connection.send({ document }), redraw: () => (this.dirty = true) });
    this.threads = new ThreadTable({
      model: this.model, range, moment: () => this.moment(),
      onSelect: (series) => {
        for (const id of series) this.selected.add(id);
        this.selectionChanged();
      },
    });
    this.values = new ValueTable({ charts: () => this.charts, range });
    this.labels = new LabelList({ model: this.model, onGo: (t) => show({ t0: t - this.view.length / 2, t1: t + this.view.length / 2 }) });
    this.alarms = new AlarmList({ model: this.model, onGo: (alarm) => this.goTo(alarm) });
    this.drawer = new Drawer([['Values', this.values], ['Threads', this.threads], ['Processes', this.processes], ['Labels', this.labels], ['Alarms', this.alarms]], !isSmall(), () => this.tablesChanged());
    this.sampling = new Sampling({
      model: this.model,
      onInterval: (sensor, ns) => this.connection.send({ control: { interval_ns: ns, ...(sensor === '' ? {} : { sensor }) } }),
    });
    this.adder = new Adder({
      model: this.model,
      onAdd: (chart, series) => this.addTo(chart.group, series),
      onRemove: (series) => {
        for (const id of series) this.selected.delete(id);
        this.selectionChanged();
      },
      added: (chart) => chart.traces.flatMap((trace) => trace.series.filter((series) => this.settings.placed.get(series.id) === chart.group.key)),
    });
    this.strip = new Strip({ model: this.model, range, moment: () => this.moment(), css, onSelect: (series) => this.toggleSeries(series) });
    this.layout = new Layout(root, { strip: this.strip.root, picker: this.picker.root, drawer: this.drawer.root, navigator: this.navigator.root, floating: [this.sampling.root, this.adder.root] }, {
      onFollow: (length) => this.follow(length),
      onAll: () => this.showAll(),
      onTheme: () => {
        toggleTheme();
        this.themeChanged();
      },
      onShare: () => void this.share(),
      onFile: (file, compare) => void this.files.load(file, compare),
      onSaveFile: (kind) => this.files.ask(kind),
      onLabel: (text) => this.addLabel(text),
      onToken: (token) => void this.start(token),
      onPause: () => this.pause(),
      onSampling: () => this.sampling.toggle(),
      onBack: () => this.connection.restart(),
      onCharts: (charts) => {
        this.settings.charts = charts;
        this.rebuild();
      },
      onLines: (lines) => {
        this.settings.lines = lines;
        this.settings.linesOf.clear();
        this.rebuild();
      },
      onMachine: () => void this.toggleMachine(),
      onConsole: () => void this.toggleConsole(),
      onOnlyEnd: () => this.showOnly(0, []),
      onAlarms: () => this.drawer.toggleAt(ALARMS_TAB),
      onResize: () => this.resized(),
    });
    this.connection = connect({ onState: (state) => this.stateChanged(state), onMessage: (message) => this.take(message) });
    addKeys(this.keyActions());
    window.addEventListener('hashchange', () => {
      if (takeToken() === null) this.applyLink();
    });
    requestAnimationFrame((now) => this.frame(now));
  }

  /** Public for the browser tests. */
  get comparing(): ComparePanel | null {
    return this.comparison.panel;
  }

  async start(token: string | null = takeToken()): Promise<void> {
    this.greeted = true;
    if (await this.connection.goOn()) {
      if (token !== null) keepToken(token);
      return;
    }
    this.greeted = false;
    if (token !== null && !(await logIn(token).catch(() => false))) {
      this.layout.askForToken('This token is not the server’s. Copy the whole address that attune printed.');
      return;
    }
    if (token !== null) keepToken(token);
    await this.connection.connect();
  }

  // ---- messages -------------------------------------------------------------------------------------------------------

  private stateChanged(state: ConnectionState): void {
    this.state = state;
    if (state === 'open') this.goneSince = NaN;
    else if (state === 'waiting' && Number.isNaN(this.goneSince)) this.goneSince = Date.now();
    this.waits?.setGone(Number.isNaN(this.goneSince) ? '' : this.goneText());
    this.showState();
    this.showRange();
    if (state === 'refused') this.layout.askForToken('Open the address that attune printed, or paste it here.');
    else this.layout.hideToken();
  }

  private take(message: ArrayBuffer | Frame[]): void {
    let applied: Applied;
    try {
      applied = this.model.apply(message);
    } catch (error) {
      this.layout.toast('error', `A message could not be read: ${error instanceof Error ? error.message : String(error)}`);
      return;
    }
    if (applied.notice?.level === 'error') {
      this.layout.setLoading('');
      this.comparing?.failed();
    }
    if (applied.notice) this.layout.toast(applied.notice.level, applied.notice.text);
    if (applied.error) this.layout.toast('error', applied.error);
    if (applied.hello) this.greet(applied.restarted);
    if (applied.raw?.kind === 'comparison' || applied.raw?.kind === 'pair') void this.comparison.take(applied.raw);
    else if (applied.raw?.kind === 'console') this.console?.take(applied.raw);
    else if (applied.raw && !this.files.take(applied.raw) && !this.navigator.take(applied.raw)) this.waits?.take(applied.raw);
    if (!applied.update) return;
    this.owedCredits++;
    if (applied.view !== null) this.answeredView = applied.view;
    // An answer to what was asked before has series that nobody shows any more.
    if (this.answeredView !== this.lastRequestedView) this.forgetUnused();
    this.view.setExtent(this.model.extent);
    if (applied.metadata) this.metadataChanged();
    if (applied.processes) this.programsChanged();
    if (applied.labels) this.labels.render();
    if (applied.alarms) this.alarmsChanged();
    this.dirty = true;
    this.showState();
    this.drawer.showCounts();
    this.layout.setDamage(this.model.damage);
    if (applied.metadata) queueMicrotask(() => this.ask());
  }

  /** A new connection: asks again for what is on screen, continuing from what is held. */
  private greet(restarted: boolean): void {
    const { model } = this;
    this.layout.setTitle(model.title, { label: model.canLabel, control: model.canControl, load: model.canLoad, compare: model.canCompare, run: model.canRun, loaded: model.loaded, trace: model.canAnalyse && !model.exported });
    this.layout.setLoading('');
    this.comparison.greet(restarted);
    if (this.console?.root.isConnected) this.console.connected();
    this.waits?.reconnected(restarted);
    this.navigator.reconnected(restarted);
    this.owedCredits = 0;
    if (restarted) this.started = this.runs = false;
    // The link is of what was shown before.
    if (restarted && model.loaded !== this.wasLoaded) history.replaceState(null, '', '#');
    this.wasLoaded = model.loaded;
    if (!this.greeted) this.connection.send({ credits: CREDITS, revision: this.model.revision });
    this.greeted = false;
    this.alarmsChanged();
    if (this.started) this.request(true);
  }

  private alarmsChanged(): void {
    this.alarms.render();
    const on = this.model.alarms.filter((alarm) => Number.isNaN(alarm.end));
    this.layout.setAlarms(on.length, this.model.alarms.length, on.some((alarm) => alarm.critical));
  }

  /** A run that ends while it is followed comes into view as a whole; what somebody else looks at stays. */
  private programsChanged(): void {
    this.processes.render();
    const { model, view } = this;
    const ranBefore = this.runs;
    this.runs = model.processes.size > 0 && model.ended === '';
    if (!ranBefore || this.runs || !model.growing || !view.following) return;
    const { t0, t1 } = model.run;
    const margin = Math.max(1e6, (t1 - t0) * RUN_MARGIN);
    this.show({ t0: t0 - margin, t1: t1 + margin });
    this.layout.toast('ok', `The program ${model.ended}. This is the whole run; Live (Space) follows the machine.`);
  }

  /** The time around an alarm, with the series that it is about. */
  private goTo({ start, end, series }: Alarm): void {
    const last = Number.isNaN(end) ? Math.max(start, this.model.extent.t1) : end;
    const margin = Math.max(5e9, (last - start) * 0.5);
    this.show({ t0: start - margin, t1: last + margin });
    this.goToCharts([series]);
  }

  /** Selects series and scrolls to the first one's chart. */
  private goToCharts(series: number[]): void {
    const known = series.filter((id) => this.model.series.has(id));
    if (known.length === 0) return;
    for (const id of known) this.selected.add(id);
    this.selectionChanged();
    this.charts.find((chart) => chart.traces.some((trace) => trace.series.some((one) => one.id === known[0])))?.root.scrollIntoView({ block: 'center' });
  }

  private metadataChanged(): void {
    const { model } = this;
    this.strip.render();
    if (!this.started && this.model.series.size > 0) {
      this.started = true;
      this.applyLink();
    } else {
      this.renderPicker();
    }
    if (!this.waits && model.canAnalyse && [...model.elements.values()].some((element) => element.kind === ElementKind.Thread)) void this.openWaits();
    this.threads.render();
    this.sampling.render();
    this.machine?.render();
    if (this.wanted().join() !== this.requested) this.view.invalidate();
    if (signatureOf(this.groupsNow()) !== signatureOf(this.groups)) this.rebuild();
  }

  // ---- what is shown --------------------------------------------------------------------------------------------------

  private applyLink(): void {
    this.address.taken();
    const link = readLink(this.settings);
    const known = (link.series ?? []).filter((id) => this.model.series.has(id));
    this.selected.clear();
    for (const id of link.series !== null ? known : defaultSelection(this.model)) this.selected.add(id);
    if (link.series === null) for (const { key, stack } of arrangeFirstLook(this.model, this.settings)) if (stack) this.settings.options.set(key, { ...DEFAULT_OPTIONS, style: 'stack' });
    if (link.from !== null && link.to !== null && link.from < link.to) {
      this.view.show({ t0: this.model.fromWallMs(link.from / 1e3), t1: this.model.fromWallMs(link.to / 1e3) });
    } else if (link.follow !== null) {
      this.follow(link.follow * 1e9);
    } else if (!this.model.growing) {
      this.showAll();
    }
    this.renderPicker();
    this.waits?.restore(this.settings.workspace);
    // The server answers while the charts are made.
    this.groups = this.groupsNow();
    if (this.connection.open) this.request(false);
    this.rebuild(this.groups);
  }

  private groupsNow(): ChartGroup[] {
    return groupSeries(this.model, this.inSight(), this.settings);
  }

  /** What is chosen, of the element that the charts are of. */
  private inSight(): number[] {
    const { only } = this.settings;
    if (!this.model.elements.has(only)) return [...this.selected];
    return [...this.selected].filter((id) => isIn(this.model, this.model.series.get(id)?.element ?? 0, only));
  }

  /** Puts series into another chart than their own: on the axis that has their unit, or on the free one. */
  private addTo({ key }: ChartGroup, series: number[]): void {
    for (const id of series) {
      this.selected.add(id);
      this.settings.placed.set(id, key);
    }
    const shown = this.groupsNow().find((group) => group.key === key)?.traces.flatMap((trace) => trace.series.map((one) => one.id)) ?? [];
    const refused = series.filter((id) => !shown.includes(id));
    for (const id of refused) this.settings.placed.delete(id);
    if (refused.length > 0) this.layout.toast('error', 'This chart already has two units: what has a third one got a chart of its own.');
    this.selectionChanged();
  }

  /** Chooses all of these, or none if all were. */
  private toggleSeries(series: number[]): void {
    const all = series.every((id) => this.selected.has(id));
    for (const id of series) {
      if (all) this.selected.delete(id);
      else this.selected.add(id);
    }
    this.selectionChanged();
  }

  private async toggleMachine(): Promise<void> {
    if (this.machine) {
      this.machine.root.remove();
      this.machine = null;
    } else {
      const { MachinePanel } = await import('../machine/panel');
      this.machine ??= new MachinePanel({
        model: this.model, dark: isDark,
        moment: () => this.moment(),
        only: () => this.settings.only,
        onOnly: (element, heat) => this.showOnly(element, heat),
        onSignal: () => this.tablesChanged(),
        onClose: () => void this.toggleMachine(),
      });
      this.layout.charts.parentElement!.before(this.machine.root);
    }
    this.layout.setMachine(this.machine !== null);
    this.tablesChanged();
  }

  private async toggleConsole(): Promise<void> {
    if (this.console?.root.isConnected) {
      this.console.root.remove();
      this.console.closed();
    } else if (this.model.canRun) {
      const { ConsolePanel } = await import('../console/panel');
      this.console ??= new ConsolePanel({
        token: keptToken,
        send: (console) => this.connection.send({ console }),
        toast: (level, text) => this.layout.toast(level, text),
        onClose: () => void this.toggleConsole(),
      });
      this.layout.main.append(this.console.root);
      this.console.connected();
    }
    this.layout.setConsole(this.console?.root.isConnected ?? false);
  }

  /** What threads wait for: there are some. */
  private async openWaits(): Promise<void> {
    if (this.waitsComing) return;
    this.waitsComing = true;
    const loaded = await import('../waits/page').catch(() => null);
    if (!loaded) {
      this.layout.toast('error', 'The connection broke while the charts of waits were loaded: reload the page.');
      return;
    }
    const { WaitsPage } = loaded;
    const { workspace } = this.settings;
    this.waits = new WaitsPage({
      model: this.model, view: this.view, css, dark: isDark,
      send: (message) => this.connection.send(message),
      onMoved: () => this.moved(),
      onCursor: (t) => this.moveCursor(t),
      redraw: () => (this.dirty = true),
      onSeries: () => this.tablesChanged(),
      onCharts: (series) => {
        this.waits?.show('charts');
        this.goToCharts(series);
      },
      chosen: (pane) => this.settings.chosen.get(pane) ?? [],
      choose: (pane, words) => {
        this.settings.chosen.set(pane, words);
        this.moved();
      },
      onWorkspace: (workspace) => {
        this.settings.workspace = workspace;
        this.tablesChanged();
        this.moved();
      },
    });
    this.layout.addWorkspaces(this.waits.tabs, [this.waits.findings.verdict, this.waits.findings.root], this.waits.stage);
    this.waits.show(workspace);
  }

  /** @param heat what is shown of the element where nothing of it was chosen */
  private showOnly(element: number, heat: number[]): void {
    this.settings.only = element;
    if (element !== 0 && this.inSight().length === 0) for (const id of heat) this.selected.add(id);
    this.selectionChanged();
  }

  private selectionChanged(): void {
    for (const id of this.settings.placed.keys()) if (!this.selected.has(id)) this.settings.placed.delete(id);
    if (this.selected.size > MAX_SERIES) {
      this.layout.toast('error', `At most ${MAX_SERIES} series can be shown at once.`);
      for (const id of [...this.selected].slice(MAX_SERIES)) this.selected.delete(id);
    }
    this.forgetUnused();
    this.rebuild();
    this.renderPicker();
  }

  /** What the charts and the open table show; the server takes so many at most. */
  private wanted(): number[] {
    const ids = new Set([...this.inSight(), ...this.strip.wanted(), ...(this.drawer.shows(this.threads) ? this.threads.wanted() : []), ...(this.machine?.wanted() ?? []), ...(this.waits?.wanted() ?? [])]);
    return [...ids].filter((id) => this.model.series.has(id)).slice(0, MAX_WANTED);
  }

  private forgetUnused(): void {
    const wanted = new Set(this.wanted());
    for (const id of this.model.points.keys()) if (!wanted.has(id)) this.model.points.delete(id);
  }

  private tablesChanged(): void {
    this.forgetUnused();
    this.view.invalidate();
    this.dirty = true;
  }

  /** The charts come first: a tree of some hundred signals takes as long as they do. */
  private renderPicker(): void {
    this.pickerIsOld = this.lastDrawnView === 0 && this.selected.size > 0;
    if (!this.pickerIsOld) this.picker.render();
  }

  private rebuild(groups = this.groupsNow()): void {
    for (const chart of this.charts) chart.destroy();
    this.groups = groups;
    this.charts = this.groups.map((group) => this.makeChart(group));
    this.groups.forEach(({ compact }, i) => this.charts[i].root.classList.toggle('wide', !compact || i === this.firstCompact));
    this.layout.charts.replaceChildren(...this.charts.map((chart) => chart.root));
    this.alignCharts();
    this.layout.setGrouping(this.settings.charts, this.settings.lines, placesOf(this.model, this.inSight()));
    const only = this.model.elements.get(this.settings.only);
    this.layout.setOnly(only ? elementName(only) : '');
    this.values.render();
    this.drawer.showCounts();
    this.layout.showEmpty(this.charts.length > 0 || this.model.series.size === 0 ? null : only ? `None of the chosen signals is one of ${elementName(only)}.` : 'Nothing is selected.');
    if (!this.isAsked) this.view.invalidate();
    this.moved();
  }

  private get firstCompact(): number {
    return this.groups.findIndex(({ compact }) => compact);
  }

  private widthOf(group: ChartGroup): number {
    return this.layout.chartWidth(group.compact, this.groups.indexOf(group) - this.firstCompact);
  }

  private makeChart(group: ChartGroup): Chart {
    return new Chart({
      model: this.model,
      dark: isDark,
      css,
      range: () => this.view.range,
      cursor: () => this.cursor,
      moment: () => this.moment(),
      onCursor: (t) => this.moveCursor(t),
      onAppear: () => (this.dirty = true),
      onOptions: (options) => {
        this.settings.options.set(group.key, options);
        this.alignCharts();
        this.view.invalidate();
        this.moved();
      },
      onLines: (lines) => {
        this.settings.linesOf.set(group.key, lines);
        this.rebuild();
      },
      onAdd: (series) => this.addTo(group, series),
      plotHeight: () => (group.compact ? this.layout.compactHeight(this.groups.filter(({ compact }) => compact).length) : PLOT_HEIGHT),
      addButton: (chart) => this.adder.button(chart),
    }, group, this.settings.options.get(group.key) ?? DEFAULT_OPTIONS, this.widthOf(group), false,
    (plot) => addGestures(plot, { view: this.view, onMoved: () => this.moved() }));
  }

  /** Times stand above each other in all charts: where one has a second axis, the others leave its room. */
  private alignCharts(): void {
    const keepRight = this.charts.some((chart) => chart.hasRightAxis);
    for (const chart of this.charts) chart.keepRoom(keepRight);
  }

  private moveCursor(t: number): void {
    this.cursor = t;
    for (const chart of this.charts) chart.showCursor(t);
    this.drawer.refresh();
    this.strip.refresh();
    this.machine?.refresh();
    this.layout.setMoment(Number.isNaN(t) ? '' : `${formatDate(this.model.wallMs(t))} ${formatClock(this.model.wallMs(t), Math.min(1e6, this.view.length / 2000))}`);
  }

  /** The moment whose values are shown: the cursor's, or the newest one in sight. */
  private moment(): number {
    return Number.isNaN(this.cursor) ? Math.min(this.view.range.t1, this.model.extent.t1) : this.cursor;
  }

  show(range: Range): void {
    this.view.show(range);
    this.moved();
  }

  private showAll(): void {
    const { t0, t1 } = this.model.extent;
    const margin = Math.max(1e6, (t1 - t0) * 0.01);
    this.show({ t0: t0 - margin, t1: t1 + margin });
  }

  /** @param window its length; absent: as it is */
  private follow(window?: number): void {
    const { t0, t1 } = this.model.extent;
    const length = window ?? this.view.length;
    if (this.model.growing) this.view.follow(window);
    // What has ended is not followed: its last part is shown, or all of it.
    else if (length >= t1 - t0) this.showAll();
    else this.view.show({ t0: t1 - length, t1 });
    this.moved();
  }

  private moved(): void {
    this.dirty = true;
    // At first the whole of what will be wanted is not known yet.
    if (this.requested !== '') queueMicrotask(() => this.ask());
    window.clearTimeout(this.linkTimer);
    this.linkTimer = window.setTimeout(() => this.started && this.address.write(linkFor(this.model, this.view, this.selected, this.settings)), LINK_DELAY_MS);
  }

  /** Asks before the next frame where nothing is awaited; not at once, since charts know their size only at the end of the task. */
  private ask(): void {
    if (this.started && this.connection.open && this.answeredView === this.lastRequestedView && this.view.needsRequest()) this.request(false);
  }

  private request(resume: boolean): void {
    const ids = this.wanted();
    this.requested = ids.join();
    this.requestedPixels = this.pixels();
    const view = this.view.request(++this.lastRequestedView, ids, this.requestedPixels);
    if (resume) view.have = ids.map((id) => this.model.points.get(id)?.lastStart ?? null);
    this.connection.send({ view });
  }

  private pixels(): number {
    const [first] = this.groups;
    const width = this.charts[0]?.plotWidth ?? (first ? plotWidthIn(this.widthOf(first)) : 1000);
    return pointsOfLine(this.groups, this.settings.options, width, this.waits?.wanted().length ?? 0);
  }

  /** The charts show what was asked for last; their width may differ a little. */
  private get isAsked(): boolean {
    return this.wanted().join() === this.requested && Math.abs(this.pixels() / this.requestedPixels - 1) < SPARE_PIXELS;
  }

  // ---- drawing --------------------------------------------------------------------------------------------------------

  private frame(now: number): void {
    requestAnimationFrame((next) => this.frame(next));
    const elapsedNs = Math.min(1e9, (now - this.lastFrameMs) * 1e6);
    this.lastFrameMs = now;
    this.view.tick(elapsedNs);
    if (this.started && this.connection.open && this.view.needsRequest()) this.request(false);
    if (this.connection.open) this.waits?.frame(now);
    // The charts come first.
    const chartsAreThere = this.lastDrawnView > 0 || (this.drawnUpdates > 0 && this.selected.size === 0);
    if (this.connection.open && this.model.canAnalyse && chartsAreThere) this.navigator.frame(now);
    const scrolled = ((this.view.range.t1 - this.drawnEnd) / this.view.length) * (this.charts[0]?.plotWidth ?? 1000) * devicePixelRatio;
    const fresh = this.dirty;
    if (fresh || Math.abs(scrolled) > LEAST_SCROLL_PX) this.draw(now);
    if (chartsAreThere && this.textPace.isDue(now, fresh, this.view.following)) this.drawText();
    if (this.owedCredits > 0) {
      // Only what has been drawn is paid for: a page that cannot keep up is sent less.
      this.drawnUpdates += this.owedCredits;
      this.lastDrawnView = this.answeredView;
      if (this.pickerIsOld) this.renderPicker();
      if (this.model.growing) this.noteAge();
      this.connection.send({ credits: this.owedCredits });
      this.owedCredits = 0;
    }
  }

  /** Notes the age of new data once it is on screen, if the clocks of both sides agree (the browser tests run on one host). */
  private noteAge(): void {
    if (this.model.extent.t1 === this.newest) return;
    this.newest = this.model.extent.t1;
    this.ages.push(Date.now() - this.model.wallMs(this.newest));
    if (this.ages.length > MAX_AGES) this.ages.splice(0, MAX_AGES / 2);
  }

  private draw(now: number): void {
    this.dirty = false;
    this.textPace.chartsDrawn(now);
    this.drawnEnd = this.view.range.t1;
    if (this.view.following) {
      const oldest = this.view.range.t0 - this.view.length * 0.5;
      for (const points of this.model.points.values()) points.trimBefore(oldest);
    }
    for (const chart of this.charts) if (chart.onScreen) chart.draw();
    this.waits?.draw();
  }

  private drawText(): void {
    for (const chart of this.charts) if (chart.onScreen) chart.showValues();
    this.navigator.draw();
    this.drawer.refresh();
    this.strip.refresh(!this.view.following);
    this.machine?.refresh();
    this.showRange();
  }

  private showRange(): void {
    const text = this.model.series.size === 0 ? '' : formatRange(this.view.range, (t) => this.model.wallMs(t));
    // A server that is gone has nothing to follow.
    this.layout.setRange(this.model.growing && Number.isNaN(this.goneSince), this.view.following, this.view.window, text);
  }

  /** Since when the server has been gone, and what shows the same again. */
  private goneText(): string {
    const text = `Server gone since ${formatClock(this.goneSince, 1e9)}`;
    return this.model.reopen === '' ? text : `${text}: ${this.model.reopen}`;
  }

  private showState(): void {
    const growing = this.model.growing;
    const live = this.model.paused ? 'Paused' : this.model.ended === '' ? 'Live' : `Live; the program ${this.model.ended}`;
    const gone = Number.isNaN(this.goneSince) ? '' : this.goneText();
    const texts: Record<ConnectionState, string> = { connecting: gone || 'Connecting', open: growing ? live : 'Recording', waiting: gone, refused: 'Not logged in' };
    // What somebody paused is not missing.
    const missed = this.model.gaps.reduce((sum, gap) => sum + (gap.reason === PAUSED ? 0 : gap.count), 0);
    this.layout.setPaused(this.model.paused);
    this.layout.setState(this.state === 'open' && !growing ? 'recording' : this.state === 'open' && this.model.paused ? 'paused' : this.state, texts[this.state], missed > 0 ? `${formatCount(missed)} missing in view` : '');
  }

  private themeChanged(): void {
    for (const chart of this.charts) chart.themeChanged();
    this.comparing?.refresh();
    this.machine?.refresh();
    this.waits?.refresh();
    this.strip.refresh(true);
    this.dirty = true;
  }

  private resized(): void {
    for (const chart of this.charts) chart.resize(this.widthOf(chart.group));
    if (!this.isAsked) this.view.invalidate();
    this.dirty = true;
  }

  // ---- actions --------------------------------------------------------------------------------------------------------

  private async share(): Promise<void> {
    const link = location.href.replace(/#.*/, '') + linkFor(this.model, this.view, this.selected, this.settings);
    try {
      await navigator.clipboard.writeText(link);
      this.layout.toast('ok', 'Link copied. It keeps this view and has no token.');
    } catch {
      this.layout.toast('ok', link);
    }
  }

  private addLabel(text: string): void {
    const label = Number.isNaN(this.cursor) ? { text } : { text, t: Math.round(this.cursor) };
    if (this.connection.open) this.connection.send({ label });
    else this.layout.toast('error', `The label “${text}” was not added: the server is gone.`);
  }

  private pause(): void {
    if (!this.model.canControl) return;
    if (this.connection.open) this.connection.send({ control: { paused: !this.model.paused } });
    else this.layout.toast('error', 'Nothing was changed: the server is gone.');
  }

  private keyActions(): Record<string, () => unknown> {
    const pan = (share: number): void => {
      this.view.pan(share * this.view.length);
      this.moved();
    };
    const zoom = (factor: number): void => {
      const { t0, t1 } = this.view.range;
      this.view.zoom(factor, Number.isNaN(this.cursor) ? (t0 + t1) / 2 : this.cursor);
      this.moved();
    };
    return {
      ArrowLeft: () => pan(-0.2),
      ArrowRight: () => pan(0.2),
      ArrowUp: () => zoom(0.7),
      ArrowDown: () => zoom(1 / 0.7),
      '+': () => zoom(0.7),
      '-': () => zoom(1 / 0.7),
      ' ': () => (this.view.following ? pan(0) : this.follow()),
      End: () => this.follow(),
      Home: () => this.show({ t0: this.model.extent.t0, t1: this.model.extent.t0 + Math.ceil(this.view.length) }),
      a: () => this.showAll(),
      l: () => this.layout.openLabel(),
      p: () => this.drawer.toggleOpen(),
      o: () => this.pause(),
      i: () => this.model.canControl && this.sampling.toggle(),
      ...Object.fromEntries([1, 2, 3, 4, 5].map((number) => [number, () => this.drawer.toggleAt(number - 1)])),
      m: () => void this.toggleMachine(),
      c: () => void this.toggleConsole(),
      w: () => this.waits?.next(),
      s: () => this.layout.toggleSidebar(),
      t: () => {
        toggleTheme();
        this.themeChanged();
      },
      '/': () => this.picker.search.focus(),
      '?': () => this.layout.toggleHelp(),
      Escape: () => {
        // What lies on top first.
        if (!this.sampling.root.hidden) this.sampling.close();
        else if (this.console?.root.isConnected) void this.toggleConsole();
        else if (!this.layout.closeDialogs() && !this.waits?.escape()) this.comparison.close();
      },
    };
  }
}
