import { describe, expect, it } from 'vitest';
import { eventOf, meshColumns, missingCounters } from '../src/hardware/counters';
import { SessionModel } from '../src/session/model';

function modelWith(info: Record<string, string>): SessionModel {
  const model = new SessionModel();
  for (const [key, value] of Object.entries(info)) model.info.set(key, value);
  return model;
}

describe('counters of the cores', () => {
  it('say which event they are', () => {
    const model = modelWith({ 'counter.hardware.cycles': 'cpu-cycles (RTM: ONE)', 'counter.hardware.l2_hits (cpu_core)': 'A', 'counter.hardware.l2_hits (cpu_atom)': 'B' });
    expect(eventOf(model, 'hardware.cycles')).toBe('cpu-cycles (RTM: ONE)');
    expect(eventOf(model, 'hardware.l2_hits')).toBe('(cpu_core): A; (cpu_atom): B');
    expect(eventOf(model, 'hardware.l2')).toBe('');
    expect(eventOf(model, 'cpu.user')).toBe('');
  });

  it('say what cannot be had', () => {
    expect(missingCounters(modelWith({ 'skipped.hardware': 'no PMU', 'skipped.energy': 'none' }))).toEqual([['Hardware counters', 'no PMU']]);
    expect(missingCounters(modelWith({ 'skipped.hardware.l2_hits': 'unknown', 'skipped.hardwares': 'another' }))).toEqual([['l2_hits', 'unknown']]);
  });

  it('lie in a mesh', () => expect([1, 2, 4, 5, 64, 512].map(meshColumns)).toEqual([1, 2, 2, 3, 8, 23]));
});
