import { beforeAll, describe, expect, it } from 'vitest';
import { drawSeries, type Plane, type Stroke } from '../src/charts/draw';
import { Points } from '../src/session/points';

const WIDTH = 100;
const PLANE: Plane = { left: 0, top: 0, width: WIDTH, height: 50, t0: 0, t1: 1000, low: 0, high: 100 };
const STROKE: Stroke = { color: 'blue', width: 1.35, denseWidth: 1, bandOpacity: 0.2, factor: 1, longestStep: Infinity, steps: false };

class Path {
  corners = 0;
  moveTo(): void {
    this.corners++;
  }
  lineTo(): void {
    this.corners++;
  }
  closePath(): void {}
}

/** So many points over the plane's time, each from `low` to `high` around 50. */
function points(count: number, low: (i: number) => number, high: (i: number) => number): Points {
  const column = (value: (i: number) => number): Float64Array => Float64Array.from({ length: count }, (_, i) => value(i));
  return Points.of({ t: column((i) => (i * 1000) / count), count: column(() => 4), mean: column(() => 50), low: column(low), high: column(high) }, false);
}

/** The drawing: columns as [x, top, width, height], corners of the band, and the line's width. */
function drawn(series: Points): { columns: number[][]; band: number; lineWidth: number } {
  const result = { columns: [] as number[][], band: 0, lineWidth: 0 };
  const context = {
    fillRect: (...column: number[]) => result.columns.push(column),
    fill: (path: Path) => (result.band += path.corners),
    stroke: () => (result.lineWidth = context.lineWidth),
    lineWidth: 0,
  };
  drawSeries(context as unknown as CanvasRenderingContext2D, series, PLANE, STROKE);
  return result;
}

describe('Lines', () => {
  beforeAll(() => {
    (globalThis as { Path2D?: unknown }).Path2D = Path;
  });

  it('with room have their width, and their band is one shape', () => {
    const { columns, band, lineWidth } = drawn(points(20, () => 40, () => 60));
    expect(columns).toEqual([]);
    expect(band).toBe(40);
    expect(lineWidth).toBe(1.35);
  });

  it('that are dense are a pixel wide, and their band is columns without a gap that hold all of their points', () => {
    const { columns, band, lineWidth } = drawn(points(400, (i) => 30 - (i % 4), (i) => 70 + (i % 4)));
    expect(band).toBe(0);
    expect(lineWidth).toBe(1);
    expect(columns.map(([x]) => x)).toEqual(Array.from({ length: WIDTH }, (_, i) => i));
    for (const [, top, width, height] of columns) expect([width, top, top + height]).toEqual([1, (100 - 73) / 2, (100 - 27) / 2]);
  });

  it('reach from point to point where there is less than one a pixel', () => {
    const { columns } = drawn(points(60, () => 40, () => 60));
    expect(columns.length).toBe(60);
    for (let i = 1; i < columns.length; i++) expect(columns[i][0]).toBe(columns[i - 1][0] + columns[i - 1][2]);
  });

  it('of single samples have no band', () => {
    const { columns, band } = drawn(points(400, () => 50, () => 50));
    expect([columns, band]).toEqual([[], 0]);
  });
});
