// What the page knows of the session: the tables that the server sends, kept up to date message by message.

import { decodeFrames, type Frame } from '../wire/frame';
import {
  Alarms, Elements, ElementsKind as ElementKind, Gaps, Labels, Processes, Series as SeriesColumns, SeriesKind, SeriesSum as SumRule, Streams, Table, View,
} from '../wire/tables';
import type { Int64Column } from '../wire/int64';
import { pairAlarms, type Alarm } from './alarms';
import { Points } from './points';
import type { Range } from './view';

/** Times are nanoseconds after the session's origin everywhere in the page; NaN: not known. */
export interface Element {
  id: number;
  parent: number;
  kind: ElementKind;
  osId: number;
  start: number;
  end: number;
  name: string;
  host: string;
}

export { ElementKind, SeriesKind, SumRule };

export interface Series {
  id: number;
  element: number;
  kind: SeriesKind;
  /** The largest rate there can be, in the unit of the series a second; NaN: not known. */
  maxPerSecond: number;
  sensor: string;
  signal: string;
  unit: string;
  /** What the values of several elements become together. */
  sum: SumRule;
  /** Of its latch group, in nanoseconds; 0: irregular. */
  interval: number;
}

export interface Process {
  id: number;
  parent: number;
  pid: number;
  start: number;
  end: number;
  exitCode: number;
  exitSignal: number;
  userNs: number;
  systemNs: number;
  maxRssBytes: number;
  command: string;
}

export interface Label {
  t: number;
  text: string;
}

export interface Gap {
  stream: number;
  t0: number;
  t1: number;
  count: number;
  reason: number;
}

export const GAP_REASONS = ['', 'missed', 'paused', 'dropped', 'vanished', 'disk full', 'damaged', 'given up'];
export const PAUSED = 2;

export interface Notice {
  level: string;
  text: string;
}

const RAW_KINDS = ['comparison', 'pair', 'document', 'timeline', 'ranks', 'source', 'console'] as const;

/** A message that is not for the model itself. */
export interface RawMessage {
  kind: (typeof RAW_KINDS)[number];
  envelope: Map<string, string>;
  frames: Frame[];
}

/** What a message changed, so that only that is drawn again. */
export interface Applied {
  raw: RawMessage | null;
  hello: boolean;
  /** A hello of another session than before: everything held was forgotten. */
  restarted: boolean;
  update: boolean;
  metadata: boolean;
  processes: boolean;
  labels: boolean;
  alarms: boolean;
  points: boolean;
  view: number | null;
  notice: Notice | null;
  error: string | null;
}

type Info = Map<string, string>;

function newApplied(): Applied {
  return {
    raw: null, hello: false, restarted: false, update: false, metadata: false, processes: false, labels: false, alarms: false, points: false,
    view: null, notice: null, error: null,
  };
}

export class SessionModel {
  id = '';
  origin = 0n;
  title = '';
  canLabel = false;
  canControl = false;
  canLoad = false;
  canCompare = false;
  canRun = false;
  canTune = false;
  /** The command that shows the same once the server is gone; '': there is none. */
  reopen = '';
  /** What is computed of the data as a whole can be asked for. */
  canAnalyse = false;
  /** The recording that the server itself compares with; '': none. */
  compareWith = '';
  /** A recording from a file of this page's, until the connection ends. */
  loaded = false;
  /** From the file of an exported recording, which has documents of all the time only. */
  exported = false;
  paused = false;
  growing = false;
  realMinusMonotonic = 0n;
  extent = { t0: 0, t1: 0 };
  revision = 0;
  version = 0n;
  readonly info: Info = new Map();
  damage: string[] = [];
  readonly elements = new Map<number, Element>();
  readonly series = new Map<number, Series>();
  /** By series. A series whose interval changed is in several streams; the interval is the newest one's. */
  readonly intervals = new Map<number, number>();
  readonly streams = new Map<number, Set<number>>();
  readonly processes = new Map<number, Process>();
  labels: Label[] = [];
  /** The newest first. */
  alarms: Alarm[] = [];
  gaps: Gap[] = [];
  readonly points = new Map<number, Points>();

  /** @throws RangeError on bytes that are no message */
  apply(message: ArrayBuffer | Frame[]): Applied {
    const frames = message instanceof ArrayBuffer ? decodeFrames(message) : message;
    const applied = newApplied();
    const envelope = readInfo(frames[0]);
    const name = envelope.get('message');
    const raw = RAW_KINDS.find((kind) => kind === name);
    if (name === 'hello') {
      applied.hello = true;
      applied.restarted = this.applyHello(envelope);
    } else if (name === 'notice') {
      applied.notice = { level: envelope.get('level') ?? '', text: envelope.get('text') ?? '' };
    } else if (raw) {
      applied.raw = { kind: raw, envelope, frames: frames.slice(1) };
    } else if (name !== 'update') {
      throw new RangeError('a message without a kind');
    }
    if (name !== 'update') return applied;
    applied.update = true;
    this.applyEnvelope(envelope, applied);
    for (const frame of frames.slice(1)) this.applyFrame(frame, applied);
    return applied;
  }

  /** Tables without a message around them: of another recording. */
  applyTables(frames: Frame[]): void {
    for (const frame of frames) this.applyFrame(frame, newApplied());
  }

  /** How the programs that were started have ended; '': one runs, or there was none. */
  get ended(): string {
    const first = [...this.processes.values()].filter(({ parent }) => !this.processes.has(parent));
    const last = first.at(-1);
    if (!last || first.some(({ end }) => Number.isNaN(end))) return '';
    if (!Number.isNaN(last.exitSignal) && last.exitSignal !== 0) return `ended by signal ${last.exitSignal}`;
    return Number.isNaN(last.exitCode) ? 'ended' : `ended, exit code ${last.exitCode}`;
  }

  /** From the first program's start to the last one's end. */
  get run(): Range {
    const all = [...this.processes.values()];
    const known = (times: number[]): number[] => times.filter((t) => !Number.isNaN(t));
    return { t0: Math.min(this.extent.t1, ...known(all.map(({ start }) => start))), t1: Math.max(this.extent.t0, ...known(all.map(({ end }) => end))) };
  }

  /** Wall-clock time of a moment in milliseconds since 1970. */
  wallMs(t: number): number {
    return Number((this.origin + this.realMinusMonotonic) / 1000n) / 1e3 + t / 1e6;
  }

  fromWallMs(ms: number): number {
    return (ms - Number((this.origin + this.realMinusMonotonic) / 1000n) / 1e3) * 1e6;
  }

  private applyHello(envelope: Info): boolean {
    const id = envelope.get('session') ?? '';
    const restarted = id !== this.id;
    if (restarted) {
      this.revision = 0;
      this.info.clear();
      this.elements.clear();
      this.series.clear();
      this.intervals.clear();
      this.streams.clear();
      this.processes.clear();
      this.points.clear();
      this.labels = [];
      this.alarms = [];
      this.gaps = [];
      this.damage = [];
    }
    this.id = id;
    this.origin = BigInt(envelope.get('origin_ns') ?? '0');
    this.title = envelope.get('title') ?? '';
    this.canLabel = envelope.get('can_label') === '1';
    this.canControl = envelope.get('can_control') === '1';
    this.canLoad = envelope.get('can_load') === '1';
    this.canCompare = envelope.get('can_compare') === '1';
    this.canRun = envelope.get('can_run') === '1';
    this.canTune = envelope.get('can_tune') === '1';
    this.reopen = envelope.get('reopen') ?? '';
    this.canAnalyse = envelope.get('can_analyse') === '1';
    this.compareWith = envelope.get('compare_with') ?? '';
    this.loaded = envelope.get('loaded') === '1';
    this.exported = envelope.get('exported') === '1';
    return restarted;
  }

  private applyEnvelope(envelope: Info, applied: Applied): void {
    const relative = (key: string): number => Number(BigInt(envelope.get(key) ?? '0') - this.origin);
    this.version = BigInt(envelope.get('version') ?? '0');
    this.revision = Number(envelope.get('revision') ?? '0');
    this.growing = envelope.get('growing') === '1';
    this.paused = envelope.get('paused') === '1';
    this.extent = { t0: relative('extent_t0_ns'), t1: relative('extent_t1_ns') };
    this.realMinusMonotonic = BigInt(envelope.get('real_minus_monotonic_ns') ?? '0');
    const view = envelope.get('view');
    applied.view = view === undefined ? null : Number(view);
    applied.error = envelope.get('error') ?? null;
    const damage: string[] = [];
    for (const [key, value] of envelope) {
      if (key.startsWith('info.')) this.info.set(key.slice(5), value);
      if (key.startsWith('damage.')) damage.push(value);
    }
    if (damage.length > 0) this.damage = damage;
  }

  private applyFrame(frame: Frame, applied: Applied): void {
    switch (frame.table) {
      case Table.Elements:
        this.applyElements(frame);
        applied.metadata = true;
        break;
      case Table.Series:
        this.applySeries(frame);
        applied.metadata = true;
        break;
      case Table.Streams:
        this.applyStreams(frame);
        applied.metadata = true;
        break;
      case Table.Processes:
        this.applyProcesses(frame);
        applied.processes = true;
        break;
      case Table.Labels: {
        const t = frame.ints[Labels.t_ns].numbers(this.origin);
        this.labels = frame.texts[Labels.text].map((text, row) => ({ t: t[row], text }));
        applied.labels = true;
        break;
      }
      case Table.Alarms:
        this.applyAlarms(frame);
        applied.alarms = true;
        break;
      case Table.Gaps:
        this.applyGaps(frame);
        applied.points = true;
        break;
      case Table.View:
        this.applyView(frame);
        applied.points = true;
        break;
    }
  }

  private applyElements(frame: Frame): void {
    const [id, parent, kind, osId] = [Elements.id, Elements.parent, Elements.kind, Elements.os_id].map((column) => frame.ints[column]);
    const start = frame.ints[Elements.start_ns].numbers(this.origin);
    const end = frame.ints[Elements.end_ns].numbers(this.origin);
    for (let row = 0; row < frame.rows; row++) {
      this.elements.set(id.number(row), {
        id: id.number(row), parent: parent.number(row), kind: kind.number(row), osId: osId.number(row),
        start: start[row], end: end[row], host: frame.texts[Elements.host][row], name: frame.texts[Elements.name][row],
      });
    }
  }

  private applySeries(frame: Frame): void {
    const number = (column: number, row: number): number => frame.ints[column].number(row);
    for (let row = 0; row < frame.rows; row++) {
      const id = number(SeriesColumns.id, row);
      this.series.set(id, {
        id, element: number(SeriesColumns.element, row), kind: number(SeriesColumns.kind, row),
        maxPerSecond: number(SeriesColumns.max_per_second, row) * 10 ** number(SeriesColumns.scale, row),
        sensor: frame.texts[SeriesColumns.sensor][row], signal: frame.texts[SeriesColumns.signal][row],
        unit: frame.texts[SeriesColumns.unit][row], sum: number(SeriesColumns.sum, row), interval: this.intervals.get(id) ?? 0,
      });
    }
  }

  private applyStreams(frame: Frame): void {
    const [stream, seriesId, interval] = [Streams.stream, Streams.series, Streams.interval_ns].map((column) => frame.ints[column]);
    for (let row = 0; row < frame.rows; row++) {
      const id = seriesId.number(row);
      this.intervals.set(id, interval.number(row));
      const streams = this.streams.get(id) ?? new Set<number>();
      this.streams.set(id, streams.add(stream.number(row)));
      const series = this.series.get(id);
      if (series) series.interval = interval.number(row);
    }
  }

  private applyProcesses(frame: Frame): void {
    const number = (column: number, row: number): number => frame.ints[column].number(row);
    const start = frame.ints[Processes.start_ns].numbers(this.origin);
    const end = frame.ints[Processes.end_ns].numbers(this.origin);
    for (let row = 0; row < frame.rows; row++) {
      const id = number(Processes.id, row);
      this.processes.set(id, {
        id, parent: number(Processes.parent, row), pid: number(Processes.pid, row), start: start[row], end: end[row],
        exitCode: number(Processes.exit_code, row), exitSignal: number(Processes.exit_signal, row),
        userNs: number(Processes.user_ns, row), systemNs: number(Processes.system_ns, row),
        maxRssBytes: number(Processes.max_rss_bytes, row), command: frame.texts[Processes.command][row],
      });
    }
  }

  private applyAlarms(frame: Frame): void {
    const t = frame.ints[Alarms.t_ns].numbers(this.origin);
    const number = (column: number, row: number): number => frame.ints[column].number(row);
    const text = (column: number, row: number): string => frame.texts[column][row];
    this.alarms = pairAlarms(Array.from({ length: frame.rows }, (_, row) => ({
      t: t[row], id: number(Alarms.id, row), state: number(Alarms.state, row), severity: number(Alarms.severity, row),
      element: number(Alarms.element, row), series: number(Alarms.series, row),
      value: number(Alarms.value, row) * 10 ** number(Alarms.scale, row), threshold: number(Alarms.threshold, row) * 10 ** number(Alarms.scale, row),
      alarm: text(Alarms.alarm, row), unit: text(Alarms.unit, row), text: text(Alarms.text, row), advice: text(Alarms.advice, row),
    })));
  }

  private applyGaps(frame: Frame): void {
    const t0 = frame.ints[Gaps.t0_ns].numbers(this.origin);
    const t1 = frame.ints[Gaps.t1_ns].numbers(this.origin);
    this.gaps = Array.from({ length: frame.rows }, (_, row) => ({
      stream: frame.ints[Gaps.stream].number(row), t0: t0[row], t1: t1[row], count: frame.ints[Gaps.count].number(row),
      reason: frame.ints[Gaps.reason].number(row),
    }));
  }

  private applyView(frame: Frame): void {
    let points = this.points.get(frame.stream);
    if (!points) {
      points = new Points();
      this.points.set(frame.stream, points);
    }
    const { ints } = frame;
    const [t, from, exponent, count, mean] = [View.t_ns, View.from_ns, View.exponent, View.count, View.mean].map((column) => ints[column]);
    // Those of single samples have neither.
    const [low, high]: (Int64Column | undefined)[] = [ints[View.low], ints[View.high]];
    const scale = frame.rows > 0 ? exponent.number(0) : 0;
    const scaled = (column: Int64Column): Float64Array => {
      const values = column.numbers();
      const factor = 10 ** Math.abs(scale);
      if (scale > 0) for (let i = 0; i < values.length; i++) values[i] *= factor;
      if (scale < 0) for (let i = 0; i < values.length; i++) values[i] /= factor;
      return values;
    };
    const means = scaled(mean);
    points.exact = low === undefined;
    points.replaceFrom(frame.rows > 0 && !from.isAbsent(0) ? from.numbers(this.origin)[0] : NaN, {
      t: t.numbers(this.origin), count: count.numbers(), mean: means,
      low: low ? scaled(low) : means, high: high ? scaled(high) : means,
    });
  }
}

function readInfo(frame: Frame | undefined): Info {
  if (!frame || frame.table !== Table.Info) throw new RangeError('a message without its first frame');
  return new Map(frame.texts[0].map((key, row) => [key, frame.texts[1][row]]));
}
