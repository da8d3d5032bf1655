// How the charts are made: what a person chose beyond the signals and the time. Part of the link.

import { DEFAULT_OPTIONS, type ChartOptions, type Style } from '../charts/chart';
import { PLACES, type ChartsBy, type Grouping, type LinesBy } from '../charts/traces';
import type { Workspace } from '../waits/workspaces';
import { decodeIds, encodeIds } from './ids';

export interface Settings extends Grouping {
  /** Of single charts, by key. */
  options: Map<string, ChartOptions>;
  /** The element that the charts are of; 0: all. */
  only: number;
  /** The pane in the place of the charts, where there are threads: as the link says, until the page of waits is there. */
  workspace: Workspace;
  /** What was chosen in panes, by their names. */
  chosen: Map<string, string[]>;
}

export function newSettings(): Settings {
  return { charts: 'signal', lines: 'each', linesOf: new Map(), placed: new Map(), options: new Map(), only: 0, workspace: 'charts', chosen: new Map() };
}

const STYLES: Style[] = ['lines', 'stack', 'heat'];
const MAX_CHARTS = 64;

function readPlace<T extends string>(text: string | null, words: T[], otherwise: T): T | ChartsBy & number {
  const word = words.find((known) => known === text);
  if (word !== undefined) return word;
  return PLACES.find((kind) => String(kind) === text) ?? otherwise;
}

export function readCharts(text: string | null): ChartsBy {
  return readPlace(text, ['signal', 'sensor'], 'signal');
}

export function readLines(text: string | null): LinesBy {
  return readPlace(text, ['each'], 'each');
}

/** Only what differs from the defaults. */
export function writeSettings(settings: Settings, parameters: URLSearchParams): void {
  if (settings.charts !== 'signal') parameters.set('g', String(settings.charts));
  if (settings.lines !== 'each') parameters.set('l', String(settings.lines));
  for (const key of new Set([...settings.options.keys(), ...settings.linesOf.keys()])) {
    const { style, percent, rate } = settings.options.get(key) ?? DEFAULT_OPTIONS;
    const lines = settings.linesOf.get(key);
    if (style === null && !percent && !rate && lines === undefined) continue;
    parameters.append('c', [style ?? '', percent ? '%' : '', rate ? 'r' : '', lines ?? '', key].join('~'));
  }
  if (settings.only !== 0) parameters.set('o', String(settings.only));
  if (settings.workspace !== 'charts') parameters.set('w', settings.workspace);
  for (const [pane, words] of settings.chosen) for (const word of words) parameters.append('p', `${pane}~${word}`);
  const added = new Map<string, number[]>();
  for (const [id, key] of settings.placed) added.set(key, [...(added.get(key) ?? []), id]);
  for (const [key, ids] of added) parameters.append('r', `${encodeIds(ids)}~${key}`);
}

export function readSettings(parameters: URLSearchParams, settings: Settings): void {
  settings.charts = readCharts(parameters.get('g'));
  settings.lines = readLines(parameters.get('l'));
  const only = Number(parameters.get('o') ?? 0);
  settings.only = Number.isInteger(only) && only > 0 ? only : 0;
  settings.workspace = parameters.get('w') ?? 'charts';
  settings.options.clear();
  settings.linesOf.clear();
  settings.placed.clear();
  settings.chosen.clear();
  for (const part of parameters.getAll('p').slice(0, MAX_CHARTS)) {
    const [pane, ...word] = part.split('~');
    if (word.length > 0) settings.chosen.set(pane, [...(settings.chosen.get(pane) ?? []), word.join('~')]);
  }
  for (const part of parameters.getAll('r').slice(0, MAX_CHARTS)) {
    const [ids, ...key] = part.split('~');
    if (key.length > 0) for (const id of decodeIds(ids)) settings.placed.set(id, key.join('~'));
  }
  for (const part of parameters.getAll('c').slice(0, MAX_CHARTS)) {
    const [style, percent, rate, lines, ...key] = part.split('~');
    if (key.length === 0) continue;
    settings.options.set(key.join('~'), { style: STYLES.find((known) => known === style) ?? null, percent: percent === '%', rate: rate === 'r' });
    if (lines !== '') settings.linesOf.set(key.join('~'), readLines(lines));
  }
}
