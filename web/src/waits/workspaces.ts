// Views that take the place of the charts, with the names and hints of their tabs. All panes come with this file: what is loaded
// before there are threads takes only types from it.

import type { DocumentName, DocumentUse } from '../session/documents';
import type { SessionModel } from '../session/model';
import type { Range } from '../session/view';
import type { Place } from './documents';

export interface Pane {
  readonly root: HTMLElement;
  /** It is made of these, which are asked for while it is shown. */
  readonly documents: readonly DocumentUse[];
  /** Size, theme or range changed. */
  refresh(): void;
  /** The document that is to be of the time in view; absent, or null: all are of all the time. */
  followsView?(): DocumentName | null;
  /** The range on screen, or what is in it, changed. */
  moved?(): void;
  /** Shows what was chosen, as the link now has it. */
  restore?(): void;
  /** Takes back the last thing that was opened. @return whether there was one */
  escape?(): boolean;
  /** Series that it is made of. */
  wanted?(): number[];
}

/** Its name in the address, its tab, and the hint of that. */
type Tab = readonly [name: string, tab: string, hint: string];

/** What a pane of its own can ask of the page. */
export interface PaneHost {
  model: SessionModel;
  /** The time on screen. */
  range(): Range;
  /** Shows the charts of these series. */
  showSeries(series: number[]): void;
  /** Other series are wanted than before. */
  onSeries(): void;
  /** Shows the source beside the pane. */
  openSource(place: Place): void;
  /** What was chosen in this pane: a part of the link. */
  chosen(): string[];
  choose(words: string[]): void;
  canTune(): boolean;
  /** Has a knob of the programs tried at a value; an empty one: taken back. */
  tune(knob: string, value: string): void;
}

/** A pane that needs no other one. Each file of web/src/panes/ exports one as PANE; there is no list of them. */
export interface OwnPane {
  readonly tab: Tab;
  make(host: PaneHost): Pane;
}
export const OWN_PANES = Object.values(import.meta.glob<OwnPane>('../panes/*.ts', { eager: true, import: 'PANE' }));

/** The page makes these, since they open each other. */
const LINKED = [
  ['charts', 'Charts', 'Signals over time'],
  ['locks', 'Locks', 'What was waited for, where, and who had it'],
  ['graph', 'Graph', 'Who makes whom wait'],
  ['timeline', 'Timeline', 'What each rank, process and thread did when, and when the findings lost their time'],
  ['flames', 'Flames', 'What time was spent on, as a flame graph'],
  ['messages', 'Messages', 'How ranks of MPI jobs talk: task graph, matrix, ranks'],
] as const;
export type LinkedPane = Exclude<(typeof LINKED)[number][0], 'charts'>;

export const WORKSPACES: readonly Tab[] = [...LINKED, ...OWN_PANES.map(({ tab }) => tab)];
export type Workspace = string;

/** Names in links of older versions. */
const FORMER: Record<string, string> = { threads: 'timeline', ranks: 'timeline' };

/** The workspace of this name; without one: the charts. */
export function workspaceOf(name: string): Workspace {
  const wanted = FORMER[name] ?? name;
  return WORKSPACES.find(([known]) => known === wanted)?.[0] ?? 'charts';
}
