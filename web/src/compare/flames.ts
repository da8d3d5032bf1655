// The difference of the flame graphs of two runs, as boxes below each other.

import { button, el } from '../app/dom';
import { drawingChoice } from '../app/drawing';
import { Segments } from '../app/widgets';
import { formatDuration } from '../charts/format';
import type { FlameKind } from '../waits/documents';
import type { Comparison } from './comparison';
import { formatRelative, relativeOf } from './comparison';
import { diffBoxes, diffOf, shiftOf, timeOf, type DiffNode } from './flame_diff';

const KINDS: [FlameKind, string, string][] = [['computing', 'Computing', 'Where threads ran on a CPU, by samples'], ['waiting', 'Waiting', 'What threads waited for']];
const ROW = 21;
/** Part of the width; narrower boxes are left out. */
const LEAST = 0.002;
/** Narrower boxes have no text. */
const LEAST_TEXT = 0.03;
const MOST_BOXES = 1500;
/** Percent of the colour of what one of the runs alone has: text on it can be read. */
const STRONGEST = 45;

export class FlameDifference {
  readonly root = el('section', { 'className': 'compare-section compare-flames', 'aria-label': 'Difference of the flame graphs', 'hidden': true });
  private readonly kinds: Segments<FlameKind>;
  private readonly stage = el('div', { className: 'diff-stage boxes' });
  private readonly words = el('p', { className: 'compare-note' });
  private readonly all = button('link', 'Show all again', () => this.zoom(null), { hidden: true });
  private flames: Comparison['flames'] = { before: {}, after: {} };
  private kind: FlameKind = 'waiting';
  private tree: DiffNode | null = null;
  private zoomed: DiffNode | null = null;

  constructor() {
    this.kinds = new Segments(KINDS, (kind) => this.choose(kind));
    this.root.append(el('header', {}, el('h3', {}, 'Difference of the flame graphs'), this.kinds.root, this.all, el('span', { className: 'grow' }),
      el('small', { className: 'diff-legend' }, el('i', { className: 'less' }), 'less time after', el('i', { className: 'same' }), 'the same', el('i', { className: 'more' }), 'more'), drawingChoice('Save the difference of the flame graphs', 'flames-difference', () => this.root)), this.words, el('div', { className: 'diff-scroller', tabIndex: 0, role: 'region', 'aria-label': 'Flame graph of the difference' }, this.stage));
  }

  /** For the browser tests. */
  get shown(): { kind: FlameKind; tree: DiffNode | null } {
    return { kind: this.kind, tree: this.tree };
  }

  /** Only kinds that both runs have. */
  show(flames: Comparison['flames']): void {
    this.flames = flames;
    const both = KINDS.map(([kind]) => kind).filter((kind) => hasTime(flames.before[kind]) && hasTime(flames.after[kind]));
    this.root.hidden = both.length === 0;
    this.kinds.buttons.forEach((one, i) => (one.disabled = !both.includes(KINDS[i][0])));
    if (both.length > 0) this.choose(both[0]);
  }

  private choose(kind: FlameKind): void {
    this.kind = kind;
    this.kinds.show(kind);
    this.tree = diffOf(this.flames.before[kind], this.flames.after[kind]);
    this.zoom(null);
  }

  private zoom(node: DiffNode | null): void {
    this.zoomed = node;
    this.all.hidden = node === null;
    const { tree } = this;
    if (!tree) return;
    const { before, after } = this.zoomed ?? tree;
    const what = this.kind === 'waiting' ? 'waited' : 'on a CPU';
    this.words.textContent = `${formatDuration(before)} ${what} before, ${formatDuration(after)} after, ${formatRelative(relativeOf({ before, after }))}. A box is as wide as the time of both runs; a click makes it fill the width.`;
    const boxes = diffBoxes(this.zoomed ?? tree, LEAST).sort((a, b) => timeOf(b.node) - timeOf(a.node)).slice(0, MOST_BOXES);
    const levels = boxes.reduce((most, box) => Math.max(most, box.depth + 1), 0);
    this.stage.style.height = `${levels * ROW}px`;
    this.stage.replaceChildren(...boxes.map((box) => {
      const { name, before: a, after: b } = box.node;
      const text = `${name}: ${formatDuration(a)} before, ${formatDuration(b)} after, ${formatRelative(relativeOf({ before: a, after: b }))}`;
      const one = button('diff-box', box.width >= LEAST_TEXT ? name : null, () => this.zoom(box.node === this.zoomed || box.node === tree ? null : box.node), { 'title': text, 'aria-label': text });
      one.style.left = `${(box.left * 100).toFixed(3)}%`;
      one.style.width = `calc(${(box.width * 100).toFixed(3)}% - 1px)`;
      one.style.top = `${box.depth * ROW}px`;
      const shift = shiftOf(box.node);
      one.style.background = `color-mix(in srgb, var(${shift > 0 ? '--bad' : '--good'}) ${Math.round(Math.min(1, Math.abs(shift)) * STRONGEST)}%, var(--surface-high))`;
      return one;
    }));
  }
}

function hasTime(stacks: { together: { time_ns: number[] } } | undefined): boolean {
  return (stacks?.together.time_ns[0] ?? 0) > 0;
}
