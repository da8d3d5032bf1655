// What the machine is made of: from the topology that a recording holds (docs/machine.md), or from its elements.

import { formatBytes } from '../charts/format';
import { elementName } from '../charts/traces';
import { ElementKind, type SessionModel } from '../session/model';

export interface Place {
  kind: ElementKind;
  name: string;
  /** 0: none of the recording's. */
  element: number;
  /** Kernel numbers of the CPUs in it. */
  cpus: number[];
  /** Memory, processor, caches. */
  notes: string[];
  children: Place[];
}

export interface DeviceBox {
  name: string;
  kind: string;
  what: string;
  /** Kernel number of the nearest node; NaN: not known. */
  node: number;
  element: number;
}

export interface Topology {
  root: Place;
  devices: DeviceBox[];
  /** Caches that are not those of one box: "L2 1 MiB x 8". */
  caches: string[];
  offline: string;
}

const KINDS: Record<string, ElementKind> = {
  machine: ElementKind.Machine, board: ElementKind.Board, package: ElementKind.Package, node: ElementKind.Node, core: ElementKind.Core,
};
const DRAWN = [ElementKind.Machine, ElementKind.Board, ElementKind.Package, ElementKind.Node, ElementKind.Core, ElementKind.Cpu];
const MAX_DEPTH = 12;
const MAX_CPU = 1 << 16;

/** "0-3,8" */
export function parseCpus(text: unknown): number[] {
  if (typeof text !== 'string') return [];
  const cpus: number[] = [];
  for (const part of text.split(',')) {
    const match = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part.trim());
    if (!match) continue;
    const last = Math.min(Number(match[2] ?? match[1]), MAX_CPU);
    for (let cpu = Number(match[1]); cpu <= last; cpu++) cpus.push(cpu);
  }
  return cpus;
}

type Json = Record<string, unknown>;

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function list(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Elements by kind and name, as the topology names them. In a recording of several hosts it is one host's, and its parts are called "node1 cpu0". */
function elementsByName(model: SessionModel, host: string): Map<string, number> {
  const result = new Map<string, number>();
  const all = [...model.elements.values()];
  const own = all.filter((element) => element.host === host);
  for (const element of own.length > 0 ? own : all) {
    const name = host !== '' && element.name.startsWith(`${host} `) ? element.name.slice(host.length + 1) : element.name;
    if (!result.has(`${element.kind} ${name}`)) result.set(`${element.kind} ${name}`, element.id);
  }
  return result;
}

function cacheName({ level, type, bytes }: Json): string {
  const letter = type === 'data' ? 'd' : type === 'instruction' ? 'i' : '';
  return `L${Number(level) || 0}${letter} ${formatBytes(Number(bytes) || 0)}`;
}

function readPlace(json: Json, known: Map<string, number>, caches: Map<string, string[]>, depth: number): Place | null {
  const kind = KINDS[text(json['kind'])];
  if (kind === undefined || depth > MAX_DEPTH) return null;
  const name = text(json['name']);
  const notes = [text(json['model']), Number(json['memory_bytes']) > 0 ? formatBytes(Number(json['memory_bytes'])) : '', ...(caches.get(text(json['cpus'])) ?? [])];
  // The outermost box of these CPUs has the cache.
  caches.delete(text(json['cpus']));
  const element = (kind === ElementKind.Machine ? [...known].find(([key]) => key.startsWith(`${kind} `))?.[1] : known.get(`${kind} ${name}`)) ?? 0;
  const cpus = parseCpus(json['cpus']);
  const children = list(json['children']).flatMap((child) => readPlace(child, known, caches, depth + 1) ?? []);
  if (children.length === 0) for (const cpu of cpus) children.push({ kind: ElementKind.Cpu, name: `cpu${cpu}`, element: known.get(`${ElementKind.Cpu} cpu${cpu}`) ?? 0, cpus: [cpu], notes: [], children: [] });
  return { kind, name, element, cpus, notes: notes.filter(Boolean), children };
}

function readTopology(document: Json, model: SessionModel): Topology | null {
  const known = elementsByName(model, isObject(document['machine']) ? text(document['machine']['name']) : '');
  const shared = new Map<string, string[]>();
  const caches: string[] = [];
  for (const cache of list(document['caches'])) {
    const sets = Array.isArray(cache['cpus']) ? cache['cpus'].map(text) : [];
    caches.push(`${cacheName(cache)}${sets.length > 1 ? ` × ${sets.length}` : ''}`);
    // Those of single cores are too many to be written into each.
    if (Number(cache['level']) > 2) for (const set of sets) shared.set(set, [...(shared.get(set) ?? []), cacheName(cache)]);
  }
  if (!isObject(document['machine'])) return null;
  const root = readPlace(document['machine'], known, shared, 0);
  if (!root) return null;
  const devices = list(document['devices']).map((device): DeviceBox => ({
    name: text(device['name']), kind: text(device['kind']), what: text(device['what']), node: typeof device['node'] === 'number' ? device['node'] : NaN,
    element: known.get(`${ElementKind.Device} ${text(device['name'])}`) ?? 0,
  }));
  return { root, devices, caches, offline: text(document['offline']) };
}

/** @param host that the machine is of; absent: the first one */
function fromElements(model: SessionModel, host?: string): Topology | null {
  const all = [...model.elements.values()];
  const machine = all.find((element) => element.kind === ElementKind.Machine && (host === undefined || element.host === host));
  if (!machine) return null;
  const place = (id: number, depth: number): Place => {
    const element = model.elements.get(id)!;
    const inner = depth < MAX_DEPTH ? all.filter((child) => child.parent === id && DRAWN.includes(child.kind)) : [];
    inner.sort((a, b) => a.kind - b.kind || (a.osId || 0) - (b.osId || 0) || a.id - b.id);
    const children = inner.map((child) => place(child.id, depth + 1));
    const cpus = element.kind === ElementKind.Cpu ? [element.osId] : children.flatMap((child) => child.cpus);
    return { kind: element.kind, name: elementName(element), element: id, cpus, notes: [], children };
  };
  const devices = all.filter((element) => element.kind === ElementKind.Device)
    .map((element): DeviceBox => ({ name: elementName(element), kind: 'device', what: '', node: NaN, element: element.id }));
  return { root: place(machine.id, 0), devices, caches: [], offline: '' };
}

/** Of a recording of several hosts. @return null where nothing of this one's machine is known */
export function machineOfHost(model: SessionModel, host: string): Place | null {
  return fromElements(model, host)?.root ?? null;
}

/** @return null where nothing of the machine is known */
export function topologyOf(model: SessionModel): Topology | null {
  try {
    const document: unknown = JSON.parse(model.info.get('topology') ?? 'null');
    const topology = isObject(document) ? readTopology(document, model) : null;
    if (topology) return topology;
  } catch {
    // A recording comes from anywhere: its elements are still there.
  }
  return fromElements(model);
}
