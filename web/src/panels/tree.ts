// The two trees of everything that can be shown: by sensor, and by where it was measured.

import { displayOf } from '../charts/format';
import { byElement, elementName, elementOf, kindName } from '../charts/traces';
import { ElementKind, type Element, type SessionModel, type Series } from '../session/model';

export interface TreeNode {
  key: string;
  name: string;
  note: string;
  /** All that lies below, or the leaf's own. */
  series: Series[];
  children: TreeNode[];
  /** A heading: opened by its name, without a box. */
  heading: boolean;
}

export type TreeBy = 'sensor' | 'place';

function gather<K>(all: Iterable<Series>, key: (series: Series) => K): Map<K, Series[]> {
  const result = new Map<K, Series[]>();
  for (const series of all) {
    const k = key(series);
    const members = result.get(k);
    if (members) members.push(series);
    else result.set(k, [series]);
  }
  return result;
}

function leaf(key: string, name: string, series: Series, note: string): TreeNode {
  return { key, name, note, series: [series], children: [], heading: false };
}

function bySensor(model: SessionModel, matches: Series[]): TreeNode[] {
  return [...gather(matches, (series) => series.sensor)].map(([sensor, all]) => {
    const signals = [...gather(all, (series) => series.signal)].map(([signal, members]) => {
      const key = `${sensor}.${signal}`;
      if (members.length === 1) return leaf(key, signal, members[0], displayOf(members[0]).unit);
      const children = members.sort(byElement(model)).map((series) => {
        const element = elementOf(model, series);
        return leaf(`${key}@${series.element}`, element ? elementName(element) : `element ${series.element}`, series, '');
      });
      return { key, name: signal, note: `× ${members.length}`, series: members, children, heading: false };
    });
    return { key: sensor, name: sensor, note: String(signals.length), series: all, children: signals, heading: true };
  });
}

/** Signals of one element: by sensor where there are several. */
function signalsAt(element: Element, own: Series[]): TreeNode[] {
  const sensors = gather(own, (series) => series.sensor);
  const leaves = (members: Series[], note: boolean): TreeNode[] =>
    members.map((series) => leaf(`${element.id}/${series.sensor}.${series.signal}`, series.signal, series, note ? series.sensor : displayOf(series).unit));
  if (sensors.size === 1) return leaves(own, true);
  return [...sensors].map(([sensor, members]) =>
    members.length === 1 ? leaves(members, true)[0]
      : { key: `${element.id}/${sensor}`, name: sensor, note: String(members.length), series: members, children: leaves(members, false), heading: false });
}

const MAX_DEPTH = 16;

function byPlace(model: SessionModel, matches: Series[]): TreeNode[] {
  const own = gather(matches, (series) => series.element);
  // Only elements that have something in or below them; parents first come by walking up.
  const below = new Map<number, Set<number>>();
  const roots = new Set<number>();
  for (const id of own.keys()) {
    let element = model.elements.get(id);
    for (let depth = 0; element; depth++) {
      const parent = model.elements.get(element.parent);
      if (!parent || parent === element || depth === MAX_DEPTH) {
        roots.add(element.id);
        break;
      }
      below.set(parent.id, (below.get(parent.id) ?? new Set()).add(element.id));
      element = parent;
    }
  }
  const node = (id: number, depth: number): TreeNode => {
    const element = model.elements.get(id)!;
    const inner = depth < MAX_DEPTH ? [...(below.get(id) ?? [])].map((child) => model.elements.get(child)!) : [];
    inner.sort((a, b) => a.kind - b.kind || (a.osId || 0) - (b.osId || 0) || a.id - b.id);
    const children = [...(own.has(id) ? signalsAt(element, own.get(id)!) : []), ...inner.map((child) => node(child.id, depth + 1))];
    const alike = inner.filter((child) => child.kind === inner[0].kind).length;
    const many = alike > 0 ? `${alike} ${kindName(inner[0].kind, alike)}` : '';
    return { key: `@${id}`, name: elementName(element), note: many || kindName(element.kind), series: children.flatMap((child) => child.series), children, heading: element.kind === ElementKind.Machine };
  };
  return [...roots].sort((a, b) => a - b).map((id) => node(id, 0));
}

/** @param words each must be in the sensor's, signal's, element's or unit's name */
export function makeTree(model: SessionModel, by: TreeBy, words: string[]): TreeNode[] {
  const matches = [...model.series.values()].filter((series) => {
    const element = elementOf(model, series);
    const text = `${series.sensor} ${series.signal} ${element ? elementName(element) : ''} ${series.unit}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return by === 'sensor' ? bySensor(model, matches) : byPlace(model, matches.filter((series) => model.elements.has(series.element)));
}
