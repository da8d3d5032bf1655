import { describe, expect, it } from 'vitest';
import { makeTree, type TreeNode } from '../src/panels/tree';
import { ElementKind, SeriesKind, SessionModel, SumRule } from '../src/session/model';

function machine(): SessionModel {
  const model = new SessionModel();
  const element = (id: number, parent: number, kind: ElementKind, osId: number, name: string): void => {
    model.elements.set(id, { id, parent, kind, osId, start: 0, end: NaN, name, host: 'h' });
  };
  element(1, 0, ElementKind.Machine, NaN, 'h');
  element(2, 1, ElementKind.Node, 0, 'node0');
  element(3, 2, ElementKind.Cpu, 10, 'cpu10');
  element(4, 2, ElementKind.Cpu, 9, 'cpu9');
  element(5, 1, ElementKind.Process, 77, 'solver');
  element(6, 5, ElementKind.Thread, 77, '');
  const add = (element: number, sensor: string, signal: string): void => {
    const id = model.series.size + 1;
    model.series.set(id, { id, element, sensor, signal, kind: SeriesKind.Counter, maxPerSecond: NaN, unit: '1', interval: 1, sum: SumRule.Sum });
  };
  add(1, 'vmstat', 'pgfault');
  add(1, 'memory', 'free');
  add(1, 'memory', 'used');
  add(3, 'cpu', 'busy');
  add(4, 'cpu', 'busy');
  add(6, 'thread', 'run');
  return model;
}

const names = (nodes: TreeNode[]): unknown[] => nodes.map((node) => (node.children.length > 0 ? [node.name, names(node.children)] : node.name));

describe('the tree of signals', () => {
  it('is by sensor, signal and element', () => {
    expect(names(makeTree(machine(), 'sensor', []))).toEqual([
      ['vmstat', ['pgfault']], ['memory', ['free', 'used']], ['cpu', [['busy', ['cpu9', 'cpu10']]]], ['thread', ['run']],
    ]);
  });

  it('is by place, with the sensors of each place', () => {
    expect(names(makeTree(machine(), 'place', []))).toEqual([
      ['h', ['pgfault', ['memory', ['free', 'used']], ['node0', [['cpu9', ['busy']], ['cpu10', ['busy']]]], ['solver', [['thread 77', ['run']]]]]],
    ]);
    expect(makeTree(machine(), 'place', [])[0].series.length).toBe(6);
  });

  it('keeps what has all words', () => {
    expect(names(makeTree(machine(), 'place', ['busy', 'cpu9']))).toEqual([['h', [['node0', [['cpu9', ['busy']]]]]]]);
    expect(makeTree(machine(), 'sensor', ['busy', 'free'])).toEqual([]);
  });

  it('ends where parents go in a circle', () => {
    const model = machine();
    model.elements.get(2)!.parent = 3;
    expect(makeTree(model, 'place', []).length).toBeGreaterThan(0);
  });
});
