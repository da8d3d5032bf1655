import { describe, expect, it } from 'vitest';
import { TextPace } from '../src/app/text_pace';

describe('TextPace', () => {
  it('writes with the first frame that has no new lines', () => {
    const pace = new TextPace();
    expect(pace.isDue(0, false, false)).toBe(false);
    pace.chartsDrawn(16);
    expect(pace.isDue(16, true, false)).toBe(false);
    expect(pace.isDue(33, false, false)).toBe(true);
    expect(pace.isDue(50, false, false)).toBe(false);
  });

  it('writes at last where each frame has new lines', () => {
    const pace = new TextPace();
    const due: number[] = [];
    for (let now = 0; now <= 1000; now += 50) {
      pace.chartsDrawn(now);
      if (pace.isDue(now, true, false)) due.push(now);
    }
    expect(due).toEqual([250, 550, 850]);
  });

  it('writes no more often than the eye reads while the newest data is followed', () => {
    const pace = new TextPace();
    const due: number[] = [];
    for (let now = 0; now <= 400; now += 20) {
      pace.chartsDrawn(now);
      if (pace.isDue(now, false, true)) due.push(now);
    }
    expect(due).toEqual([0, 140, 280]);
  });
});
