import { describe, expect, it } from 'vitest';
import { heatSignals, heatTop, heatValues, levelBefore, valueOf } from '../src/machine/heat';
import { parseCpus, topologyOf, type Place } from '../src/machine/topology';
import { gaugesOf } from '../src/panels/strip';
import { ElementKind, SeriesKind, SessionModel, SumRule, type Series } from '../src/session/model';
import { Points } from '../src/session/points';

/** Two packages of two CPUs, a disk. */
function machine(): SessionModel {
  const model = new SessionModel();
  const element = (id: number, parent: number, kind: ElementKind, osId: number, name: string): void => {
    model.elements.set(id, { id, parent, kind, osId, start: 0, end: NaN, name, host: 'h' });
  };
  element(1, 0, ElementKind.Machine, NaN, 'h');
  for (const p of [0, 1]) {
    element(10 + p, 1, ElementKind.Package, p, `package${p}`);
    for (const c of [0, 1]) element(20 + 2 * p + c, 10 + p, ElementKind.Cpu, 2 * p + c, `cpu${2 * p + c}`);
  }
  element(30, 1, ElementKind.Device, NaN, 'vda');
  element(40, 1, ElementKind.Process, 7, 'sh');
  return model;
}

function add(model: SessionModel, change: Partial<Series>): Series {
  const id = model.series.size + 1;
  const series: Series = { id, element: 1, sensor: 'cpu', signal: 'idle', kind: SeriesKind.Counter, maxPerSecond: NaN, unit: 'ns', interval: 1e8, sum: SumRule.Sum, ...change };
  model.series.set(id, series);
  return series;
}

function set(model: SessionModel, id: number, values: number[]): void {
  const mean = Float64Array.from(values);
  model.points.set(id, Points.of({ t: Float64Array.from(values, (_, i) => i * 1e9), count: new Float64Array(values.length).fill(1), mean, low: mean, high: mean }, true));
}

const DOCUMENT = {
  version: 1,
  machine: {
    kind: 'machine', name: 'other name', cpus: '0-3', memory_bytes: 2 ** 30,
    children: [
      { kind: 'package', name: 'package0', cpus: '0-1', model: 'EPYC', children: [{ kind: 'core', name: 'core0', cpus: '0-1' }] },
      { kind: 'package', name: 'package1', cpus: '2-3', children: [] },
    ],
  },
  caches: [{ level: 1, type: 'data', bytes: 32768, cpus: ['0-1', '2-3'] }, { level: 3, type: 'unified', bytes: 2 ** 25, cpus: ['0-1', '2-3'] }],
  devices: [{ kind: 'block', name: 'vda', node: 0 }, { kind: 'network', name: 'eth0' }],
  offline: '8',
};

function names(place: Place): unknown {
  return place.children.length === 0 ? place.name : [place.name, place.children.map(names)];
}

describe('the machine', () => {
  it('is drawn from the elements', () => {
    const topology = topologyOf(machine())!;
    expect(names(topology.root)).toEqual(['h', [['package0', ['cpu0', 'cpu1']], ['package1', ['cpu2', 'cpu3']]]]);
    expect(topology.root.cpus).toEqual([0, 1, 2, 3]);
    expect(topology.devices.map((device) => device.name)).toEqual(['vda']);
  });

  it('of a recording of several hosts is that of the first one, whose parts have their host before their names', () => {
    const model = machine();
    for (const element of model.elements.values()) {
      element.host = 'node1';
      if (element.kind !== ElementKind.Machine) element.name = `node1 ${element.name}`;
    }
    for (const [id, { ...element }] of [...model.elements]) model.elements.set(100 + id, { ...element, id: 100 + id, parent: element.parent && 100 + element.parent, host: 'node2', name: element.name.replace('node1', 'node2') });
    model.info.set('topology', JSON.stringify({ ...DOCUMENT, machine: { ...DOCUMENT.machine, name: 'node1' } }));
    const { root, devices } = topologyOf(model)!;
    expect([root.element, root.children[0].element, root.children[1].children[1].element, devices[0].element]).toEqual([1, 10, 23, 30]);
    expect(root.children[1].children.map((cpu) => cpu.name)).toEqual(['cpu2', 'cpu3']);
  });

  it('is drawn from the topology, with memory, caches and devices', () => {
    const model = machine();
    model.info.set('topology', JSON.stringify(DOCUMENT));
    const { root, devices, caches, offline } = topologyOf(model)!;
    expect([root.element, root.notes]).toEqual([1, ['1 GiB']]);
    expect(names(root)).toEqual(['other name', [['package0', [['core0', ['cpu0', 'cpu1']]]], ['package1', ['cpu2', 'cpu3']]]]);
    expect(root.children[0].notes).toEqual(['EPYC', 'L3 32 MiB']);
    expect(root.children[1].children[1].element).toBe(23);
    expect([caches, offline]).toEqual([['L1d 32 KiB × 2', 'L3 32 MiB × 2'], '8']);
    expect(devices.map(({ name, element, node }) => [name, element, node])).toEqual([['vda', 30, 0], ['eth0', 0, NaN]]);
  });

  it('survives a topology that is none', () => {
    for (const text of ['', '{', '[]', '{"machine":5}', '{"machine":{"kind":"machine","children":{"a":1},"cpus":7},"caches":3,"devices":[1]}']) {
      const model = machine();
      model.info.set('topology', text);
      expect(topologyOf(model)).not.toBeNull();
    }
    let deep: object = { kind: 'core', cpus: '0' };
    for (let i = 0; i < 100; i++) deep = { kind: 'node', name: 'n', children: [deep] };
    const model = machine();
    model.info.set('topology', JSON.stringify({ machine: deep }));
    expect(topologyOf(model)).not.toBeNull();
    expect(parseCpus('0-2,8,x,4-')).toEqual([0, 1, 2, 8]);
    expect(topologyOf(new SessionModel())).toBeNull();
  });
});

describe('colours', () => {
  it('say how busy CPUs are, and boxes what lies in them', () => {
    const model = machine();
    for (const cpu of [0, 1, 2, 3]) set(model, add(model, { element: 20 + cpu }).id, [1e9, 0.25e9 * cpu]);
    add(model, { element: 40, signal: 'run' });
    add(model, { element: 20, signal: 'mode', kind: SeriesKind.State });
    const [busy, idle, ...more] = heatSignals(model);
    expect([busy.name, idle.name, more.length]).toEqual(['CPU busy', 'cpu idle', 0]);
    const values = heatValues(model, busy, 1e9);
    expect([...values.values()]).toEqual([100, 75, 50, 25]);
    const { root } = topologyOf(model)!;
    expect([valueOf(root, values, busy.rule), valueOf(root.children[1], values, busy.rule), heatTop(busy, values)]).toEqual([62.5, 37.5, 100]);
    expect(valueOf(root, new Map(), 'sum')).toBeNaN();
  });

  it('are of the time before the moment, and of nothing that is long over', () => {
    const model = machine();
    const series = add(model, {});
    expect(levelBefore(model, series, 5e9, 1e9)).toBeNaN();
    set(model, series.id, [10, 20, 30, 40]);
    expect(levelBefore(model, series, 3.5e9, 2e9)).toBe(35);
    expect(levelBefore(model, series, 3.5e9, 0.1e9)).toBe(40);
    expect(levelBefore(model, series, 90e9, 1e9)).toBeNaN();
    expect(levelBefore(model, series, -1, 1e9)).toBeNaN();
  });
});

describe('the strip', () => {
  it('has what there is, and leaves out what there is not', () => {
    const model = machine();
    expect(gaugesOf(model)).toEqual([]);
    for (const cpu of [0, 1, 2, 3]) add(model, { element: 20 + cpu });
    add(model, { sensor: 'memory', signal: 'MemTotal', kind: SeriesKind.Gauge, unit: 'bytes' });
    expect(gaugesOf(model).map((gauge) => gauge.name)).toEqual(['CPU']);
    add(model, { sensor: 'memory', signal: 'MemAvailable', kind: SeriesKind.Gauge, unit: 'bytes' });
    add(model, { sensor: 'block', signal: 'read_bytes', element: 30, unit: 'bytes' });
    add(model, { sensor: 'block', signal: 'write_bytes', element: 30, unit: 'bytes' });
    const [cpu, memory, disk] = gaugesOf(model);
    expect([cpu.name, memory.name, disk.name]).toEqual(['CPU', 'Memory', 'Disk']);
    const read = (series: Series[]): number[] => series.map(({ signal }) => ({ idle: 25e7, MemTotal: 4 * 2 ** 30, MemAvailable: 2 ** 30, read_bytes: 0, write_bytes: 2048 })[signal]!);
    expect([cpu.text(read), memory.text(read), disk.text(read)]).toEqual(['75 %', '3 GiB · 75 %', 'R 0 B/s  W 2 KiB/s']);
  });
});
