import { beforeAll, describe, expect, it } from 'vitest';
import { paintLabels } from '../src/charts/marks';
import type { Plane } from '../src/charts/draw';

/** Texts that are written, with where they begin; each letter is ten pixels wide. */
class Paper {
  readonly texts: { text: string; x: number }[] = [];
  fillText(text: string, x: number): void {
    this.texts.push({ text, x });
  }

  measureText(text: string): { width: number } {
    return { width: text.length * 10 };
  }

  setLineDash(): void {}
  beginPath(): void {}
  moveTo(): void {}
  lineTo(): void {}
  stroke(): void {}
}

const plane: Plane = { left: 0, top: 0, width: 1000, height: 100, t0: 0, t1: 1000, low: 0, high: 1 };

function painted(...labels: [number, string][]): { text: string; x: number }[] {
  const paper = new Paper();
  paintLabels(paper as unknown as CanvasRenderingContext2D, plane, labels.map(([t, text]) => ({ t, text })), () => '#000000');
  return paper.texts;
}

describe('labels on a plot', () => {
  beforeAll(() => {
    (globalThis as { devicePixelRatio?: number }).devicePixelRatio = 1;
  });

  it('stand behind their lines, and before them where the edge would cut them', () => {
    expect(painted([100, 'begin'], [980, 'the end'])).toEqual([{ text: 'begin', x: 105.5 }, { text: 'the end', x: 905.5 }]);
  });

  it('leave out what another one covers', () => {
    expect(painted([100, 'begin'], [110, 'next'], [200, 'later']).map(({ text }) => text)).toEqual(['begin', 'later']);
  });
});
