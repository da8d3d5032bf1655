// Views that take the place of the charts, with the names and hints of their tabs. They are apart from the page, which is loaded
// when there are threads, since the address of the browser names them, too.

export const WORKSPACES = [
  ['charts', 'Charts', 'Signals over time'],
  ['locks', 'Locks', 'What was waited for, where, and who had it'],
  ['graph', 'Graph', 'Who makes whom wait'],
  ['threads', 'Threads', 'When each thread waited'],
  ['flames', 'Flames', 'What time was spent on, as a flame graph'],
  ['messages', 'Messages', 'How ranks of MPI jobs talk: task graph, matrix, ranks'],
  ['ranks', 'Ranks', 'What each rank did when, and the messages between them'],
] as const;
export type Workspace = (typeof WORKSPACES)[number][0];
