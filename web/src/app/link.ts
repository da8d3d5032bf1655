// The address keeps what is shown: #s=1-4,9&follow=60 or #s=1-4&from=…&to=… (wall clock, microseconds), and how
// (settings.ts). It never has the token.

import type { SessionModel } from '../session/model';
import type { TimeView } from '../session/view';
import { decodeIds, encodeIds } from './ids';
import { readSettings, writeSettings, type Settings } from './settings';

export interface LinkState {
  series: number[] | null;
  /** Seconds. */
  follow: number | null;
  /** Wall clock, microseconds since 1970. */
  from: number | null;
  to: number | null;
}

/** Takes the token out of the address, so that it is neither shared nor in the history. */
export function takeToken(): string | null {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const token = parameters.get('token');
  if (token === null) return null;
  parameters.delete('token');
  history.replaceState(null, '', `#${parameters.toString()}`);
  return token;
}

/** Kept for this tab and this very server: programs are run only by a page that has it (docs/console.md). */
const TOKEN_KEY = 'attune-token';

export function keepToken(token: string): void {
  sessionStorage.setItem(TOKEN_KEY, token);
}

export function keptToken(): string | null {
  return sessionStorage.getItem(TOKEN_KEY);
}

/** @param settings gets what the link says of the charts */
export function readLink(settings: Settings): LinkState {
  const parameters = new URLSearchParams(location.hash.slice(1));
  readSettings(parameters, settings);
  const number = (key: string): number | null => {
    const value = Number(parameters.get(key) ?? NaN);
    return Number.isFinite(value) && value > 0 ? value : null;
  };
  const series = parameters.get('s');
  return { series: series === null ? null : decodeIds(series), follow: number('follow'), from: number('from'), to: number('to') };
}

export function linkFor(model: SessionModel, view: TimeView, selected: Set<number>, settings: Settings): string {
  const range = view.range;
  const time = view.following
    ? `follow=${+(view.window / 1e9).toPrecision(6)}`
    : `from=${Math.round(model.wallMs(range.t0) * 1e3)}&to=${Math.round(model.wallMs(range.t1) * 1e3)}`;
  const looks = new URLSearchParams();
  writeSettings(settings, looks);
  return `#s=${encodeIds([...selected])}&${time}${looks.size > 0 ? `&${looks.toString()}` : ''}`;
}

/** The address of the browser. Each range of time that was rested at is an entry of its history; what else changes is part of the newest one. */
export class AddressBar {
  private time: string | null = null;
  private isTaken = true;

  /** What it says was shown: that is no step of a person's. */
  taken(): void {
    this.isTaken = true;
  }

  write(link: string): void {
    const time = /(?:^#|&)(follow=[^&]*|from=[^&]*&to=[^&]*)/.exec(link)?.[1] ?? '';
    if (this.isTaken || time === this.time) history.replaceState(null, '', link);
    else history.pushState(null, '', link);
    this.time = time;
    this.isTaken = false;
  }
}
