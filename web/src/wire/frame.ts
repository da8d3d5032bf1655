// Frames as in src/wire/frame.h, uncompressed. A message of the server is one or more of them.

import { decodeInts, type Int64Column } from './int64';

export interface Frame {
  table: number;
  /** Stream of samples; series of a view. */
  stream: number;
  rows: number;
  sequence: bigint;
  ints: Int64Column[];
  texts: string[][];
}

const MAGIC = 0x464e5441;
const HEADER_BYTES = 64;
const BLOCK_HEADER_BYTES = 12;
const COLUMN_HEADER_BYTES = 8;
const MAX_ROWS = 1 << 20;
const TEXT_ENCODING = 16;

const utf8 = new TextDecoder();

function decodeTexts(bytes: Uint8Array, rows: number): string[] {
  const texts: string[] = [];
  let at = 0;
  for (let row = 0; row < rows; row++) {
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      if (at >= bytes.length || shift > 28) throw new RangeError('a text is cut short');
      const byte = bytes[at++];
      length += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    if (length > bytes.length - at) throw new RangeError('a text is cut short');
    texts.push(utf8.decode(bytes.subarray(at, at + length)));
    at += length;
  }
  return texts;
}

function decodeBlocks(view: DataView, start: number, end: number, frame: Frame): void {
  let at = start;
  while (at < end) {
    if (end - at < BLOCK_HEADER_BYTES) throw new RangeError('a block is cut short');
    const rawBytes = view.getUint32(at, true);
    const storedBytes = view.getUint32(at + 4, true);
    const columns = view.getUint16(at + 8, true);
    if (rawBytes !== storedBytes) throw new RangeError('a block is compressed');
    at += BLOCK_HEADER_BYTES;
    const blockEnd = at + storedBytes;
    if (blockEnd > end) throw new RangeError('a block is cut short');
    for (let column = 0; column < columns; column++) {
      if (blockEnd - at < COLUMN_HEADER_BYTES) throw new RangeError('a column is cut short');
      const encoding = view.getUint8(at);
      const bytes = view.getUint32(at + 4, true);
      at += COLUMN_HEADER_BYTES;
      if (bytes > blockEnd - at) throw new RangeError('a column is cut short');
      const body = new Uint8Array(view.buffer, view.byteOffset + at, bytes);
      if (encoding === TEXT_ENCODING) frame.texts.push(decodeTexts(body, frame.rows));
      else if (encoding <= 2) frame.ints.push(decodeInts(body, encoding, frame.rows));
      else throw new RangeError(`column encoding ${encoding} is not known`);
      at += bytes;
    }
    if (at !== blockEnd) throw new RangeError('a block has bytes after its columns');
  }
}

/** Where a frame lies in a message. */
export interface FrameSize {
  table: number;
  stream: number;
  rows: number;
  columns: number;
  at: number;
  bytes: number;
}

/** Of all frames of a message, without decoding them. @throws RangeError on bytes that are no frames */
export function frameSizes(buffer: ArrayBuffer): FrameSize[] {
  const view = new DataView(buffer);
  const sizes: FrameSize[] = [];
  for (let at = 0; at < view.byteLength; at += sizes[sizes.length - 1].bytes) {
    if (view.byteLength - at < HEADER_BYTES || view.getUint32(at, true) !== MAGIC) throw new RangeError('not a frame');
    sizes.push({
      table: view.getUint16(at + 6, true), stream: view.getUint32(at + 16, true), rows: view.getUint32(at + 20, true),
      columns: view.getUint32(at + 56, true), at, bytes: HEADER_BYTES + view.getUint32(at + 8, true),
    });
  }
  return sizes;
}

/**
 * All frames of a message. The checksum is not verified: TCP did.
 * @throws RangeError on bytes that are no frames
 */
export function decodeFrames(buffer: ArrayBuffer): Frame[] {
  const view = new DataView(buffer);
  const frames: Frame[] = [];
  let at = 0;
  while (at < view.byteLength) {
    if (view.byteLength - at < HEADER_BYTES || view.getUint32(at, true) !== MAGIC) throw new RangeError('not a frame');
    if (view.getUint16(at + 4, true) !== 0) throw new RangeError('a frame of another version: reload the page');
    const payloadBytes = view.getUint32(at + 8, true);
    const frame: Frame = {
      table: view.getUint16(at + 6, true),
      stream: view.getUint32(at + 16, true),
      rows: view.getUint32(at + 20, true),
      sequence: view.getBigUint64(at + 24, true),
      ints: [],
      texts: [],
    };
    if (frame.rows > MAX_ROWS || payloadBytes > view.byteLength - at - HEADER_BYTES) throw new RangeError('a frame is cut short');
    at += HEADER_BYTES;
    decodeBlocks(view, at, at + payloadBytes, frame);
    at += payloadBytes;
    frames.push(frame);
  }
  return frames;
}
