// How often each sensor is sampled, and a way to change it while the session runs.

import { el } from '../app/dom';
import { formatDuration } from '../charts/format';
import type { SessionModel } from '../session/model';

export interface SamplingHost {
  model: SessionModel;
  /** @param sensor '': all */
  onInterval(sensor: string, ns: number): void;
}

const STEPS_NS = [1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 2e8, 5e8, 1e9, 2e9, 5e9, 1e10, 3e10, 6e10];

export class Sampling {
  readonly root: HTMLElement;
  private readonly rows = el('div', { className: 'sampling-rows' });
  private readonly slider = el('input', { type: 'range', min: '0', max: String(STEPS_NS.length - 1), step: '1', 'aria-label': 'Interval of all sensors' });
  private readonly sliderText = el('output', {});
  private signature = '';

  constructor(private readonly host: SamplingHost) {
    this.slider.addEventListener('input', () => (this.sliderText.textContent = formatDuration(STEPS_NS[Number(this.slider.value)])));
    this.slider.addEventListener('change', () => host.onInterval('', STEPS_NS[Number(this.slider.value)]));
    this.root = el('div', { className: 'sampling', role: 'dialog', 'aria-label': 'Sampling', hidden: true },
      el('h2', {}, 'Sampling intervals'), el('label', { className: 'sampling-all' }, el('span', {}, 'All sensors'), this.slider, this.sliderText), this.rows);
    document.addEventListener('pointerdown', (event) => {
      const target = event.target as Element;
      if (!this.root.hidden && !this.root.contains(target) && !target.closest('.sampling-button')) this.root.hidden = true;
    });
  }

  toggle(): void {
    this.root.hidden = !this.root.hidden;
    this.signature = '';
    this.render();
  }

  close(): void {
    this.root.hidden = true;
  }

  /** Intervals changed. */
  render(): void {
    if (this.root.hidden) return;
    const sensors = new Map<string, number>();
    for (const series of this.host.model.series.values()) if (series.interval > 0) sensors.set(series.sensor, series.interval);
    const signature = [...sensors].join(';');
    if (signature === this.signature) return;
    this.signature = signature;
    this.rows.replaceChildren(...[...sensors].map(([sensor, interval]) => this.row(sensor, interval)));
    const shortest = Math.min(...sensors.values());
    const nearest = STEPS_NS.reduce((best, step, i) => (Math.abs(Math.log(step / shortest)) < Math.abs(Math.log(STEPS_NS[best] / shortest)) ? i : best), 0);
    this.slider.value = String(nearest);
    this.sliderText.textContent = new Set(sensors.values()).size > 1 ? 'several' : formatDuration(shortest);
  }

  private row(sensor: string, interval: number): HTMLElement {
    const steps = STEPS_NS.includes(interval) ? STEPS_NS : [...STEPS_NS, interval].sort((a, b) => a - b);
    const select = el('select', { className: 'level', 'aria-label': `Interval of ${sensor}` }, ...steps.map((ns) => el('option', { value: String(ns) }, formatDuration(ns))));
    select.value = String(interval);
    select.addEventListener('change', () => this.host.onInterval(sensor, Number(select.value)));
    return el('label', {}, el('span', {}, sensor), select);
  }
}
