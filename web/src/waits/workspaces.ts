// Views that take the place of the charts, with the names and hints of their tabs. They are apart from the page, which is loaded
// when there are threads, since the address of the browser names them, too.

import type { DocumentUse } from '../session/documents';

export interface Pane {
  readonly root: HTMLElement;
  /** It is made of these, which are asked for while it is shown. */
  readonly documents: readonly DocumentUse[];
  /** Size, theme or range changed. */
  refresh(): void;
}

/** Its name in the address, its tab, and the hint of that. */
type Tab = readonly [name: string, tab: string, hint: string];

/** A pane that needs no other one. Each file of web/src/panes/ exports one as PANE; there is no list of them. */
export interface OwnPane {
  readonly tab: Tab;
  make(): Pane;
}
export const OWN_PANES = Object.values(import.meta.glob<OwnPane>('../panes/*.ts', { eager: true, import: 'PANE' }));

/** The page makes these, since they open each other. */
const LINKED = [
  ['charts', 'Charts', 'Signals over time'],
  ['locks', 'Locks', 'What was waited for, where, and who had it'],
  ['graph', 'Graph', 'Who makes whom wait'],
  ['threads', 'Threads', 'When each thread waited'],
  ['flames', 'Flames', 'What time was spent on, as a flame graph'],
  ['messages', 'Messages', 'How ranks of MPI jobs talk: task graph, matrix, ranks'],
  ['ranks', 'Ranks', 'What each rank did when, and the messages between them'],
] as const;
export type LinkedPane = Exclude<(typeof LINKED)[number][0], 'charts'>;

export const WORKSPACES: readonly Tab[] = [...LINKED, ...OWN_PANES.map(({ tab }) => tab)];
export type Workspace = string;
