import { expect, test } from 'vitest';
import { Question } from '../src/session/question';

/** Asks at each step where it may, of a server that answers one after the other. @return when the newest question is answered; null: never */
function answered(answerMs: number, limitMs: number): number | null {
  const question = new Question(limitMs);
  let [asked, computed, ready] = [0, 0, Infinity];
  for (let now = 0; now < 3_600_000; now += 100) {
    if (now >= ready) {
      if (computed === asked) return now;
      ready = Infinity;
    }
    if (!question.isAwaited(now)) {
      question.ask(now);
      asked++;
    }
    // The newest question takes the place of those that were not begun.
    if (ready === Infinity) [computed, ready] = [asked, now + answerMs];
  }
  return null;
}

test('an answer is taken, however long the server needs', () => {
  for (const answerMs of [100, 19_000, 25_000, 130_000, 700_000]) expect(answered(answerMs, 20_000), `${answerMs} ms`).not.toBeNull();
});

test('a question is asked once while its answer may come', () => {
  const question = new Question(1000);
  expect(question.isAwaited(0)).toBe(false);
  question.ask(0);
  expect(question.isAwaited(999)).toBe(true);
  expect(question.isAwaited(1000)).toBe(false);
  question.ask(1000);
  expect(question.isAwaited(2999)).toBe(true);
  question.end();
  expect(question.inFlight).toBe(false);
  question.ask(5000);
  expect(question.isAwaited(6000)).toBe(false);
});
