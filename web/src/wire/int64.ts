// Columns of 64-bit integers, kept as two 32-bit halves: exact, and much faster than BigInt.

/** The cell that has no value (INT64_MIN). */
const ABSENT_HIGH = -0x80000000;

export class Int64Column {
  constructor(
    readonly high: Int32Array,
    readonly low: Uint32Array,
  ) {}

  /** The same value in all rows. */
  static filled(value: bigint, rows: number): Int64Column {
    return new Int64Column(new Int32Array(rows).fill(Number(BigInt.asIntN(32, value >> 32n))), new Uint32Array(rows).fill(Number(BigInt.asUintN(32, value))));
  }

  get length(): number {
    return this.high.length;
  }

  isAbsent(row: number): boolean {
    return this.high[row] === ABSENT_HIGH && this.low[row] === 0;
  }

  /** Exact up to 2^53; NaN where there is no value. */
  number(row: number): number {
    return this.isAbsent(row) ? NaN : this.high[row] * 4294967296 + this.low[row];
  }

  /** All values less `offset`, so that times beyond 2^53 ns become small numbers before they are rounded. */
  numbers(offset = 0n): Float64Array {
    const offsetHigh = Number(BigInt.asIntN(32, offset >> 32n));
    const offsetLow = Number(BigInt.asUintN(32, offset));
    const result = new Float64Array(this.length);
    for (let row = 0; row < result.length; row++) {
      if (this.isAbsent(row)) {
        result[row] = NaN;
        continue;
      }
      const low = this.low[row] - offsetLow;
      const high = this.high[row] - offsetHigh;
      result[row] = high * 4294967296 + low;
    }
    return result;
  }
}

/**
 * Decodes one integer column: zigzag LEB128 of wrapping differences of order 0 to 2, where a zero is followed by LEB128
 * of how many more zeros follow (src/wire/frame.h).
 * @throws RangeError if the bytes do not hold exactly `rows` values
 */
export function decodeInts(bytes: Uint8Array, order: number, rows: number): Int64Column {
  const high = new Int32Array(rows);
  const low = new Uint32Array(rows);
  let at = 0;
  // The varint read last, as halves.
  let readLow = 0;
  let readHigh = 0;
  const readVarint = (): void => {
    readLow = 0;
    readHigh = 0;
    for (let shift = 0; ; shift += 7) {
      if (at >= bytes.length || shift > 63) throw new RangeError('a number is cut short');
      const byte = bytes[at++];
      const bits = byte & 0x7f;
      if (shift < 28) {
        readLow |= bits << shift;
      } else if (shift === 28) {
        readLow |= bits << 28;
        readHigh |= bits >>> 4;
      } else {
        readHigh |= bits << (shift - 32);
      }
      if (byte < 0x80) return;
    }
  };

  let valueLow = 0;
  let valueHigh = 0;
  let stepLow = 0;
  let stepHigh = 0;
  let row = 0;
  const emit = (differenceLow: number, differenceHigh: number): void => {
    let addLow = differenceLow;
    let addHigh = differenceHigh;
    if (order === 2) {
      const sum = (stepLow >>> 0) + (differenceLow >>> 0);
      stepHigh = (stepHigh + differenceHigh + (sum > 0xffffffff ? 1 : 0)) | 0;
      stepLow = sum | 0;
      addLow = stepLow;
      addHigh = stepHigh;
    }
    if (order === 0) {
      valueLow = addLow;
      valueHigh = addHigh;
    } else {
      const sum = (valueLow >>> 0) + (addLow >>> 0);
      valueHigh = (valueHigh + addHigh + (sum > 0xffffffff ? 1 : 0)) | 0;
      valueLow = sum | 0;
    }
    high[row] = valueHigh;
    low[row] = valueLow;
    row++;
  };

  while (row < rows) {
    readVarint();
    if (readLow !== 0 || readHigh !== 0) {
      const sign = -(readLow & 1);
      emit(((readLow >>> 1) | (readHigh << 31)) ^ sign, (readHigh >>> 1) ^ sign);
      continue;
    }
    readVarint();
    const more = (readHigh >>> 0) * 4294967296 + (readLow >>> 0);
    if (more >= rows - row) throw new RangeError('a run is longer than the column');
    for (let i = 0; i <= more; i++) emit(0, 0);
  }
  if (at !== bytes.length) throw new RangeError('a column has bytes after its values');
  return new Int64Column(high, low);
}
