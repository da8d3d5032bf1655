// Waits of the program's threads: findings first, then locks, the synchronisation graph, the timeline, a flame graph, and how ranks
// of MPI jobs talk, each in the place of the charts. Loaded when there are threads.

import './waits.css';
import { el } from '../app/dom';
import { isSmall } from '../app/layout';
import { keptToken } from '../app/link';
import { Segments } from '../app/widgets';
import type { ClientMessage } from '../session/connection';
import { MessagesPage } from '../messages/page';
import { Documents, sameRange, uses, type DocumentName, type DocumentUse } from '../session/documents';
import type { RawMessage, SessionModel } from '../session/model';
import type { Range, TimeView } from '../session/view';
import { Timeline } from '../timeline/timeline';
import { findingKey, type Finding, type Place } from './documents';
import { Findings } from './findings';
import { FlameGraph } from './flames';
import { Graph } from './graph';
import { Locks } from './locks';
import { SourceView } from './source';
import { OWN_PANES, WORKSPACES, workspaceOf, type LinkedPane, type Pane, type PaneHost, type Workspace } from './workspaces';

/** A range that is dragged or zoomed is not asked for at each step. */
const AT_REST_MS = 150;

export interface WaitsHost {
  model: SessionModel;
  view: TimeView;
  css(name: string): string;
  dark(): boolean;
  send(message: ClientMessage): void;
  /** The view moved. */
  onMoved(): void;
  onCursor(t: number): void;
  /** Draw soon. */
  redraw(): void;
  /** Other series are wanted than before. */
  onSeries(): void;
  /** Shows the charts of these series. */
  onCharts(series: number[]): void;
  /** What was chosen in a pane. */
  chosen(pane: Workspace): string[];
  choose(pane: Workspace, words: string[]): void;
  /** Another workspace is shown. */
  onWorkspace(workspace: Workspace): void;
}

export class WaitsPage {
  readonly stage = el('section', { className: 'waits', 'aria-label': 'What threads wait for', hidden: true });
  readonly findings: Findings;
  readonly documents: Documents;
  readonly locks: Locks;
  readonly graph: Graph;
  readonly timeline: Timeline;
  readonly flames: FlameGraph;
  readonly messages: MessagesPage;
  readonly source: SourceView;
  workspace: Workspace = 'charts';
  private places = new Map<number, Place>();
  private moving: { range: Range | null; since: number } = { range: null, since: 0 };
  private rested: Range | null = null;
  private readonly segments = new Segments<Workspace>(WORKSPACES.map(([workspace, name, hint]) => [workspace, name, `${hint} (W)`]), (workspace) => this.show(workspace), 'What is shown');
  private readonly panes: Record<Workspace, Pane>;
  private readonly uses: readonly DocumentUse[];
  private gone = '';
  private readonly problem = el('p', { className: 'waits-problem', hidden: true });

  constructor(private readonly host: WaitsHost) {
    this.documents = new Documents((document) => host.send({ document }), (name) => this.changed(name));
    const onSource = (place: Place): void => this.openSource(place);
    const onThreads = (threads: number[]): void => this.openThreads(threads);
    this.findings = new Findings({ onSource, onWhen: (finding) => this.openFinding(finding), onObject: (object) => this.openLock(object) }, isSmall);
    this.locks = new Locks({
      onSource,
      onObject: (object) => {
        this.show('graph');
        this.graph.selectEvent(object);
      },
    });
    this.graph = new Graph({ onSource, onThreads });
    this.timeline = new Timeline({
      model: host.model, view: host.view, css: host.css, onSource,
      ask: (timeline) => host.send({ timeline }),
      placeOf: (site) => this.places.get(site) ?? null,
      onMoved: () => host.onMoved(),
      onCursor: (t) => host.onCursor(t),
      onObject: (object) => this.openLock(object),
      onFinding: (key) => this.findings.select(key),
      onSeries: () => host.onSeries(),
      redraw: () => host.redraw(),
    });
    this.flames = new FlameGraph({ model: host.model, css: host.css, onSource, onThreads, placeOf: (site) => this.places.get(site) ?? null, onObject: (object) => this.openLock(object) });
    this.messages = new MessagesPage({ model: host.model, css: host.css, dark: host.dark, onSource, onRanks: onThreads });
    this.source = new SourceView({ ask: (site) => host.send({ source: { site } }), waits: () => this.documents.get('waits'), hotLines: () => this.documents.get('hot-lines'), onClose: () => this.closeSource() });
    const own = (pane: Workspace): PaneHost => ({
      model: host.model,
      range: () => host.view.range,
      showSeries: (series) => host.onCharts(series),
      onSeries: () => host.onSeries(),
      openSource: onSource,
      chosen: () => host.chosen(pane),
      choose: (words) => host.choose(pane, words),
      canTune: () => host.model.canTune,
      tune: (knob, value) => host.send({ tune: { knob, value, token: keptToken() ?? '' } }),
    });
    const linked: Record<LinkedPane, Pane> = { locks: this.locks, graph: this.graph, timeline: this.timeline, flames: this.flames, messages: this.messages };
    this.panes = { ...linked, ...Object.fromEntries(OWN_PANES.map(({ tab: [name], make }) => [name, make(own(name))])) };
    this.uses = [
      uses('waits', (waits) => this.findings.show(waits)),
      uses('sites', ({ sites }) => {
        this.places = new Map(sites.map((place) => [place.id, place]));
      }),
      ...Object.values(this.panes).flatMap((pane) => pane.documents),
      uses('hot-lines', () => this.source.refresh()),
    ];
    this.tabs.classList.add('workspaces');
    this.stage.append(this.problem, ...Object.values(this.panes).map((pane) => pane.root), this.source.root);
    this.show('charts');
  }

  /** Choose what is in the place of the charts. */
  get tabs(): HTMLElement {
    return this.segments.root;
  }

  /** Shows what a link says. */
  restore(wanted: string): void {
    for (const pane of Object.values(this.panes)) pane.restore?.();
    this.show(wanted);
  }

  /** The next one, after the last one the first. */
  next(): void {
    const at = WORKSPACES.findIndex(([workspace]) => workspace === this.workspace);
    this.show(WORKSPACES[(at + 1) % WORKSPACES.length][0]);
  }

  /** @param wanted as a link may have it */
  show(wanted: string): void {
    const workspace = workspaceOf(wanted);
    this.workspace = workspace;
    this.stage.hidden = workspace === 'charts';
    this.stage.parentElement?.classList.toggle('waiting', workspace !== 'charts');
    this.stage.parentElement?.setAttribute('data-workspace', workspace);
    for (const [name, pane] of Object.entries(this.panes)) pane.root.hidden = name !== workspace;
    this.segments.show(workspace);
    this.showProblem();
    this.refresh();
    this.host.onWorkspace(workspace);
  }

  /** Every frame. @param now in ms */
  frame(now: number): void {
    const range = this.restedRange(now);
    const following = this.pane?.followsView?.() ?? null;
    this.documents.keep(this.wantedDocuments(), now, following !== null && range ? { [following]: range } : {});
    if (this.workspace === 'timeline') this.timeline.frame(now);
  }

  reconnected(forget: boolean): void {
    this.documents.reconnected(forget);
    this.timeline.reconnected(forget);
    if (!forget) return;
    this.findings.show({ findings: [], verdict: null, balance: null });
    this.flames.forget();
    this.messages.forget();
    this.closeSource();
  }

  /** @param text since when the server has been gone; '': it is there */
  setGone(text: string): void {
    this.gone = text;
    this.showProblem();
  }

  take(message: RawMessage): void {
    if (message.kind === 'document') this.documents.take(message, performance.now());
    if (message.kind === 'timeline' || message.kind === 'ranks') this.timeline.take(message);
    if (message.kind === 'source') this.source.take(message);
  }

  refresh(): void {
    this.pane?.refresh();
  }

  /** The range on screen, or what is in it, changed. */
  draw(): void {
    if (this.workspace === 'timeline') this.timeline.draw();
    this.pane?.moved?.();
  }

  /** Series that what is shown is made of. */
  wanted(): number[] {
    return this.pane?.wanted?.() ?? [];
  }

  /** @return whether it was open */
  closeSource(): boolean {
    const wasOpen = this.source.isOpen;
    this.source.root.hidden = true;
    return wasOpen;
  }

  /** Takes back the last thing that was opened. @return whether there was one */
  escape(): boolean {
    return this.closeSource() || (this.pane?.escape?.() ?? false);
  }

  /** That is shown; null: the charts are. */
  private get pane(): Pane | null {
    return this.workspace === 'charts' ? null : this.panes[this.workspace];
  }

  /** The findings are shown beside everything, and lines have what was sampled there. */
  private wantedDocuments(): Set<DocumentName> {
    return new Set<DocumentName>(['waits', ...(this.source.isOpen ? ['hot-lines' as const] : []), ...(this.pane?.documents ?? []).map(({ name }) => name)]);
  }

  /** The time in view, once it has come to rest; null: all, or what follows the newest data. */
  private restedRange(now: number): Range | null {
    const { view, model } = this.host;
    const { t0, t1 } = view.range;
    const { extent } = model;
    const isAll = view.following || (t0 <= extent.t0 && t1 >= extent.t1);
    const range = isAll ? null : { t0: Math.round(t0), t1: Math.round(t1) };
    if (!sameRange(range, this.moving.range)) this.moving = { range, since: now };
    if (now - this.moving.since >= AT_REST_MS) this.rested = this.moving.range;
    return this.rested;
  }

  private changed(name: DocumentName): void {
    for (const use of this.uses) if (use.name === name) use.changed(this.documents);
    this.showProblem();
  }

  private showProblem(): void {
    // What is shown came before the server went; what is being computed does not come any more.
    const error = this.gone || ([...this.wantedDocuments()].map((name) => this.documents.errorOf(name)).find((text) => text !== '') ?? '');
    this.problem.hidden = error === '';
    this.problem.textContent = error;
  }

  private openLock(object: number): void {
    if (this.locks.select(object)) this.show('locks');
  }

  /** @param threads or ranks */
  private openThreads(threads: number[]): void {
    this.timeline.focus(threads);
    this.show('timeline');
  }

  private openFinding(finding: Finding): void {
    if (this.timeline.showFinding(findingKey(finding))) this.show('timeline');
  }

  private openSource(place: Place): void {
    if (place.id === 0) return;
    if (this.workspace === 'charts') this.show('locks');
    this.source.open(place);
  }
}
