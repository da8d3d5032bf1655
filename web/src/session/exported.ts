// An exported recording in the place of a server: the page's file holds the answers to what it may ask (src/live/exported_page.h).
// Requests and answers are those of the WebSocket, so that the page shows live, recorded and exported data in the same way.

import { decodeFrames, frameSizes, type Frame, type FrameSize } from '../wire/frame';
import { Int64Column } from '../wire/int64';
import { Table, View } from '../wire/tables';
import type { ClientMessage, ConnectionHandlers, Transport } from './connection';
import type { DocumentRequest } from './documents';
import type { Range, ViewRequest } from './view';

/** A message of a server, or frames of one. */
export interface Answer extends Range {
  kind: 'hello' | 'document' | 'update' | 'view' | 'timeline' | 'ranks';
  /** Those of one part have the same resolution. */
  part: number;
  message: ArrayBuffer;
}

/** A frame of a view: one series over a part of the time. */
interface Tile extends Range {
  size: FrameSize;
  message: ArrayBuffer;
}

/** The view frames with every sample have no lowest and highest. */
const COLUMNS_OF_SAMPLES = 5;
const NO_SOURCE = 'An exported page has no source code: attune view shows that of the recording itself.';

/** @param texts what each element of the file holds: base64 of what `deflate` made of the index and the answers */
export async function readAnswers(texts: string[]): Promise<Answer[]> {
  const parts = await Promise.all(texts.map(inflate));
  return parts.flatMap((bytes, part) => {
    const indexBytes = new DataView(bytes).getUint32(0, true);
    const index = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, indexBytes))) as (Omit<Answer, 'part' | 'message'> & { bytes: number })[];
    let at = 4 + indexBytes;
    return index.map(({ kind, t0, t1, bytes: length }) => ({ kind, t0, t1, part, message: bytes.slice(at, (at += length)) }));
  });
}

async function inflate(text: string): Promise<ArrayBuffer> {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'))).arrayBuffer();
}

export class ExportedAnswers implements Transport {
  open = false;
  private answers: Answer[] = [];
  private readonly documents = new Map<string, ArrayBuffer>();
  /** By series, the coarsest resolution first. */
  private readonly levels = new Map<number, Tile[][]>();
  /** Of all of the time: what there is, and the gaps. */
  private tables: Frame[] = [];
  private gaps: Frame[] = [];
  private envelope = new Map<string, string>();
  private extent: Range = { t0: 0, t1: 0 };
  private origin = 0n;

  constructor(private readonly handlers: ConnectionHandlers, private readonly coming: Promise<Answer[]>) {}

  goOn(): Promise<boolean> {
    return Promise.resolve(false);
  }

  async connect(): Promise<void> {
    this.answers = await this.coming;
    for (const answer of this.answers) {
      if (answer.kind === 'document') this.documents.set(infoOf(decodeFrames(answer.message)[0]).get('name') ?? '', answer.message);
      if (answer.kind === 'update') this.addUpdate(answer);
      if (answer.kind === 'view' || answer.kind === 'update') this.addTiles(answer);
    }
    this.open = true;
    this.handlers.onState('open');
    for (const { kind, message } of this.answers) {
      if (kind !== 'hello') continue;
      this.origin = BigInt(infoOf(decodeFrames(message)[0]).get('origin_ns') ?? '0');
      this.handlers.onMessage(message);
    }
  }

  send(message: ClientMessage): void {
    // As from a server, answers come later.
    queueMicrotask(() => this.answer(message));
  }

  restart(): void {}

  sendFile(): Promise<boolean> {
    return Promise.resolve(false);
  }

  private answer({ revision, view, document, timeline, source }: ClientMessage): void {
    const take = (frames: Frame[] | null): void => {
      if (frames) this.handlers.onMessage(frames);
    };
    if (revision !== undefined) take([infoFrame(this.envelope), ...this.tables]);
    if (view) take(this.viewOf(view));
    if (document) take(this.documentOf(document));
    if (timeline) take(this.timelineOf(timeline.ranks ? 'ranks' : 'timeline', timeline));
    if (source) take([infoFrame(new Map([['message', 'source'], ['site', String(source.site)], ['error', NO_SOURCE]]))]);
  }

  /** The answer to a client that has nothing and looks at everything. */
  private addUpdate({ t0, t1, message }: Answer): void {
    const [head, ...frames] = decodeFrames(message);
    this.extent = { t0, t1 };
    // Nothing more comes, even if the recording was still being written.
    this.envelope = new Map([...infoOf(head), ['growing', '0'], ['paused', '0']]);
    for (const key of ['view', 'view_t0_ns', 'view_t1_ns']) this.envelope.delete(key);
    this.tables = frames.filter(({ table }) => table !== Table.View && table !== Table.Gaps);
    this.gaps = frames.filter(({ table }) => table === Table.Gaps);
  }

  private addTiles({ t0, t1, part, message }: Answer): void {
    for (const size of frameSizes(message)) {
      if (size.table !== Table.View) continue;
      let levels = this.levels.get(size.stream);
      if (!levels) this.levels.set(size.stream, (levels = []));
      (levels[part] ??= []).push({ t0, t1, size, message });
    }
  }

  private viewOf(request: ViewRequest): Frame[] {
    const { id, series, pixels } = request;
    const range = request.follow === undefined ? { t0: request.t0 ?? 0, t1: request.t1 ?? 0 } : { t0: this.extent.t1 - request.follow, t1: this.extent.t1 };
    const frames = series.flatMap((one) => this.seriesOf(one, range, pixels));
    const envelope = new Map([...this.envelope].filter(([key]) => !/^(info|damage)\./.test(key)));
    return [infoFrame(envelope.set('view', String(id))), ...this.gaps, ...frames];
  }

  /** At the coarsest resolution that is fine enough, else at the finest. */
  private seriesOf(series: number, range: Range, pixels: number): Frame[] {
    const levels = Object.values(this.levels.get(series) ?? []).map((tiles) => tiles.filter((tile) => tile.t1 > range.t0 && tile.t0 < range.t1));
    const shown = levels.filter((tiles) => tiles.length > 0);
    const tiles = shown.find((some) => some.every(isExact) || pointsIn(some, range) >= pixels) ?? shown.at(-1) ?? [];
    const whole = tiles.filter(({ size }) => size.rows > 0);
    return (whole.length > 0 ? whole : tiles.slice(0, 1)).map(({ t0, size, message }, i) => {
      const [frame] = decodeFrames(message.slice(size.at, size.at + size.bytes));
      // What comes before it stays.
      if (i > 0) frame.ints[View.from_ns] = Int64Column.filled(this.origin + BigInt(t0), frame.rows);
      return frame;
    });
  }

  private documentOf({ name }: DocumentRequest): Frame[] | null {
    const message = this.documents.get(name);
    return message ? withInfo(decodeFrames(message), { growing: '0' }) : null;
  }

  /** Of the shortest time that there is an answer of and that holds what is asked for. */
  private timelineOf(kind: 'timeline' | 'ranks', { id, t0, t1 }: Range & { id: number }): Frame[] | null {
    const from = Math.max(t0, this.extent.t0);
    const to = Math.min(t1, this.extent.t1);
    const whole = this.answers.filter((answer) => answer.kind === kind && answer.t0 <= from && answer.t1 >= to);
    const best = whole.sort((a, b) => a.t1 - a.t0 - (b.t1 - b.t0))[0];
    return best ? withInfo(decodeFrames(best.message), { id: String(id) }) : null;
  }
}

function isExact({ size }: Tile): boolean {
  return size.columns <= COLUMNS_OF_SAMPLES;
}

/** About so many. */
function pointsIn(tiles: Tile[], range: Range): number {
  return tiles.reduce((sum, { t0, t1, size }) => sum + size.rows * Math.max(0, Math.min(t1, range.t1) - Math.max(t0, range.t0)) / Math.max(1, t1 - t0), 0);
}

function infoOf({ texts: [keys, values] }: Frame): Map<string, string> {
  return new Map(keys.map((key, i) => [key, values[i]]));
}

function infoFrame(info: Map<string, string>): Frame {
  return { table: Table.Info, stream: 0, rows: info.size, sequence: 0n, ints: [], texts: [[...info.keys()], [...info.values()]] };
}

function withInfo([head, ...frames]: Frame[], changes: Record<string, string>): Frame[] {
  return [infoFrame(new Map([...infoOf(head), ...Object.entries(changes)])), ...frames];
}
