// The graph of a dataflow program or another task runtime: kernels, the fields between them, and where they stand on the screen.

import dagre from '@dagrejs/dagre';

export interface WorkKernel {
  kernel: string;
  instances: number;
  /** 0: the runtime has none. */
  ages: number;
  /** Instances that are dispatched together; 0: not told. */
  grain: number;
  body_ns: number;
  dispatch_ns: number;
  /** The kernel behind which it runs without a barrier; empty: none. */
  runs_behind: string;
}

export interface WorkData {
  kernel: string;
  field: string;
  stores: boolean;
  bytes: number;
}

/** Gains are parts of the measured time. */
export interface WorkForecast {
  measured_ns: number;
  /** The model explains the time. */
  fits: boolean;
  /** Part of the threads' time without work. */
  idle: number;
  /** If an instance took half as long, most gain first. */
  halved: { kernel: string; gain_ns: number }[];
  threads_gain_ns: number;
  dispatch_gain_ns: number;
  imbalance_gain_ns: number;
}

export interface Work {
  threads: number;
  kernels: WorkKernel[];
  data: WorkData[];
  /** null: the runtime tells too little. */
  forecast: WorkForecast | null;
}

const NOTICEABLE = 0.005;

/** Part of the run that would be saved if the kernel took half as long; 0: not known. */
export function savedIfHalved({ forecast }: Work, kernel: string): number {
  if (!forecast?.fits) return 0;
  return (forecast.halved.find((one) => one.kernel === kernel)?.gain_ns ?? 0) / forecast.measured_ns;
}

/** The kernel that bounds the run; null: none does, or it is not known. */
export function boundBy(work: Work): string | null {
  const first = work.forecast?.halved[0]?.kernel;
  return first !== undefined && savedIfHalved(work, first) >= NOTICEABLE ? first : null;
}

/** The bounds of the run in words. */
export function forecastText(work: Work): string {
  const { forecast, threads } = work;
  if (!forecast) return '';
  if (!forecast.fits) return `${threads} threads; the model does not explain the time`;
  const percent = (part: number): string => `${(100 * part).toFixed(1)} %`;
  const first = boundBy(work);
  const gains: [string, number][] = [['with twice as many threads', forecast.threads_gain_ns], ['without dispatch', forecast.dispatch_gain_ns], ['with even ranges', forecast.imbalance_gain_ns]];
  return [
    `${threads} threads without work for ${percent(forecast.idle)}`,
    ...(first === null ? [] : [`bound by ${first}: run −${percent(savedIfHalved(work, first))} if halved`]),
    ...gains.filter(([, ns]) => ns / forecast.measured_ns >= NOTICEABLE).map(([what, ns]) => `−${percent(ns / forecast.measured_ns)} ${what}`),
  ].join(' · ');
}

declare module '../session/documents' {
  interface DocumentTypes {
    work: Work;
  }
}

export interface WorkNode {
  key: string;
  name: string;
  /** null: a field. */
  kernel: WorkKernel | null;
}

export interface WorkEdge {
  from: string;
  to: string;
  bytes: number;
}

export interface WorkPicture {
  nodes: WorkNode[];
  edges: WorkEdge[];
}

/** @param withFields else kernels alone: what one fetches from a field comes from those that stored it, in the same shares */
export function pictureOf({ kernels, data }: Work, withFields: boolean): WorkPicture {
  const kernelKey = (name: string): string => `kernel ${name}`;
  const nodes: WorkNode[] = kernels.map((kernel) => ({ key: kernelKey(kernel.kernel), name: kernel.kernel, kernel }));
  if (withFields) {
    const fields = [...new Set(data.map(({ field }) => field))];
    nodes.push(...fields.map((field) => ({ key: `field ${field}`, name: field, kernel: null })));
    return { nodes, edges: data.map(({ kernel, field, stores, bytes }) => (stores ? { from: kernelKey(kernel), to: `field ${field}`, bytes } : { from: `field ${field}`, to: kernelKey(kernel), bytes })) };
  }
  const edges = new Map<string, WorkEdge>();
  for (const fetch of data.filter(({ stores }) => !stores)) {
    const stores = data.filter((one) => one.stores && one.field === fetch.field);
    const all = stores.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { kernel, bytes } of stores) {
      const [from, to] = [kernelKey(kernel), kernelKey(fetch.kernel)];
      const edge = edges.get(`${from} > ${to}`) ?? { from, to, bytes: 0 };
      edge.bytes += fetch.bytes * (all > 0 ? bytes / all : 1 / stores.length);
      edges.set(`${from} > ${to}`, edge);
    }
  }
  return { nodes, edges: [...edges.values()] };
}

export interface Placed {
  left: number;
  top: number;
  width: number;
  height: number;
  /** Centres. */
  nodes: Map<string, { x: number; y: number }>;
  /** Bends of each edge, in the order of the picture's edges. */
  lines: { x: number; y: number }[][];
}

/** Pixels. */
const AROUND = 16;

/** In layers from left to right. @pre there is a node. @param sizeOf a node, in pixels */
export function layOut({ nodes, edges }: WorkPicture, sizeOf: (node: WorkNode) => { width: number; height: number }): Placed {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: 'LR', nodesep: 26, ranksep: 74 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node.key, sizeOf(node));
  edges.forEach(({ from, to }, i) => graph.setEdge(from, to, {}, String(i)));
  dagre.layout(graph);
  const lines = edges.map(({ from, to }, i) => graph.edge({ v: from, w: to, name: String(i) }).points);
  // Edges that go back may pass outside of what dagre says is the size.
  const corners = [...lines.flat(), ...nodes.flatMap(({ key }) => {
    const { x, y, width, height } = graph.node(key);
    return [{ x: x - width / 2, y: y - height / 2 }, { x: x + width / 2, y: y + height / 2 }];
  })];
  const [xs, ys] = [corners.map(({ x }) => x), corners.map(({ y }) => y)];
  const [left, top] = [Math.min(...xs) - AROUND, Math.min(...ys) - AROUND];
  return {
    left, top, width: Math.max(...xs) + AROUND - left, height: Math.max(...ys) + AROUND - top,
    nodes: new Map(nodes.map(({ key }) => [key, { x: graph.node(key).x, y: graph.node(key).y }])), lines,
  };
}
