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
    const { high, low } = this;
    const result = new Float64Array(high.length);
    for (let row = 0; row < result.length; row++) {
      result[row] = high[row] === ABSENT_HIGH && low[row] === 0 ? NaN : (high[row] - offsetHigh) * 4294967296 + (low[row] - offsetLow);
    }
    return result;
  }
}

/** Reads LEB128 numbers of up to 64 bits; the last one as halves. */
class VarintReader {
  at = 0;
  low = 0;
  high = 0;

  constructor(private readonly bytes: Uint8Array) {}

  read(): void {
    const { bytes } = this;
    let { at } = this;
    // Most have one byte.
    if (bytes[at] < 0x80) {
      this.low = bytes[at];
      this.high = 0;
      this.at++;
      return;
    }
    let low = 0;
    let high = 0;
    for (let shift = 0; ; shift += 7) {
      if (at >= bytes.length || shift > 63) throw new RangeError('a number is cut short');
      const byte = bytes[at++];
      const bits = byte & 0x7f;
      if (shift < 28) {
        low |= bits << shift;
      } else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else {
        high |= bits << (shift - 32);
      }
      if (byte < 0x80) break;
    }
    this.at = at;
    this.low = low;
    this.high = high;
  }
}

/**
 * Decodes one integer column: zigzag LEB128 of wrapping differences of order 0 to 2, where a zero is followed by LEB128
 * of how many more zeros follow (src/wire/frame.h). Views have some 100 000 values: no closures here, their variables are slow.
 * @throws RangeError if the bytes do not hold exactly `rows` values
 */
export function decodeInts(bytes: Uint8Array, order: number, rows: number): Int64Column {
  const high = new Int32Array(rows);
  const low = new Uint32Array(rows);
  const reader = new VarintReader(bytes);
  let valueLow = 0;
  let valueHigh = 0;
  let stepLow = 0;
  let stepHigh = 0;
  for (let row = 0; row < rows;) {
    reader.read();
    const sign = -(reader.low & 1);
    const differenceLow = ((reader.low >>> 1) | (reader.high << 31)) ^ sign;
    const differenceHigh = (reader.high >>> 1) ^ sign;
    let end = row + 1;
    if (reader.low === 0 && reader.high === 0) {
      reader.read();
      const more = (reader.high >>> 0) * 4294967296 + (reader.low >>> 0);
      if (more >= rows - row) throw new RangeError('a run is longer than the column');
      end += more;
    }
    for (; row < end; row++) {
      let addLow = differenceLow;
      let addHigh = differenceHigh;
      if (order === 2) {
        const sum = (stepLow >>> 0) + (differenceLow >>> 0);
        stepHigh = addHigh = (stepHigh + differenceHigh + (sum > 0xffffffff ? 1 : 0)) | 0;
        stepLow = addLow = sum | 0;
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
    }
  }
  if (reader.at !== bytes.length) throw new RangeError('a column has bytes after its values');
  return new Int64Column(high, low);
}
