import { describe, expect, it } from 'vitest';
import { layOut, pictureOf, type Work, type WorkKernel } from '../src/work/graph';

const kernel = (name: string, more: Partial<WorkKernel> = {}): WorkKernel => ({ kernel: name, instances: 1, ages: 0, grain: 0, body_ns: 1, dispatch_ns: 0, runs_behind: '', ...more });
const GOLDEN: Work = {
  kernels: [kernel('init'), kernel('mul2'), kernel('plus5')],
  data: [
    { kernel: 'init', field: 'm', stores: true, bytes: 100 }, { kernel: 'plus5', field: 'm', stores: true, bytes: 300 }, { kernel: 'mul2', field: 'm', stores: false, bytes: 400 },
    { kernel: 'mul2', field: 'p', stores: true, bytes: 400 }, { kernel: 'plus5', field: 'p', stores: false, bytes: 400 },
  ],
};

describe('the graph of a task runtime', () => {
  it('has kernels and fields', () => {
    const { nodes, edges } = pictureOf(GOLDEN, true);
    expect(nodes.map(({ key }) => key)).toEqual(['kernel init', 'kernel mul2', 'kernel plus5', 'field m', 'field p']);
    expect(edges).toContainEqual({ from: 'kernel plus5', to: 'field m', bytes: 300 });
    expect(edges).toContainEqual({ from: 'field m', to: 'kernel mul2', bytes: 400 });
  });

  it('has kernels alone, each fetch from those who stored', () => {
    const { nodes, edges } = pictureOf(GOLDEN, false);
    expect(nodes).toHaveLength(3);
    expect(edges).toEqual([{ from: 'kernel init', to: 'kernel mul2', bytes: 100 }, { from: 'kernel plus5', to: 'kernel mul2', bytes: 300 }, { from: 'kernel mul2', to: 'kernel plus5', bytes: 400 }]);
  });

  it('is laid out in layers, circles too', () => {
    const picture = pictureOf(GOLDEN, true);
    const { nodes, lines, left, top, width, height } = layOut(picture, () => ({ width: 100, height: 40 }));
    const x = (key: string): number => nodes.get(key)!.x;
    expect(x('kernel init')).toBeLessThan(x('field m'));
    expect(x('field m')).toBeLessThan(x('kernel mul2'));
    expect(lines).toHaveLength(picture.edges.length);
    for (const { x: at, y } of lines.flat()) expect([at > left, at < left + width, y > top, y < top + height]).toEqual([true, true, true, true]);
  });
});
