// The synchronisation graph as it is drawn: who had it, what it is, who waited for it, from left to right. Threads can be
// taken together; of many nodes the largest are shown and the others are one.

import { placeText, type GraphLink, type GraphThread, type HandOver, type SyncGraph } from './documents';

export type Together = 'each' | 'name' | 'process';
export type Size = 'waited' | 'waits' | 'occurrences';
export type Column = 'holder' | 'event' | 'waiter';

export interface GraphNode {
  key: string;
  column: Column;
  name: string;
  note: string;
  /** Of an event: "mutex". */
  kind: string;
  size: number;
  threads: Set<number>;
  events: Set<number>;
}

export interface GraphEdge {
  key: string;
  from: GraphNode;
  to: GraphNode;
  size: number;
}

export interface DrawnGraph {
  nodes: GraphNode[];
  edges: GraphEdge[];
}

export interface GraphChoice {
  together: Together;
  size: Size;
  /** Smaller edges are left out: 0 to 1, of the largest. */
  least: number;
  /** Of a thread's, event's or place's name. */
  words: string[];
}

const MAX_NODES = 48;

export function threadName(thread: GraphThread | undefined): string {
  if (!thread) return '?';
  return `${thread.name === '' ? 'thread' : thread.name} ${thread.tid ?? ''}`.trim();
}

/** What a thread is drawn as: [key, name]. */
export function groupOf(thread: GraphThread | undefined, together: Together): [string, string] {
  if (!thread) return ['?', '?'];
  if (together === 'process') return [`p${thread.pid}`, `process ${thread.pid ?? '?'}`];
  if (together === 'each') return [`t${thread.id}`, threadName(thread)];
  // "worker 12", "worker-12" and "worker12" are workers.
  const name = thread.name.replace(/[\s_#:/-]*\d+$/, '') || 'thread';
  return [`n${thread.pid} ${name}`, name];
}

/** Together by name where there are more threads than can be told apart. */
export function togetherFor(graph: SyncGraph): Together {
  return graph.threads.length > 24 ? 'name' : 'each';
}

function sizeOf(row: { waits: number; wait_ns: number; occurrences?: number }, size: Size): number {
  return size === 'waited' ? row.wait_ns : size === 'waits' ? row.waits : (row.occurrences ?? row.waits);
}

/** The rows whose names have all of the words. */
export function rowsOf(graph: SyncGraph, words: string[]): { links: GraphLink[]; handovers: HandOver[] } {
  if (words.length === 0) return { links: graph.links, handovers: graph.handovers };
  const threads = new Map(graph.threads.map((thread) => [thread.id, threadName(thread)]));
  const events = new Map(graph.events.map((event) => [event.id, `${event.name} ${event.kind}`]));
  const has = (...texts: (string | undefined)[]): boolean => {
    const text = texts.join(' ').toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return {
    links: graph.links.filter((link) => has(threads.get(link.thread), events.get(link.event), placeText({ ...link, id: 0, name: link.site }))),
    handovers: graph.handovers.filter((row) => has(threads.get(row.holder), threads.get(row.waiter), events.get(row.event))),
  };
}

class Builder {
  readonly nodes = new Map<string, GraphNode>();
  readonly edges = new Map<string, GraphEdge>();

  node(column: Column, key: string, name: string, kind = '', note = ''): GraphNode {
    const full = `${column} ${key}`;
    let node = this.nodes.get(full);
    if (!node) this.nodes.set(full, (node = { key: full, column, name, note, kind, size: 0, threads: new Set(), events: new Set() }));
    return node;
  }

  join(from: GraphNode, to: GraphNode, size: number): void {
    const key = `${from.key} > ${to.key}`;
    let edge = this.edges.get(key);
    if (!edge) this.edges.set(key, (edge = { key, from, to, size: 0 }));
    edge.size += size;
  }
}

/** Of each column the largest nodes; the others become one. */
function mergeSmall(nodes: GraphNode[], edges: GraphEdge[]): DrawnGraph {
  const merged = new Map<GraphNode, GraphNode>();
  const kept: GraphNode[] = [];
  for (const column of ['holder', 'event', 'waiter'] as const) {
    const all = nodes.filter((node) => node.column === column).sort((a, b) => b.size - a.size);
    kept.push(...all.slice(0, MAX_NODES));
    const rest = all.slice(MAX_NODES);
    if (rest.length === 0) continue;
    const one: GraphNode = { key: `${column} rest`, column, name: `${rest.length} more`, note: '', kind: '', size: 0, threads: new Set(), events: new Set() };
    for (const node of rest) {
      merged.set(node, one);
      one.size += node.size;
      for (const thread of node.threads) one.threads.add(thread);
      for (const event of node.events) one.events.add(event);
    }
    kept.push(one);
  }
  const builder = new Builder();
  for (const edge of edges) builder.join(merged.get(edge.from) ?? edge.from, merged.get(edge.to) ?? edge.to, edge.size);
  return { nodes: kept, edges: [...builder.edges.values()] };
}

export function drawnGraph(graph: SyncGraph, choice: GraphChoice): DrawnGraph {
  const builder = new Builder();
  const threads = new Map(graph.threads.map((thread) => [thread.id, thread]));
  const events = new Map(graph.events.map((event) => [event.id, event]));
  const threadNode = (column: Column, id: number): GraphNode => {
    const [key, name] = groupOf(threads.get(id), choice.together);
    const node = builder.node(column, key, name);
    node.threads.add(id);
    return node;
  };
  const eventNode = (id: number): GraphNode => {
    const event = events.get(id);
    const node = builder.node('event', String(id), event?.name ?? '?', event?.kind ?? '');
    node.events.add(id);
    return node;
  };
  const { links, handovers } = rowsOf(graph, choice.words);
  for (const link of links) {
    // Whoever only wakes others up did not wait.
    if (link.kind === 'wake') continue;
    const size = sizeOf(link, choice.size);
    if (size > 0) builder.join(eventNode(link.event), threadNode('waiter', link.thread), size);
  }
  for (const row of handovers) {
    const size = sizeOf(row, choice.size);
    if (size > 0) builder.join(threadNode('holder', row.holder), eventNode(row.event), size);
  }
  const most = Math.max(0, ...[...builder.edges.values()].map((edge) => edge.size));
  const edges = [...builder.edges.values()].filter((edge) => edge.size >= most * choice.least);
  const sums = new Map<GraphNode, [number, number]>();
  for (const { from, to, size } of edges) {
    sums.set(from, [sums.get(from)?.[0] ?? 0, (sums.get(from)?.[1] ?? 0) + size]);
    sums.set(to, [(sums.get(to)?.[0] ?? 0) + size, sums.get(to)?.[1] ?? 0]);
  }
  for (const [node, [came, went]] of sums) {
    node.size = Math.max(came, went);
    if (node.column !== 'event' && choice.together !== 'each') node.note = node.threads.size > 1 ? `× ${node.threads.size}` : '';
  }
  return mergeSmall([...sums.keys()], edges);
}
