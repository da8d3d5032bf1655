import { describe, expect, it } from 'vitest';
import { TimeView } from '../src/session/view';

const second = 1e9;

describe('TimeView', () => {
  it('follows the newest data and never passes it', () => {
    const view = new TimeView({ t0: 0, t1: 100 * second });
    view.tick(0);
    expect(view.range).toEqual({ t0: 40 * second, t1: 100 * second });
    view.setExtent({ t0: 0, t1: 100.1 * second });
    for (let frame = 0; frame < 20; frame++) {
      view.tick(second / 60);
      expect(view.range.t1).toBeLessThanOrEqual(100.1 * second);
    }
    expect(view.range.t1).toBe(100.1 * second);
  });

  it('stops where it is when it is moved', () => {
    const view = new TimeView({ t0: 0, t1: 100 * second });
    view.tick(0);
    view.pan(-10 * second);
    view.setExtent({ t0: 0, t1: 200 * second });
    view.tick(second);
    expect(view.range).toEqual({ t0: 30 * second, t1: 90 * second });
  });

  it('zooms around the pointer', () => {
    const view = new TimeView({ t0: 0, t1: 0 });
    view.show({ t0: 0, t1: 100 });
    view.show({ t0: 0, t1: 100 * second });
    view.zoom(0.5, 25 * second);
    expect(view.range).toEqual({ t0: 12.5 * second, t1: 62.5 * second });
  });

  it('asks for more than it shows, and again only when that is used up', () => {
    const view = new TimeView({ t0: 0, t1: 0 });
    view.show({ t0: 0, t1: 100 * second });
    expect(view.needsRequest()).toBe(true);
    expect(view.request(1, [4], 1000)).toMatchObject({ id: 1, series: [4], t0: -50 * second, t1: 150 * second, pixels: 2000 });
    expect(view.needsRequest()).toBe(false);
    view.pan(20 * second);
    expect(view.needsRequest()).toBe(false);
    view.pan(20 * second);
    expect(view.needsRequest()).toBe(true);
    view.request(2, [4], 1000);
    view.zoom(0.5, 0);
    expect(view.needsRequest()).toBe(true);
  });

  it('asks once while it follows', () => {
    const view = new TimeView({ t0: 0, t1: 100 * second });
    view.tick(0);
    expect(view.request(1, [], 500)).toEqual({ id: 1, series: [], pixels: 500, follow: 60 * second });
    view.setExtent({ t0: 0, t1: 300 * second });
    view.tick(second);
    expect(view.needsRequest()).toBe(false);
    view.follow(5 * second);
    expect(view.needsRequest()).toBe(true);
  });

  it('grows with the data until its window is full, and then slides', () => {
    const view = new TimeView({ t0: 100 * second, t1: 100.5 * second });
    const at = (t1: number): number[] => {
      view.setExtent({ t0: 100 * second, t1: t1 * second });
      view.tick(10 * second);
      return [view.range.t0 / second, view.range.t1 / second];
    };
    expect(at(100.5)).toEqual([100, 102]);
    expect(at(108)).toEqual([100, 108]);
    expect(view.length).toBe(8 * second);
    expect(at(159)).toEqual([100, 159]);
    expect(at(161)).toEqual([101, 161]);
  });

  it('while it grows is asked for at a resolution that fits, and seldom', () => {
    const view = new TimeView({ t0: 0, t1: 4 * second });
    view.tick(0);
    expect(view.request(1, [], 500).follow).toBe(6 * second);
    let asked = 0;
    for (let t1 = 4; t1 < 100; t1 += 0.1) {
      view.setExtent({ t0: 0, t1: t1 * second });
      view.tick(second);
      if (!view.needsRequest()) continue;
      asked++;
      expect(view.request(1, [], 500).follow).toBeGreaterThanOrEqual(view.length);
    }
    expect(asked).toBeLessThan(8);
    expect(view.request(1, [], 500).follow).toBe(60 * second);
  });

  it('that grows stops as it is, and goes on with its window', () => {
    const view = new TimeView({ t0: 0, t1: 8 * second });
    view.tick(0);
    view.pan(0);
    expect(view.range).toEqual({ t0: 0, t1: 8 * second });
    view.follow();
    expect([view.window, view.range]).toEqual([60 * second, { t0: 0, t1: 8 * second }]);
    view.pan(second);
    view.zoom(0.5, 5 * second);
    view.follow();
    expect(view.window).toBe(4 * second);
  });

  it('that grows zooms in on the newest data, and not out of what there is', () => {
    const view = new TimeView({ t0: 0, t1: 8 * second });
    view.tick(0);
    view.zoom(2, 0);
    expect([view.window, view.length]).toEqual([60 * second, 8 * second]);
    view.zoom(0.5, 0);
    expect(view.range).toEqual({ t0: 4 * second, t1: 8 * second });
  });
});
