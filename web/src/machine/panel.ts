// The machine as boxes in boxes, coloured by a signal; a click shows the charts of one of them. Loaded when needed.

import './machine.css';
import { button, el, icon, ICONS } from '../app/dom';
import { closeButton } from '../app/widgets';
import { formatBrief } from '../charts/format';
import { gradient, shadeAt } from '../charts/heat';
import { kindName } from '../charts/traces';
import { eventOf, meshColumns, missingCounters } from '../hardware/counters';
import { ElementKind, type SessionModel } from '../session/model';
import { heatSignals, heatTop, heatValues, placesIn, valueOf, type HeatSignal } from './heat';
import { topologyOf, type Place, type Topology } from './topology';

export interface MachineHost {
  model: SessionModel;
  moment(): number;
  dark(): boolean;
  /** The element that the charts are of; 0: all. */
  only(): number;
  /** @param heat series of the signal that the boxes show, in that element */
  onOnly(element: number, heat: number[]): void;
  /** Other series are needed. */
  onSignal(): void;
  onClose(): void;
}

/** With more CPUs than this cores are not drawn around them; with more than that, nothing is written into them. */
const MAX_CORES_DRAWN = 96;
const MAX_CPUS_NAMED = 32;
/** With more CPUs nodes begin folded. */
const MAX_CPUS_OPEN = 1024;

interface Box {
  place: Place;
  root: HTMLElement;
  value: HTMLElement | null;
}

export class MachinePanel {
  readonly root: HTMLElement;
  private readonly select = el('select', { className: 'level', 'aria-label': 'Colour of the boxes' });
  private readonly layout = el('select', { className: 'level', 'aria-label': 'Arrangement of the boxes' }, el('option', { value: 'topology' }, 'topology'), el('option', { value: 'mesh' }, 'mesh'));
  private readonly event = el('small', { className: 'machine-event' });
  private readonly scale = el('span', { className: 'heat-scale' });
  private readonly body = el('div', { className: 'machine-body' });
  private readonly folded = new Set<string>();
  private readonly opened = new Set<string>();
  private topology: Topology | null = null;
  private signals: HeatSignal[] = [];
  private signal: HeatSignal | null = null;
  private boxes: Box[] = [];
  private signature = '';

  constructor(private readonly host: MachineHost) {
    this.select.addEventListener('change', () => {
      this.signal = this.signals.find((signal) => signal.key === this.select.value) ?? null;
      host.onSignal();
      this.refresh();
    });
    this.layout.addEventListener('change', () => this.draw());
    this.root = el('section', { className: 'machine-panel', 'aria-label': 'Machine' },
      el('header', {}, el('h2', {}, 'Machine'), el('label', { className: 'grouping' }, 'Colour', this.select), this.scale, this.event, el('span', { className: 'grow' }), el('label', { className: 'grouping' }, 'As', this.layout), closeButton('the machine', 'M', () => host.onClose())), this.body);
    this.render();
  }

  /** Series that the colours need. */
  wanted(): number[] {
    return this.signal ? [...this.signal.series.values()].map((series) => series.id) : [];
  }

  /** Elements, series or the topology changed. */
  render(): void {
    const { model } = this.host;
    const signature = `${model.id} ${model.elements.size} ${model.series.size} ${model.info.size} ${model.info.get('topology')?.length ?? 0}`;
    if (signature === this.signature) return;
    this.signature = signature;
    this.topology = topologyOf(model);
    this.signals = heatSignals(model);
    this.signal = this.signals.find((signal) => signal.key === this.signal?.key) ?? this.signals[0] ?? null;
    this.select.replaceChildren(...this.signals.map((signal) => el('option', { value: signal.key }, signal.name)));
    this.select.value = this.signal?.key ?? '';
    this.draw();
  }

  /** Values, the moment, the theme or the chosen element changed. */
  refresh(): void {
    const { signal, host } = this;
    const only = host.only();
    const values = signal ? heatValues(host.model, signal, host.moment()) : new Map<number, number>();
    const top = signal ? heatTop(signal, values) : 1;
    const write = (value: number): string => (signal ? formatBrief(value / signal.display.factor, signal.display) : '–');
    for (const { place, root, value } of this.boxes) {
      const level = signal ? valueOf(place, values, signal.rule) : NaN;
      root.classList.toggle('chosen', place.element !== 0 && place.element === only);
      const text = Number.isNaN(level) ? '' : write(level);
      if (value && value.textContent !== text) value.textContent = text;
      const isCpu = place.kind === ElementKind.Cpu;
      const shade = Number.isNaN(level) || (!isCpu && signal?.rule === 'sum') ? null : shadeAt(level / top, host.dark());
      const shaded = isCpu ? root : value;
      if (shaded) [shaded.style.background, shaded.style.color] = [shade?.background ?? '', shade?.text ?? ''];
      if (isCpu) root.title = `${place.name}${text === '' ? '' : `: ${text}`}`;
      if (isCpu) root.setAttribute('aria-label', `${place.name} ${text}`.trim());
    }
    const bar = el('i', {});
    bar.style.background = gradient(host.dark());
    this.scale.replaceChildren('0', bar, signal ? write(top) : '');
    const event = signal ? eventOf(host.model, signal.key) : '';
    if (this.event.textContent !== event) this.event.textContent = event;
  }

  private draw(): void {
    this.boxes = [];
    const { topology } = this;
    if (!topology) {
      this.body.replaceChildren(el('p', { className: 'empty' }, 'Nothing is known of the machine yet.'));
      return;
    }
    const root = this.layout.value === 'mesh' ? this.mesh(topology.root) : this.box(topology.root, topology.root.cpus.length);
    const more = [topology.caches.length > 0 ? `Caches: ${topology.caches.join(', ')}` : '', topology.offline === '' ? '' : `Offline: CPU ${topology.offline}`].filter(Boolean);
    this.body.replaceChildren(root, ...(topology.devices.length > 0 ? [this.devices(topology)] : []), ...(more.length > 0 ? [el('p', { className: 'machine-notes' }, more.join(' · '))] : []), ...this.missing());
    this.refresh();
  }

  /** What this machine cannot count, and why. */
  private missing(): HTMLElement[] {
    const missing = missingCounters(this.host.model);
    if (missing.length === 0) return [];
    return [el('div', { className: 'machine-missing' }, el('h3', {}, 'Not counted here'), el('dl', {}, ...missing.flatMap(([name, why]) => [el('dt', {}, name), el('dd', {}, why)])))];
  }

  /** All CPUs side by side, in their order. */
  private mesh(root: Place): HTMLElement {
    const cpus = [...placesIn(root)].filter((place) => place.kind === ElementKind.Cpu);
    const cells = el('div', { className: 'mesh' }, ...cpus.map((place) => this.cpu(place, cpus.length)));
    cells.style.gridTemplateColumns = `repeat(${meshColumns(cpus.length)}, minmax(0, 1fr))`;
    return cells;
  }

  private devices({ devices }: Topology): HTMLElement {
    return el('div', { className: 'machine-devices' }, ...devices.map((device) => {
      const where = Number.isNaN(device.node) ? '' : `at node ${device.node}`;
      const place: Place = { kind: ElementKind.Device, name: device.name, element: device.element, cpus: [], notes: [], children: [] };
      const value = el('b', { className: 'box-value' });
      const box = el('button', { className: 'device', type: 'button', disabled: device.element === 0, title: [device.kind, device.what, where].filter(Boolean).join(', ') },
        el('span', {}, device.name), el('small', {}, [device.kind === 'device' ? '' : device.kind, where].filter(Boolean).join(' ')), value);
      box.addEventListener('click', () => this.choose(place));
      this.boxes.push({ place, root: box, value });
      return box;
    }));
  }

  private box(place: Place, all: number): HTMLElement {
    if (place.kind === ElementKind.Cpu) return this.cpu(place, all);
    const value = el('b', { className: 'box-value' });
    const key = `${place.kind} ${place.name}`;
    const byDefault = place.kind === ElementKind.Node && all > MAX_CPUS_OPEN;
    const isFolded = this.folded.has(key) || (byDefault && !this.opened.has(key));
    const count = place.cpus.length;
    const notes = [...place.notes, place.kind === ElementKind.Core ? '' : `${count} ${kindName(ElementKind.Cpu, count)}`].filter(Boolean).join(' · ');
    const twist = button(isFolded ? 'twist' : 'twist open', icon(ICONS.chevron), () => {
      (isFolded ? this.folded : this.opened).delete(key);
      (isFolded ? this.opened : this.folded).add(key);
      this.draw();
    }, { 'aria-label': `${isFolded ? 'Open' : 'Fold'} ${place.name}` });
    const name = el('button', { className: 'box-name', type: 'button', title: `Charts of ${place.name} only` }, el('span', {}, place.name), notes === '' ? null : el('small', {}, notes));
    name.addEventListener('click', () => this.choose(place));
    const inner = isFolded ? [] : this.inside(place, all).map((child) => this.box(child, all));
    const cells = this.inside(place, all).every((child) => child.kind === ElementKind.Cpu);
    const root = el('div', { className: `box ${kindName(place.kind)}` }, el('header', {}, place.kind === ElementKind.Core ? null : twist, name, value), el('div', { className: cells ? 'cells' : 'boxes' }, ...inner));
    this.boxes.push({ place, root, value });
    return root;
  }

  /** Of many CPUs the cores are left out. */
  private inside(place: Place, all: number): Place[] {
    return place.children.flatMap((child) => (child.kind === ElementKind.Core && (all > MAX_CORES_DRAWN || child.children.length < 2) ? child.children : [child]));
  }

  private cpu(place: Place, all: number): HTMLElement {
    const named = all <= MAX_CPUS_NAMED;
    const value = named ? el('b', {}) : null;
    const root = el('button', { className: named ? 'cpu named' : 'cpu', type: 'button', 'aria-label': place.name }, ...(named ? [el('span', {}, place.name), ' ', value] : []));
    root.addEventListener('click', () => this.choose(place));
    this.boxes.push({ place, root, value });
    return root;
  }

  /** The machine itself is everything. */
  private choose(place: Place): void {
    const chosen = place.kind === ElementKind.Machine || place.element === this.host.only() ? 0 : place.element;
    const heat = [...placesIn(place)].flatMap(({ element }) => this.signal?.series.get(element)?.id ?? []);
    this.host.onOnly(chosen, heat);
    this.refresh();
  }
}
