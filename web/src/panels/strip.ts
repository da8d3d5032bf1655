// The machine in a line of numbers: CPU, memory, swap, load, network, disks, temperature, each with its course over the shown
// time. All of it comes from series that there are anyway.

import { el } from '../app/dom';
import { formatBrief, type Display } from '../charts/format';
import { levelBefore } from '../machine/heat';
import { ElementKind, type SessionModel, type Series } from '../session/model';
import type { Range } from '../session/view';

export interface StripHost {
  model: SessionModel;
  range(): Range;
  moment(): number;
  css(name: string): string;
  /** Show the charts of these series. */
  onSelect(series: number[]): void;
}

const PERCENT: Display = { unit: '%', factor: 1, prefixes: 'none' };
const BYTES: Display = { unit: 'B', factor: 1, prefixes: 'binary' };
const BYTES_A_SECOND: Display = { unit: 'B/s', factor: 1, prefixes: 'binary' };
const PLAIN: Display = { unit: '', factor: 1, prefixes: 'none' };
const CELSIUS: Display = { unit: '°C', factor: 1, prefixes: 'none' };

/** More elements of one kind cost more than the line is worth. */
const MAX_CPUS = 64;
const MAX_DEVICES = 8;
const SLOTS = 40;
const WIDTH = 48;
const HEIGHT = 18;
const REFRESH_MS = 500;
const SECOND = 1e9;

/** Reads one value of each group of series at some moment. */
type Read = (series: Series[]) => number[];

interface Gauge {
  name: string;
  hint: string;
  groups: Series[][];
  /** What the number is made of; NaN: not known. */
  value(read: Read): number;
  text(read: Read): string;
  /** Of the course; NaN: as high as it gets. */
  top: number;
}

const sum = (values: number[]): number => values.reduce((a, b) => a + b, 0);
const mean = (values: number[]): number => sum(values) / values.length;

/** Part of a whole that is not free. */
function usage(name: string, hint: string, total: Series[], free: Series[]): Gauge {
  const used = (read: Read): number => mean(read(total)) - mean(read(free));
  const share = (read: Read): number => (mean(read(total)) === 0 ? 0 : (100 * used(read)) / mean(read(total)));
  return { name, hint, groups: [total, free], value: share, text: (read) => (mean(read(total)) === 0 ? 'none' : `${formatBrief(used(read), BYTES)} · ${formatBrief(share(read), PERCENT)}`), top: 100 };
}

function flow(name: string, hint: string, marks: [string, string], groups: [Series[], Series[]]): Gauge {
  return {
    name, hint, groups, value: (read) => sum(groups.flatMap(read)), top: NaN,
    text: (read) => groups.map((group, i) => `${marks[i]} ${formatBrief(sum(read(group)), BYTES_A_SECOND)}`).join('  '),
  };
}

export function gaugesOf(model: SessionModel): Gauge[] {
  const find = (sensor: string, signal: string, kind: ElementKind, most: number): Series[] => {
    const found = [...model.series.values()].filter((series) => series.sensor === sensor && series.signal === signal && model.elements.get(series.element)?.kind === kind && model.elements.get(series.element)?.name !== 'lo');
    return found.length > most ? [] : found;
  };
  const one = (sensor: string, signal: string): Series[] => find(sensor, signal, ElementKind.Machine, 1);
  const devices = (sensor: string, signal: string): Series[] => find(sensor, signal, ElementKind.Device, Infinity).slice(0, MAX_DEVICES);
  const idle = find('cpu', 'idle', ElementKind.Cpu, MAX_CPUS);
  const heat = [...model.series.values()].filter((series) => series.sensor === 'hwmon' && /degC|°C/.test(series.unit)).slice(0, 2 * MAX_DEVICES);
  const busy = (read: Read): number => Math.max(0, 100 - mean(read(idle)) * 1e-7);
  const hottest = (read: Read): number => Math.max(...read(heat));
  const load = one('loadavg', 'load1');
  return [
    { name: 'CPU', hint: `time that is not idle, of all ${idle.length} CPUs`, groups: [idle], value: busy, text: (read: Read) => formatBrief(busy(read), PERCENT), top: 100 },
    usage('Memory', 'in use: what is there less what is available', one('memory', 'MemTotal'), one('memory', 'MemAvailable')),
    usage('Swap', 'in use', one('memory', 'SwapTotal'), one('memory', 'SwapFree')),
    { name: 'Load', hint: 'load average of a minute', groups: [load], value: (read: Read) => mean(read(load)), text: (read: Read) => formatBrief(mean(read(load)), PLAIN), top: NaN },
    flow('Network', 'received and sent, all interfaces', ['↓', '↑'], [devices('network', 'rx_bytes'), devices('network', 'tx_bytes')]),
    flow('Disk', 'read and written, all disks', ['R', 'W'], [devices('block', 'read_bytes'), devices('block', 'write_bytes')]),
    { name: 'Temperature', hint: 'the highest', groups: [heat], value: hottest, text: (read: Read) => formatBrief(hottest(read), CELSIUS), top: NaN },
  ].filter((gauge) => gauge.groups.every((group) => group.length > 0));
}

interface Cell {
  gauge: Gauge;
  value: HTMLElement;
  canvas: HTMLCanvasElement;
}

export class Strip {
  readonly root = el('div', { className: 'strip', role: 'group', 'aria-label': 'Machine status' });
  private cells: Cell[] = [];
  private signature = '';
  private refreshed = -Infinity;
  private timer = 0;

  constructor(private readonly host: StripHost) {}

  wanted(): number[] {
    return this.cells.flatMap(({ gauge }) => gauge.groups.flat().map((series) => series.id));
  }

  /** Elements or series changed. */
  render(): void {
    const gauges = gaugesOf(this.host.model);
    const signature = gauges.map((gauge) => `${gauge.name} ${gauge.groups.flat().map((series) => series.id).join()}`).join(';');
    if (signature === this.signature) return;
    this.signature = signature;
    this.cells = gauges.map((gauge) => ({ gauge, value: el('b', {}), canvas: el('canvas', {}) }));
    this.root.hidden = gauges.length === 0;
    this.root.replaceChildren(...this.cells.map(({ gauge, value, canvas }) => {
      const cell = el('button', { className: 'strip-cell', type: 'button', title: `${gauge.name}: ${gauge.hint}. Click for its chart` }, el('span', {}, gauge.name), value, canvas);
      cell.addEventListener('click', () => this.host.onSelect(gauge.groups.flat().map((series) => series.id)));
      return cell;
    }));
    this.refreshed = -Infinity;
  }

  /** The moment, the range or the values changed. @param atOnce a person moved something */
  refresh(atOnce = false): void {
    if (this.cells.length === 0) return;
    window.clearTimeout(this.timer);
    const wait = atOnce ? 0 : this.refreshed + REFRESH_MS - performance.now();
    if (wait > 0) {
      // Nothing may call again where nothing moves any more.
      this.timer = window.setTimeout(() => this.refresh(), wait);
      return;
    }
    this.refreshed = performance.now();
    const { model } = this.host;
    const range = this.host.range();
    const [t0, t1] = [Math.max(range.t0, Math.min(model.extent.t0, range.t1 - SECOND)), range.t1];
    const at = (moment: number, length: number): Read => (series) => series.map((one) => levelBefore(model, one, moment, length));
    const slot = (t1 - t0) / SLOTS;
    for (const { gauge, value, canvas } of this.cells) {
      const now = at(this.host.moment(), SECOND);
      const text = Number.isNaN(gauge.value(now)) ? '–' : gauge.text(now);
      if (value.textContent !== text) value.textContent = text;
      this.draw(canvas, Array.from({ length: SLOTS }, (_, i) => (t0 + (i + 1) * slot > model.extent.t1 + slot ? NaN : gauge.value(at(t0 + (i + 1) * slot, slot)))), gauge.top);
    }
  }

  private draw(canvas: HTMLCanvasElement, values: number[], top: number): void {
    const ratio = devicePixelRatio;
    canvas.width = Math.round(WIDTH * ratio);
    canvas.height = HEIGHT * ratio;
    const context = canvas.getContext('2d')!;
    const highest = Number.isNaN(top) ? Math.max(1e-9, ...values.filter((value) => !Number.isNaN(value))) : top;
    context.strokeStyle = this.host.css('--accent');
    context.lineWidth = 1.2 * ratio;
    context.lineJoin = 'round';
    context.beginPath();
    let down = false;
    values.forEach((value, i) => {
      const x = (i / (SLOTS - 1)) * (canvas.width - 2) + 1;
      const y = canvas.height - 1.5 - (Math.min(value, highest) / highest) * (canvas.height - 3);
      if (Number.isNaN(value)) down = false;
      else if (down) context.lineTo(x, y);
      else context.moveTo(x, y);
      down = !Number.isNaN(value);
    });
    context.stroke();
  }
}
