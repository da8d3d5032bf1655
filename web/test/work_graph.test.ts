import { describe, expect, it } from 'vitest';
import { boundBy, forecastText, layOut, pictureOf, savedIfHalved, type Work, type WorkKernel } from '../src/work/graph';

const kernel = (name: string, more: Partial<WorkKernel> = {}): WorkKernel => ({ kernel: name, instances: 1, ages: 0, grain: 0, body_ns: 1, dispatch_ns: 0, runs_behind: '', ...more });
const GOLDEN: Work = {
  threads: 2,
  forecast: null,
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

describe('what bounds a run', () => {
  const forecast = { measured_ns: 1000, fits: true, idle: 0.25, halved: [{ kernel: 'mul2', gain_ns: 300 }, { kernel: 'init', gain_ns: 0 }], threads_gain_ns: 1, dispatch_gain_ns: 0, imbalance_gain_ns: 100 };

  it('is the kernel that gains most', () => {
    const work: Work = { ...GOLDEN, forecast };
    expect(boundBy(work)).toBe('mul2');
    expect(savedIfHalved(work, 'mul2')).toBe(0.3);
    expect(forecastText(work)).toBe('2 threads without work for 25.0 % · bound by mul2: run −30.0 % if halved · −10.0 % with even ranges');
  });

  it('is not known where the model does not fit', () => {
    const work: Work = { ...GOLDEN, forecast: { ...forecast, fits: false } };
    expect(boundBy(work)).toBeNull();
    expect(forecastText(work)).toBe('2 threads; the model does not explain the time');
    expect(forecastText(GOLDEN)).toBe('');
  });
});
