// Who sends to whom as a heat map: a row a sender, a column a receiver; beside it what each sends and receives in all.

import { el } from '../app/dom';
import { prepare, shortened } from '../charts/canvas';
import { gradient, shadeAt } from '../charts/heat';
import { matrixOf, measureText, sameChoice, shareOf, type Choice, type Filtered, type Matrix, type Measure, type Ranks } from './model';

export interface MatrixHost {
  css(name: string): string;
  dark(): boolean;
  onChoice(choice: Choice): void;
}

const LEFT = 40;
const TOP = 34;
/** Of the sums. */
const SUMS = 46;
const LEAST_CELL = 7;
const MOST_CELL = 44;
const LEAST_LABEL = 13;
const ROOM_FOR_TEXT = 38;

export class MatrixView {
  readonly root: HTMLElement;
  private readonly canvas = el('canvas', { tabIndex: 0, 'role': 'application', 'aria-label': 'Matrix of messages: arrow keys move, Enter chooses a pair' });
  private readonly scroller = el('div', { className: 'matrix-scroller' }, this.canvas);
  private readonly status = el('p', { className: 'matrix-status', role: 'status' });
  private readonly scale = el('i', { className: 'matrix-scale' });
  private readonly low = el('span', {});
  private readonly high = el('span', {});
  private matrix: Matrix | null = null;
  private labels: string[] = [];
  private measure: Measure = 'bytes';
  private choice: Choice = null;
  private cell = LEAST_CELL;
  /** Under the pointer, or where the keys are. */
  private at: { row: number; column: number } | null = null;

  constructor(private readonly host: MatrixHost) {
    this.root = el('div', { className: 'matrix' }, el('div', { className: 'matrix-head' }, this.status, el('span', { className: 'grow' }), this.low, this.scale, this.high), this.scroller);
    this.canvas.addEventListener('pointermove', (event) => this.move(this.cellAt(event)));
    this.canvas.addEventListener('pointerleave', () => this.move(null));
    this.canvas.addEventListener('click', (event) => this.choose(this.cellAt(event)));
    this.canvas.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.scroller);
  }

  /** For the browser tests. */
  get shown(): { matrix: Matrix | null; cell: number; left: number; top: number } {
    return { matrix: this.matrix, cell: this.cell, left: LEFT, top: TOP };
  }

  show(rows: Filtered, ranks: Ranks, measure: Measure, choice: Choice): void {
    this.matrix = matrixOf(ranks, rows.pairs, measure);
    this.labels = this.matrix.ranks.map((rank) => ranks.labelOf(rank));
    this.measure = measure;
    this.choice = choice;
    this.draw();
  }

  private move(at: { row: number; column: number } | null): void {
    if (at?.row === this.at?.row && at?.column === this.at?.column) return;
    this.at = at;
    this.draw();
  }

  private cellAt(event: MouseEvent): { row: number; column: number } | null {
    const box = this.canvas.getBoundingClientRect();
    const [column, row] = [Math.floor((event.clientX - box.left - LEFT) / this.cell), Math.floor((event.clientY - box.top - TOP) / this.cell)];
    const count = this.matrix?.ranks.length ?? 0;
    return row >= 0 && column >= 0 && row < count && column < count ? { row, column } : null;
  }

  private choose(at: { row: number; column: number } | null): void {
    const pair = at && this.matrix ? this.matrix.pairs[at.row * this.matrix.ranks.length + at.column] : undefined;
    const next: Choice = pair ? { source: pair.source, destination: pair.destination } : null;
    this.host.onChoice(sameChoice(next, this.choice) ? null : next);
  }

  private key(event: KeyboardEvent): void {
    const count = this.matrix?.ranks.length ?? 0;
    const moves: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const by = moves[event.key];
    if (by) {
      const { row, column } = this.at ?? { row: -by[0], column: -by[1] };
      const within = (value: number): number => Math.max(0, Math.min(count - 1, value));
      this.move({ row: within(row + by[0]), column: within(column + by[1]) });
    } else if (event.key === 'Enter' || event.key === ' ') {
      this.choose(this.at);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  private statusText(): string {
    const { matrix, at } = this;
    if (!matrix) return '';
    if (!at) return 'A row sends to a column. A click, or Enter, chooses the pair.';
    const pair = matrix.pairs[at.row * matrix.ranks.length + at.column];
    const names = `${matrix.ranks[at.row].name} → ${matrix.ranks[at.column].name}`;
    return pair ? `${names}: ${measureText(pair.bytes, 'bytes')} in ${measureText(pair.count, 'count')}, ${measureText(pair.sender.waited_ns + pair.receiver.waited_ns, 'waited')} waited` : `${names}: nothing`;
  }

  private draw(): void {
    const { matrix } = this;
    if (!matrix || this.root.offsetParent === null) return;
    const count = Math.max(1, matrix.ranks.length);
    const room = Math.min(this.scroller.clientWidth - LEFT - SUMS - 10, this.scroller.clientHeight - TOP - SUMS - 10);
    this.cell = Math.max(LEAST_CELL, Math.min(MOST_CELL, Math.floor(room / count)));
    const [width, height] = [LEFT + count * this.cell + SUMS, TOP + count * this.cell + SUMS];
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const context = prepare(this.canvas, width, height);
    this.drawCells(context, matrix, count);
    this.drawNames(context, matrix);
    this.drawSums(context, matrix, count);
    this.drawMarks(context, matrix);
    this.status.textContent = this.statusText();
    this.scale.style.background = gradient(this.host.dark());
    this.low.textContent = matrix.most > 0 ? measureText(matrix.least, this.measure) : '';
    this.high.textContent = matrix.most > 0 ? measureText(matrix.most, this.measure) : '';
  }

  private drawCells(context: CanvasRenderingContext2D, matrix: Matrix, count: number): void {
    const { cell } = this;
    const gap = cell > 10 ? 1 : 0;
    context.fillStyle = this.host.css('--surface-high');
    context.fillRect(LEFT, TOP, count * cell, count * cell);
    context.font = '10.5px system-ui, sans-serif';
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    for (let row = 0; row < count; row++) {
      for (let column = 0; column < count; column++) {
        const value = matrix.values[row * count + column];
        if (Number.isNaN(value)) continue;
        const { background, text } = shadeAt(shareOf(matrix, value), this.host.dark());
        context.fillStyle = background;
        context.fillRect(LEFT + column * cell, TOP + row * cell, cell - gap, cell - gap);
        if (cell < ROOM_FOR_TEXT || value === 0) continue;
        context.fillStyle = text;
        context.fillText(shortText(measureText(value, this.measure)), LEFT + (column + 0.5) * cell, TOP + (row + 0.5) * cell);
      }
    }
  }

  /** As many numbers, or names, as there is room for. */
  private drawNames(context: CanvasRenderingContext2D, { ranks }: Matrix): void {
    const { css } = this.host;
    const every = Math.max(1, [1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100].find((step) => step * this.cell >= LEAST_LABEL) ?? 128);
    context.font = '11px system-ui, sans-serif';
    context.fillStyle = css('--text-faint');
    context.textAlign = 'left';
    context.fillText('to', LEFT, 9);
    context.fillText('from', 2, TOP - 9);
    const width = (text: string): number => context.measureText(text).width;
    ranks.forEach((_, i) => {
      if (i % every !== 0) return;
      const on = this.at?.row === i;
      const onColumn = this.at?.column === i;
      const middle = (i + 0.5) * this.cell;
      context.fillStyle = css(on ? '--text' : '--text-faint');
      context.textAlign = 'right';
      context.fillText(shortened(this.labels[i], LEFT - 8, width), LEFT - 6, TOP + middle);
      context.fillStyle = css(onColumn ? '--text' : '--text-faint');
      context.textAlign = 'center';
      context.fillText(shortened(this.labels[i], every * this.cell - 2, width), LEFT + middle, TOP - 9);
    });
  }

  private drawSums(context: CanvasRenderingContext2D, matrix: Matrix, count: number): void {
    const { css } = this.host;
    const edge = count * this.cell + 6;
    const most = Math.max(1, ...matrix.sent, ...matrix.received);
    const wide = Math.max(1, this.cell - (this.cell > 10 ? 2 : 0));
    context.fillStyle = css('--accent');
    context.globalAlpha = 0.75;
    for (let i = 0; i < count; i++) {
      context.fillRect(LEFT + edge, TOP + i * this.cell, ((SUMS - 12) * matrix.sent[i]) / most, wide);
      context.fillRect(LEFT + i * this.cell, TOP + edge, wide, ((SUMS - 12) * matrix.received[i]) / most);
    }
    context.globalAlpha = 1;
  }

  private drawMarks(context: CanvasRenderingContext2D, matrix: Matrix): void {
    const { cell, at, choice } = this;
    const mark = (row: number, column: number, color: string): void => {
      context.strokeStyle = color;
      context.lineWidth = 2;
      context.strokeRect(LEFT + column * cell - 1, TOP + row * cell - 1, cell + 1, cell + 1);
    };
    const index = (id: number): number => matrix.ranks.findIndex((rank) => rank.id === id);
    if (choice && 'source' in choice) mark(index(choice.source), index(choice.destination), this.host.css('--accent'));
    if (at) mark(at.row, at.column, this.host.css('--text'));
  }
}

/** "195.3 KiB" in a box: "195K". */
function shortText(text: string): string {
  const match = /^([\d.]+) ?(\S*)/.exec(text.replace(/(\d) (?=\d)/g, '$1'));
  if (!match) return text;
  const value = Number(match[1]);
  const unit = match[2].startsWith('message') ? '' : match[2].replace('iB', '');
  return `${value >= 100 ? Math.round(value) : Number(value.toPrecision(2))}${unit === 'B' ? '' : unit.length > 1 ? ` ${unit}` : unit}`;
}
