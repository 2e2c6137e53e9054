/**
 * Line protocol in tuned JavaScript: bytes are written into reused memory, and numbers digit by digit if that is known
 * to be their shortest text, without intermediate strings. The parser works likewise.
 */
import type { SeriesNames } from '../library/codecs/columns-codec.js';
import type { ColumnBatch, DecodedBatch, JsCodec } from './js-codec.js';

const ZERO = 0x30;
const SPACE = 0x20;
const NEWLINE = 0x0a;
const POINT = 0x2e;
const MINUS = 0x2d;

/** The most bytes of a float and of a timestamp. */
const MOST_FLOAT = 25;
const MOST_TIME = 20;

/** The scale of values that are written digit by digit, which have at most three decimals. */
const SCALE = 1000;

/** The limit of a value times `SCALE`, below which it is still exact. */
const MOST_SCALED = 2 ** 31;

export const lineProtocol: JsCodec = {
  encoder: (names, batch) => {
    const writer = new LineWriter(names);
    return () => writer.encode(batch);
  },
  decoder: () => {
    const reader = new LineReader();
    return (body) => reader.decode(body);
  },
};

/** Writes the digits of a whole number below 2^53 from `start` on. Returns the end. */
function putDigits(bytes: Uint8Array, start: number, value: number): number {
  let length = 1;
  for (let limit = 10; limit <= value; limit *= 10) length += 1;
  let rest = value;
  // Splits off parts, since 32-bit integers divide much faster.
  let at = start + length;
  while (rest >= 1e9) {
    const high = Math.floor(rest / 1e6);
    let low = (rest - high * 1e6) | 0;
    for (let digit = 0; digit < 6; digit += 1) {
      const next = (low / 10) | 0;
      at -= 1;
      bytes[at] = ZERO + low - next * 10;
      low = next;
    }
    rest = high;
  }
  let small = rest | 0;
  while (at > start) {
    const next = (small / 10) | 0;
    at -= 1;
    bytes[at] = ZERO + small - next * 10;
    small = next;
  }
  return start + length;
}

class LineWriter {
  readonly #head: Uint8Array;
  #bytes = Buffer.alloc(0);

  constructor({ measurement, tags = {}, field }: SeriesNames) {
    const escape = (name: string): string => name.replace(/[ ,=]/g, '\\$&');
    const series = Object.entries(tags).map(([name, value]) => `,${escape(name)}=${escape(value)}`);
    this.#head = Buffer.from(`${measurement.replace(/[ ,]/g, '\\$&')}${series.join('')} ${escape(field)}=`);
  }

  encode({ values, timestamps }: ColumnBatch): Uint8Array {
    const head = this.#head;
    const needed = values.length * (head.length + MOST_FLOAT + MOST_TIME + 2);
    if (this.#bytes.length < needed) this.#bytes = Buffer.allocUnsafeSlow(needed);
    const bytes = this.#bytes;
    const halves = new Int32Array(timestamps.buffer, timestamps.byteOffset, 2 * timestamps.length);
    let at = 0;
    for (let index = 0; index < values.length; index += 1) {
      for (let byte = 0; byte < head.length; byte += 1) bytes[at + byte] = head[byte]!;
      at = this.#float(at + head.length, values[index]!);
      bytes[at] = SPACE;
      at = this.#time(at + 1, halves[2 * index + 1]!, halves[2 * index]!);
      bytes[at] = NEWLINE;
      at += 1;
    }
    return bytes.subarray(0, at);
  }

  #float(start: number, value: number): number {
    const bytes = this.#bytes;
    const magnitude = Math.abs(value);
    const scaled = Math.round(magnitude * SCALE);
    // Otherwise the text has at most three decimals, and no shorter text exists.
    if (scaled >= MOST_SCALED || scaled / SCALE !== magnitude) return start + bytes.write(`${value}`, start, 'latin1');
    let at = start;
    if (value < 0) {
      bytes[at] = MINUS;
      at += 1;
    }
    const whole = (scaled / SCALE) | 0;
    at = putDigits(bytes, at, whole);
    const fraction = scaled - whole * SCALE;
    if (fraction === 0) return at;
    const [tenths, hundredths] = [(fraction / 100) | 0, ((fraction / 10) | 0) % 10];
    bytes[at] = POINT;
    bytes[at + 1] = ZERO + tenths;
    bytes[at + 2] = ZERO + hundredths;
    bytes[at + 3] = ZERO + (fraction % 10);
    return at + (fraction % 10 === 0 ? (hundredths === 0 ? 2 : 3) : 4);
  }

  #time(start: number, high: number, low: number): number {
    const time = high * 2 ** 32 + (low >>> 0);
    if (time >= 0 && time <= Number.MAX_SAFE_INTEGER) return putDigits(this.#bytes, start, time);
    const exact = (BigInt(high) << 32n) | BigInt(low >>> 0);
    return start + this.#bytes.write(`${exact}`, start, 'latin1');
  }
}

/** Parses lines of one series and one float field: the parser that an application writes for its own data. */
class LineReader {
  #values = new Float64Array(1024);
  #timestamps = new Float64Array(1024);

  decode(body: Uint8Array): DecodedBatch {
    let count = 0;
    let at = 0;
    const end = body.length;
    while (at < end) {
      if (count === this.#values.length) this.#grow();
      while (body[at] !== SPACE) at += 1;
      while (body[at] !== 0x3d) at += 1;
      at += 1;
      const start = at;
      const isNegative = body[at] === MINUS;
      if (isNegative) at += 1;
      let digits = 0;
      let scale = 1;
      let length = 0;
      let byte = body[at]!;
      while (byte >= ZERO && byte <= 0x39) {
        digits = digits * 10 + byte - ZERO;
        length += 1;
        byte = body[++at]!;
      }
      if (byte === POINT) {
        byte = body[++at]!;
        while (byte >= ZERO && byte <= 0x39) {
          digits = digits * 10 + byte - ZERO;
          scale *= 10;
          length += 1;
          byte = body[++at]!;
        }
      }
      if (byte === SPACE && length <= 15) {
        // Both are exact, so the division rounds once.
        this.#values[count] = isNegative ? -digits / scale : digits / scale;
      } else {
        while (body[at] !== SPACE) at += 1;
        this.#values[count] = Number(Buffer.from(body.buffer, body.byteOffset + start, at - start).toString('latin1'));
      }
      at += 1;
      let time = 0;
      byte = body[at]!;
      while (byte >= ZERO && byte <= 0x39) {
        time = time * 10 + byte - ZERO;
        byte = body[++at]!;
      }
      if (byte !== NEWLINE) throw new SyntaxError(`byte ${at}: this is not the end of a line`);
      this.#timestamps[count] = time;
      count += 1;
      at += 1;
    }
    return { values: this.#values.subarray(0, count), timestamps: this.#timestamps.subarray(0, count) };
  }

  #grow(): void {
    const [values, timestamps] = [new Float64Array(2 * this.#values.length), new Float64Array(2 * this.#values.length)];
    values.set(this.#values);
    timestamps.set(this.#timestamps);
    [this.#values, this.#timestamps] = [values, timestamps];
  }
}
