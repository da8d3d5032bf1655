// The decoder on frames that the C++ encoder wrote: tests/live/golden_test.cpp makes them and holds them to the encoder.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodeFrames } from '../src/wire/frame';

const file = readFileSync(new URL('frames.golden', import.meta.url));
const golden = (): ArrayBuffer => file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength) as ArrayBuffer;

describe('frames of the C++ encoder', () => {
  const [samples, info, labels] = decodeFrames(golden());

  it('have their header', () => {
    expect(samples).toMatchObject({ table: 5, stream: 4_000_000_000, rows: 8, sequence: (1n << 40n) + 7n });
  });

  it('keep times beyond 2^53 exact against an origin', () => {
    expect([...samples.ints[0].numbers(1_000_000_000_000_000_000n)]).toEqual([0, 1e6, 2e6, 3e6, 4000001, 5000001, 6000001, 7000001]);
  });

  it('keep runs, extremes and absent cells', () => {
    expect([...samples.ints[1].numbers()]).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
    expect([...samples.ints[2].numbers()]).toEqual([2 ** 63, NaN, -1, 1, NaN, NaN, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]);
    expect(samples.ints[2].isAbsent(1)).toBe(true);
    expect([...samples.ints[3].numbers()]).toEqual([5, -5, 5, -5, 1e6, -1e6, 2 ** 32, -(2 ** 32)]);
    expect([...samples.ints[4].numbers()]).toEqual([127, 128, 16383, 16384, 268435455, 268435456, 34359738367, 34359738368]);
    expect([...samples.ints[5].numbers()]).toEqual([1, 3, 6, 10, 15, 21, 28, 36]);
  });

  it('keep texts', () => {
    expect(info.texts[0]).toEqual(['message', '', 'title', 'long']);
    expect(info.texts[1]).toEqual(['hello', '', 'größe ≥ 5 µs 🎉', 'x'.repeat(300)]);
    expect(labels).toMatchObject({ table: 7, rows: 0, texts: [[]] });
  });

  it('are refused when they are cut', () => {
    const whole = golden();
    const frames = [samples, info, labels];
    // A cut between two frames leaves a message that is whole in itself.
    const boundaries = new Set<number>();
    for (let at = 0, i = 0; i < frames.length; i++) boundaries.add((at += 64 + new DataView(whole).getUint32(at + 8, true)));
    for (let size = 1; size < whole.byteLength; size++) {
      if (!boundaries.has(size)) expect(() => decodeFrames(whole.slice(0, size)), `${size} bytes`).toThrow(RangeError);
    }
  });

  it('never make it fail in another way when bytes are wrong', () => {
    const whole = golden();
    for (let at = 0; at < whole.byteLength; at++) {
      const broken = whole.slice(0);
      new Uint8Array(broken)[at] ^= 0xff;
      try {
        decodeFrames(broken);
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
      }
    }
  });
});
