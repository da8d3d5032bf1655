// How ranks of MPI jobs talk: the task graph, the matrix of who sends to whom, ranks, collective operations and sizes.

import './messages.css';
import { dot, el } from '../app/dom';
import { drawingChoice } from '../app/drawing';
import { choiceOf, Search, Segments } from '../app/widgets';
import { formatBytes, formatCount } from '../charts/format';
import { formatShare } from '../panels/columns';
import { uses } from '../session/documents';
import type { SessionModel } from '../session/model';
import type { Place } from '../waits/documents';
import { Details } from './details';
import type { Messages } from './documents';
import { DISTANCES, distanceColor, TaskGraphView, type Layout } from './graph';
import { MatrixView } from './matrix';
import { filtered, MEASURES, Ranks, type Choice, type Measure } from './model';
import { CollectiveTable, hasRanks, RankTable, SizeHistogram } from './tables';

export interface MessagesHost {
  model: SessionModel;
  css(name: string): string;
  dark(): boolean;
  onSource(place: Place): void;
  /** When these ranks waited. */
  onRanks(ranks: number[]): void;
}

type View = 'graph' | 'matrix' | 'ranks' | 'collectives' | 'sizes';
const VIEWS: [View, string][] = [['graph', 'Task graph'], ['matrix', 'Matrix'], ['ranks', 'Rank table'], ['collectives', 'Collectives'], ['sizes', 'Sizes']];
const LEASTS = [0, 0.01, 0.05, 0.2, 0.5];

/** What to do for there to be something. */
export function noMessages(): HTMLElement {
  return el('div', { className: 'no-messages' },
    el('h3', {}, 'No messages of MPI were seen'),
    el('p', {}, 'Start the job under attune: ', el('code', {}, 'attune live -- mpirun -n 4 ./program'), ', or record it: ', el('code', {}, 'attune run -o job.attune -- mpirun -n 4 ./program'), '.'),
    el('p', {}, 'Each message and each collective operation is seen from level profile on, of Open MPI and MPICH and all that keep to their ABIs, without source or recompilation. They come when the first call that sends or receives is over.'));
}

export class MessagesPage {
  readonly root: HTMLElement;
  readonly documents = [uses('messages', (messages) => this.take(messages))];
  readonly graph: TaskGraphView;
  readonly matrix: MatrixView;
  private readonly details: Details;
  private readonly rankTable: RankTable;
  private readonly collectives = new CollectiveTable();
  private readonly sizes = new SizeHistogram();
  private readonly search = new Search('Filter: rank, place, distance', 'Filter messages', () => this.render());
  private readonly summary = el('span', { className: 'waits-summary' });
  private readonly segments = new Segments(VIEWS, (view) => this.show(view), 'What of the messages is shown');
  private readonly measureIn: HTMLElement;
  private readonly saving = drawingChoice('Save the drawing', 'messages', () => this.body);
  private readonly graphIn: HTMLElement[];
  private readonly legend = el('div', { className: 'distance-legend' });
  private readonly empty = noMessages();
  private readonly body: HTMLElement;
  private messages: Messages | null = null;
  private ranks = new Ranks([]);
  private view: View = 'graph';
  private measure: Measure = 'bytes';
  private layout: Layout = 'free';
  private least = 0;
  private choice: Choice = null;

  constructor(host: MessagesHost) {
    const onChoice = (choice: Choice): void => {
      this.choice = choice;
      this.render();
    };
    this.graph = new TaskGraphView({ model: host.model, onChoice });
    this.matrix = new MatrixView({ css: host.css, dark: host.dark, onChoice });
    this.details = new Details({ onSource: host.onSource, onChoice, onRanks: host.onRanks });
    this.rankTable = new RankTable({ onRanks: host.onRanks });
    const measure = choiceOf<Measure>('Size of messages', MEASURES, (value) => {
      this.measure = value;
      this.render();
    });
    const layout = choiceOf<Layout>('Layout of the task graph', [['free', 'free'], ['machine', 'on the machine']], (value) => {
      this.layout = value;
      this.render();
    });
    const least = choiceOf<string>('Least edge', LEASTS.map((share) => [String(share), share === 0 ? 'all edges' : `from ${share * 100} %`]), (value) => {
      this.least = Number(value);
      this.render();
    });
    this.measureIn = el('label', { className: 'grouping-in' }, 'Size', measure);
    this.graphIn = [el('label', { className: 'grouping-in' }, 'Layout', layout), el('label', { className: 'grouping-in' }, 'Show', least)];
    this.body = el('div', { className: 'messages-body' }, this.graph.root, this.matrix.root, this.details.root, this.rankTable.root, this.collectives.root, this.sizes.root);
    this.root = el('div', { className: 'messages' },
      el('div', { className: 'waits-bar' }, this.segments.root, this.measureIn, ...this.graphIn, this.legend, this.summary,
        el('span', { className: 'grow' }), this.search.root, this.saving),
      this.empty, this.body);
    this.show('graph');
  }

  /** @param view 'graph', 'matrix', ... */
  show(view: View): void {
    this.view = view;
    this.segments.show(view);
    this.render();
  }

  private take(messages: Messages): void {
    this.messages = messages;
    this.ranks = new Ranks(messages.ranks);
    const areRanks = hasRanks(messages) || messages.ranks.length === 0;
    VIEWS.forEach(([view], i) => {
      if (view === 'ranks') this.segments.buttons[i].textContent = areRanks ? 'Rank table' : 'Processes';
      if (view === 'collectives') this.segments.buttons[i].hidden = !areRanks;
    });
    this.render();
  }

  forget(): void {
    this.messages = null;
    this.ranks = new Ranks([]);
    this.choice = null;
    this.render();
  }

  refresh(): void {
    this.render();
  }

  /** Takes back the choice. @return whether there was one */
  escape(): boolean {
    const had = this.choice !== null;
    this.choice = null;
    if (had) this.render();
    return had;
  }

  private render(): void {
    const { messages, view } = this;
    const nothing = !messages || messages.ranks.length === 0;
    this.empty.hidden = !messages || !nothing;
    this.body.hidden = nothing;
    this.root.dataset['view'] = view;
    const inGraph = view === 'graph' && !nothing;
    const inMatrix = view === 'matrix' && !nothing;
    // Tables are saved by themselves.
    this.measureIn.hidden = this.saving.hidden = !inGraph && !inMatrix;
    for (const element of this.graphIn) element.hidden = !inGraph;
    this.search.root.hidden = !inGraph && !inMatrix;
    this.legend.hidden = !inGraph;
    this.graph.root.hidden = view !== 'graph';
    this.matrix.root.hidden = view !== 'matrix';
    this.details.root.hidden = view !== 'graph' && view !== 'matrix';
    this.rankTable.root.hidden = view !== 'ranks';
    this.collectives.root.hidden = view !== 'collectives';
    this.sizes.root.hidden = view !== 'sizes';
    if (!messages || nothing) {
      this.summary.textContent = messages ? '' : 'Reading the messages …';
      return;
    }
    if (inGraph || inMatrix) this.renderPairs(messages);
    if (view === 'ranks') this.rankTable.show(messages);
    if (view === 'collectives') this.collectives.show(messages);
    if (view === 'sizes') this.sizes.show(messages);
    this.summary.textContent = this.summaryText(messages);
  }

  private renderPairs(messages: Messages): void {
    const rows = filtered(messages, this.ranks, this.search.words);
    if (this.view === 'graph') this.graph.show({ rows, ranks: this.ranks, choice: this.choice, measure: this.measure, layout: this.layout, least: this.least });
    else this.matrix.show(rows, this.ranks, this.measure, this.choice);
    this.details.show(rows, this.choice, this.ranks, { pairs: messages.pairs_in_all - messages.pairs.length, links: messages.links_in_all - messages.links.length });
    const distances = [...new Set(messages.pairs.map((pair) => pair.distance))].sort((a, b) => (a ?? 9) - (b ?? 9));
    this.legend.replaceChildren(...distances.map((distance) => el('span', {}, dot(distanceColor(distance)), distance === null ? 'distance not known' : DISTANCES[distance] ?? '?')));
  }

  private summaryText(messages: Messages): string {
    const count = messages.sizes.reduce((sum, size) => sum + size.count, 0);
    const bytes = messages.sizes.reduce((sum, size) => sum + size.bytes, 0);
    const unmatched = messages.unmatched_sent + messages.unmatched_received;
    return [
      `${formatCount(messages.ranks_in_all)} ${hasRanks(messages) ? 'ranks' : 'processes'}`, `${formatCount(count)} ${hasRanks(messages) ? 'messages' : 'writes'}, ${formatBytes(bytes)}`, messages.efficiency ? `parallel efficiency ${formatShare(messages.efficiency.parallel)}` : '',
      unmatched > 0 ? `${formatCount(unmatched)} without their other side` : '', this.view === 'graph' ? this.graph.note : '',
    ].filter(Boolean).join(' · ');
  }
}
