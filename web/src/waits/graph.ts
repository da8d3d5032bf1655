// The synchronisation graph: who made others wait, over which lock, and who waited. A click on a node or an edge shows its
// rows below.

import { button, el, svg } from '../app/dom';
import { drawingChoice } from '../app/drawing';
import { choiceOf, Search, Segments } from '../app/widgets';
import { formatCount, formatDuration } from '../charts/format';
import { count, figure, longWords, words } from '../panels/columns';
import { Table, type Column } from '../panels/table';
import { uses } from '../session/documents';
import { fileText, placeText, type GraphEvent, type GraphLink, type GraphThread, type HandOver, type Place, type SyncGraph } from './documents';
import { drawnGraph, rowsOf, threadName, togetherFor, type DrawnGraph, type GraphEdge, type GraphNode, type Size, type Together } from './graph_model';
import { stateOf, STATES } from './states';

export interface GraphHost {
  onSource(place: Place): void;
  /** When these threads waited. */
  onThreads(threads: number[]): void;
}

interface Box {
  node: GraphNode;
  x: number;
  y: number;
  height: number;
  /** What of its left and right side has edges already. */
  left: number;
  right: number;
}

const NODE_WIDTH = 12;
const LEAST_HEIGHT = 4;
const ROW_HEIGHT = 19;
const TOP = 26;
const COLUMNS = ['holder', 'event', 'waiter'] as const;
const TITLES = { holder: 'Had it, or woke others up', event: 'What was waited for', waiter: 'Waited' };
const LEASTS = [0, 0.001, 0.01, 0.05, 0.2];
/** A join of microseconds says nothing. */
const FIRST_LEAST = 0.001;

/** A time that may be none at all. */
const digits = (ns: number): string => formatDuration(Number(ns.toPrecision(4)));

export class Graph {
  readonly root: HTMLElement;
  readonly documents = [uses('sync-graph', (graph) => this.show(graph))];
  private readonly search = new Search('Filter: thread, lock, place', 'Filter the graph', () => this.render());
  private readonly together: HTMLSelectElement;
  private readonly least: HTMLSelectElement;
  private readonly summary = el('span', { className: 'waits-summary' });
  private readonly canvas = el('div', { className: 'graph-canvas' });
  private readonly heading = el('span', { className: 'graph-heading' });
  private readonly timeline = button('finding-action', 'When they waited', () => this.host.onThreads([...this.chosenThreads()]), { hidden: true });
  private readonly segments: Segments<'links' | 'handovers'>;
  private readonly links: Table<GraphLink>;
  private readonly handovers: Table<HandOver>;
  private graph: SyncGraph | null = null;
  private drawn: DrawnGraph = { nodes: [], edges: [] };
  private size: Size = 'waited';
  private togetherChosen: Together | null = null;
  private leastShare = FIRST_LEAST;
  /** Key of a node or an edge. */
  private selected = '';
  private tableShown: 'links' | 'handovers' = 'links';
  private threads = new Map<number, GraphThread>();
  private events = new Map<number, GraphEvent>();

  constructor(private readonly host: GraphHost) {
    this.together = choiceOf<Together>('Threads', [['each', 'each thread'], ['name', 'threads of a name'], ['process', 'processes']], (value) => {
      this.togetherChosen = value;
      this.render();
    });
    const size = choiceOf<Size>('Size', [['waited', 'time waited'], ['waits', 'waits'], ['occurrences', 'occurrences']], (value) => {
      this.size = value;
      this.render();
    });
    this.least = choiceOf<string>('Least', LEASTS.map((share) => [String(share), share === 0 ? 'all edges' : `from ${share * 100} %`]), (value) => {
      this.leastShare = Number(value);
      this.render();
    });
    this.least.value = String(FIRST_LEAST);
    this.segments = new Segments([['links', ''], ['handovers', '']], (which) => {
      this.tableShown = which;
      this.showRows();
    });
    this.links = new Table<GraphLink>('No rows.', (link) => host.onSource({ id: link.site_id, name: link.site, function: link.function, file: link.file, line: link.line }));
    this.links.setColumns(this.linkColumns());
    this.handovers = new Table<HandOver>('Nobody was seen to hand anything over: that is recorded from --level blame on.', null);
    this.handovers.setColumns(this.handOverColumns());
    this.root = el('div', { className: 'graph' },
      el('div', { className: 'waits-bar' }, el('label', { className: 'grouping-in' }, 'Nodes', this.together), el('label', { className: 'grouping-in' }, 'Size', size), el('label', { className: 'grouping-in' }, 'Show', this.least),
        this.summary, el('span', { className: 'grow' }), this.search.root, drawingChoice('Save the graph', 'graph', () => this.canvas)),
      this.canvas,
      el('div', { className: 'waits-bar graph-rows' }, this.segments.root, this.heading, this.timeline), this.links.root, this.handovers.root);
    this.canvas.addEventListener('click', (event) => event.target instanceof Element && this.select(event.target.closest('[data-key]')?.getAttribute('data-key') ?? ''));
    this.canvas.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      this.select((event.target as Element).getAttribute('data-key') ?? '');
    });
    new ResizeObserver(() => this.render()).observe(this.canvas);
  }

  show(graph: SyncGraph): void {
    this.graph = graph;
    this.threads = new Map(graph.threads.map((thread) => [thread.id, thread]));
    this.events = new Map(graph.events.map((event) => [event.id, event]));
    this.render();
  }

  /** @param object of an event */
  selectEvent(object: number): void {
    this.select(`event ${object}`, false);
  }

  refresh(): void {
    this.render();
  }

  /** @param toggle the selected one: nothing is */
  private select(key: string, toggle = true): void {
    this.selected = toggle && key === this.selected ? '' : key;
    this.render();
  }

  private render(): void {
    const { graph } = this;
    if (!graph || this.root.offsetParent === null) return;
    const together = this.togetherChosen ?? togetherFor(graph);
    this.together.value = together;
    const words = this.search.words;
    this.drawn = drawnGraph(graph, { together, size: this.size, least: this.leastShare, words });
    this.summary.textContent = `${graph.threads_in_all} threads, ${graph.events_in_all} locks, conditions, …`;
    this.draw();
    this.showRows();
  }

  // ---- the picture ----------------------------------------------------------------------------------------------------

  private layOut(width: number, height: number): Map<GraphNode, Box> {
    const { nodes } = this.drawn;
    const columns = COLUMNS.map((column) => nodes.filter((node) => node.column === column));
    const shown = columns[0].length > 0 ? [0, 1, 2] : [1, 2];
    const xs = columns[0].length > 0 ? [width * 0.22, width * 0.5 - NODE_WIDTH / 2, width * 0.78 - NODE_WIDTH] : [0, width * 0.3, width * 0.68];
    const totals = columns.map((column) => column.reduce((sum, node) => sum + node.size, 0));
    // One scale for all columns, so that what is as thick is as much.
    const scale = Math.min(...shown.filter((i) => totals[i] > 0).map((i) => Math.max(20, height - TOP - columns[i].length * (ROW_HEIGHT - LEAST_HEIGHT) - 10) / totals[i]));
    const boxes = new Map<GraphNode, Box>();
    columns.forEach((column, i) => {
      const heights = column.map((node) => Math.max(LEAST_HEIGHT, node.size * scale));
      const used = heights.reduce((sum, one) => sum + Math.max(ROW_HEIGHT, one + 8), 0);
      // What is higher than the screen begins at its top.
      let y = TOP + (height > this.canvas.clientHeight ? 0 : Math.max(0, (height - TOP - used) / 2));
      column.forEach((node, j) => {
        const room = Math.max(ROW_HEIGHT, heights[j] + 8);
        boxes.set(node, { node, x: xs[i], y: y + (room - heights[j]) / 2, height: heights[j], left: 0, right: 0 });
        y += room;
      });
    });
    return boxes;
  }

  private draw(): void {
    const width = Math.max(480, this.canvas.clientWidth - 4);
    const most = Math.max(...COLUMNS.map((column) => this.drawn.nodes.filter((node) => node.column === column).length));
    const height = Math.max(this.canvas.clientHeight - 6, TOP + most * ROW_HEIGHT + 8);
    if (this.drawn.nodes.length === 0) {
      this.canvas.replaceChildren(el('p', { className: 'empty' }, 'Nobody waited for anybody.'));
      return;
    }
    const boxes = this.layOut(width, height);
    const edges = this.drawn.edges.flatMap((edge) => this.drawEdge(edge, boxes));
    const nodes = [...boxes.values()].flatMap((box) => this.drawNode(box));
    const titles = COLUMNS.flatMap((column) => {
      const box = [...boxes.values()].find(({ node }) => node.column === column);
      if (!box) return [];
      const anchor = column === 'holder' ? 'end' : column === 'event' ? 'middle' : 'start';
      const x = column === 'holder' ? box.x + NODE_WIDTH : column === 'event' ? box.x + NODE_WIDTH / 2 : box.x;
      return [svg('text', { 'x': x, 'y': 14, 'text-anchor': anchor, 'class': 'graph-title' }, TITLES[column])];
    });
    const scrolled = this.canvas.scrollTop;
    this.canvas.replaceChildren(svg('svg', { 'width': width, 'height': height, 'class': this.selected === '' ? '' : 'has-selection', 'role': 'group', 'aria-label': 'Synchronisation graph' }, ...titles, ...edges, ...nodes));
    this.canvas.scrollTop = scrolled;
  }

  private isChosen(node: GraphNode): boolean {
    return this.selected === node.key || this.selected.split(' > ').includes(node.key);
  }

  private drawEdge(edge: GraphEdge, boxes: Map<GraphNode, Box>): SVGElement[] {
    const [from, to] = [boxes.get(edge.from), boxes.get(edge.to)];
    if (!from || !to) return [];
    // The sides of a node are divided among its edges by their size.
    const started = (edge.size / edge.from.size) * from.height;
    const ended = (edge.size / edge.to.size) * to.height;
    const [y0, y1] = [from.y + from.right + started / 2, to.y + to.left + ended / 2];
    from.right += started;
    to.left += ended;
    const [x0, x1] = [from.x + NODE_WIDTH, to.x];
    const middle = (x0 + x1) / 2;
    const event = edge.from.column === 'event' ? edge.from : edge.to;
    const chosen = this.selected === edge.key || this.selected === edge.from.key || this.selected === edge.to.key;
    const path = svg('path', {
      'd': `M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}`, 'class': chosen ? 'edge chosen' : 'edge', 'stroke': `var(${STATES[stateOf(event.kind)].color})`,
      'stroke-width': Math.max(1.2, (started + ended) / 2).toFixed(2), 'data-key': edge.key,
    });
    path.append(svg('title', {}, `${edge.from.name} → ${edge.to.name}: ${this.sizeText(edge.size)}`));
    return [path];
  }

  private drawNode({ node, x, y, height }: Box): SVGElement[] {
    const color = node.column === 'event' ? `var(${STATES[stateOf(node.kind)].color})` : 'var(--text-soft)';
    const group = svg('g', { 'class': this.isChosen(node) ? 'node chosen' : 'node', 'data-key': node.key, 'tabindex': 0, 'role': 'button' });
    const left = node.column === 'holder';
    const name = node.name.length > 34 ? `${node.name.slice(0, 33)}…` : node.name;
    const note = [node.note, this.sizeText(node.size)].filter(Boolean).join('  ');
    group.setAttribute('aria-label', `${name} ${note}`);
    const text = svg('text', { 'x': left ? x - 8 : x + NODE_WIDTH + 8, 'y': y + height / 2, 'dy': '0.35em', 'text-anchor': left ? 'end' : 'start' },
      svg('tspan', { class: 'node-name' }, name), ' ', svg('tspan', { class: 'node-note', dx: 6 }, note));
    group.append(svg('rect', { 'x': left ? x - 190 : x - 4, 'y': y + height / 2 - ROW_HEIGHT / 2, 'width': 210, 'height': ROW_HEIGHT, 'class': 'node-hit' }), svg('rect', { x, y, 'width': NODE_WIDTH, height, 'rx': 3, 'fill': color }), text);
    return [group];
  }

  private sizeText(size: number): string {
    return this.size === 'waited' ? formatDuration(Number(size.toPrecision(3))) : formatCount(size);
  }

  // ---- rows -----------------------------------------------------------------------------------------------------------

  /** The nodes that are selected, one or the two of an edge. */
  private chosen(): GraphNode[] {
    return this.drawn.nodes.filter((node) => this.isChosen(node));
  }

  private chosenThreads(): Set<number> {
    return new Set(this.chosen().flatMap((node) => [...node.threads]));
  }

  private showRows(): void {
    const { graph } = this;
    if (!graph) return;
    const chosen = this.chosen();
    const words = this.search.words;
    let { links, handovers } = rowsOf(graph, words);
    for (const node of chosen) {
      links = links.filter((link) => (node.column === 'event' ? node.events.has(link.event) : node.threads.has(link.thread)));
      handovers = handovers.filter((row) => (node.column === 'event' ? node.events.has(row.event) : node.column === 'holder' ? node.threads.has(row.holder) : node.threads.has(row.waiter)));
    }
    this.heading.textContent = chosen.length === 0 ? 'of all; a click on a node or an edge chooses' : `of ${chosen.map((node) => node.name).join(' → ')}`;
    this.timeline.hidden = this.chosenThreads().size === 0;
    this.segments.buttons[0].textContent = `Threads and places ${links.length}`;
    this.segments.buttons[1].textContent = `Who made whom wait ${handovers.length}`;
    this.segments.show(this.tableShown);
    this.links.root.hidden = this.tableShown !== 'links';
    this.handovers.root.hidden = this.tableShown !== 'handovers';
    this.links.setRows(links);
    this.handovers.setRows(handovers);
  }

  private linkColumns(): Column<GraphLink>[] {
    const exact = (title: string, hint: string, of: (link: GraphLink) => number | null): Column<GraphLink> => figure(title, hint, '82px', of, digits);
    return [
      words('Thread', 'minmax(110px, 1fr)', (link) => threadName(this.threads.get(link.thread))),
      longWords('What', 'minmax(120px, 1fr)', (link) => this.events.get(link.event)?.name ?? '?'),
      words('How', '80px', (link) => link.kind),
      { title: 'Where', numeric: false, width: 'minmax(130px, 1.4fr)', rank: (link) => fileText(link) || link.site, show: (link, cell) => (cell.title = placeText({ ...link, id: 0, name: link.site })) },
      count('Occurred', 'Acquisitions, waits, wake-ups', (link) => link.occurrences, '86px'),
      count('Waits', 'Calls that had to wait', (link) => link.waits, '86px'),
      exact('Waited', 'By these', (link) => link.wait_ns),
      exact('Average', 'Of the calls that had to wait', (link) => link.average_ns),
      exact('Shortest', 'Wait', (link) => link.min_ns),
      exact('Longest', 'Wait', (link) => link.max_ns),
      exact('Between', 'From the end of a wait to the begin of the next one', (link) => link.between_ns),
      exact('Held', 'On average, where it was measured', (link) => link.hold_ns),
    ];
  }

  private handOverColumns(): Column<HandOver>[] {
    const thread = (title: string, id: (row: HandOver) => number): Column<HandOver> => words(title, 'minmax(140px, 1fr)', (row) => threadName(this.threads.get(id(row))));
    return [
      thread('Made wait', (row) => row.holder), thread('Waited', (row) => row.waiter),
      words('For', 'minmax(150px, 1.4fr)', (row) => this.events.get(row.event)?.name ?? '?'),
      count('Waits', 'Waits', (row) => row.waits, '90px'),
      figure('Time', 'Time', '100px', (row) => row.wait_ns, digits),
    ];
  }
}
