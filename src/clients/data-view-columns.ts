/** HyperbyteDB's columns coded by hand: a `DataView` over reused memory, the fastest way in JavaScript without a library. */
import type { SeriesNames } from '../library/codecs/columns-codec.js';
import type { ColumnBatch, DecodedBatch, JsCodec } from './js-codec.js';

const FLOAT = 0xcb;
const INT64 = 0xd3;
const WIDE = 9;
const ARRAY16 = 0xdc;
const ARRAY32 = 0xdd;
const ARRAY_HEADER = 5;

export const dataViewColumns: JsCodec = {
  encoder: (names, batch) => {
    const writer = new DataViewWriter(names);
    return () => writer.encode(batch);
  },
  decoder: () => {
    const reader = new DataViewReader();
    return (body) => reader.decode(body);
  },
};

class DataViewWriter {
  readonly #head: Uint8Array;
  readonly #times = textBytes('timestamps');
  #bytes = new Uint8Array(0);
  #view = new DataView(this.#bytes.buffer);

  constructor({ measurement, tags = {}, field }: SeriesNames) {
    const entries = Object.entries(tags);
    this.#head = Buffer.concat([
      Uint8Array.of(0x85),
      textBytes('measurement'),
      textBytes(measurement),
      textBytes('tags'),
      // A map header for up to 15 tags. More would need another header.
      Uint8Array.of(0x80 | entries.length),
      ...entries.flat().map(textBytes),
      textBytes('field'),
      textBytes(field),
      textBytes('values'),
    ]);
  }

  encode({ values, timestamps }: ColumnBatch): Uint8Array {
    const needed = this.#head.length + this.#times.length + 2 * (ARRAY_HEADER + WIDE * values.length);
    if (this.#bytes.length < needed) {
      this.#bytes = new Uint8Array(needed);
      this.#view = new DataView(this.#bytes.buffer);
    }
    const bytes = this.#bytes;
    bytes.set(this.#head);
    let at = this.#array(this.#head.length, values.length);
    at = this.#values(at, values);
    bytes.set(this.#times, at);
    at = this.#array(at + this.#times.length, timestamps.length);
    at = this.#integers(at, timestamps);
    return bytes.subarray(0, at);
  }

  #array(at: number, length: number): number {
    this.#bytes[at] = ARRAY32;
    this.#view.setUint32(at + 1, length);
    return at + ARRAY_HEADER;
  }

  #values(start: number, values: Float64Array): number {
    const [bytes, view] = [this.#bytes, this.#view];
    let at = start;
    for (let index = 0; index < values.length; index += 1) {
      bytes[at] = FLOAT;
      view.setFloat64(at + 1, values[index]!);
      at += WIDE;
    }
    return at;
  }

  #integers(start: number, integers: BigInt64Array): number {
    const [bytes, view] = [this.#bytes, this.#view];
    // Written by halves, so that no bigint is made.
    const halves = new Uint32Array(integers.buffer, integers.byteOffset, 2 * integers.length);
    let at = start;
    for (let index = 0; index < halves.length; index += 2) {
      bytes[at] = INT64;
      view.setUint32(at + 1, halves[index + 1]!);
      view.setUint32(at + 5, halves[index]!);
      at += WIDE;
    }
    return at;
  }
}

class DataViewReader {
  #values = new Float64Array(0);
  #timestamps = new BigInt64Array(0);

  decode(body: Uint8Array): DecodedBatch {
    const view = new DataView(body.buffer, body.byteOffset, body.length);
    const end = body.length;
    let at = 1;
    let [values, timestamps]: [Float64Array, BigInt64Array] = [this.#values, this.#timestamps];
    while (at < end) {
      const length = body[at]! & 0x1f;
      const key = latin1(body, at + 1, length);
      at += 1 + length;
      if (key === 'values') {
        const [count, start] = arrayAt(view, at);
        if (this.#values.length !== count) this.#values = new Float64Array(count);
        values = this.#values;
        readFloats(view, start, values);
        at = start + WIDE * count;
      } else if (key === 'timestamps') {
        const [count, start] = arrayAt(view, at);
        if (this.#timestamps.length !== count) this.#timestamps = new BigInt64Array(count);
        timestamps = this.#timestamps;
        readIntegers(view, start, timestamps);
        at = start + WIDE * count;
      } else at = skipText(body, at);
    }
    return { values, timestamps };
  }
}

function readFloats(view: DataView, start: number, into: Float64Array): void {
  let at = start;
  for (let index = 0; index < into.length; index += 1) {
    if (view.getUint8(at) !== FLOAT) throw new TypeError(`byte ${at}: this is no float of 64 bits`);
    into[index] = view.getFloat64(at + 1);
    at += WIDE;
  }
}

function readIntegers(view: DataView, start: number, into: BigInt64Array): void {
  const halves = new Uint32Array(into.buffer, into.byteOffset, 2 * into.length);
  let at = start;
  for (let index = 0; index < halves.length; index += 2) {
    if (view.getUint8(at) !== INT64) throw new TypeError(`byte ${at}: this is no integer of 64 bits`);
    halves[index + 1] = view.getUint32(at + 1);
    halves[index] = view.getUint32(at + 5);
    at += WIDE;
  }
}

function arrayAt(view: DataView, at: number): [count: number, start: number] {
  const tag = view.getUint8(at);
  if (tag === ARRAY16) return [view.getUint16(at + 1), at + 3];
  if (tag === ARRAY32) return [view.getUint32(at + 1), at + ARRAY_HEADER];
  return [tag & 0x0f, at + 1];
}

/** Skips a short string, or a small map of short strings. Returns its end. */
function skipText(body: Uint8Array, start: number): number {
  const tag = body[start]!;
  if (tag >= 0xa0) return start + 1 + (tag & 0x1f);
  let at = start + 1;
  for (let text = 0; text < 2 * (tag & 0x0f); text += 1) at = skipText(body, at);
  return at;
}

function latin1(bytes: Uint8Array, start: number, length: number): string {
  let text = '';
  for (let at = start; at < start + length; at += 1) text += String.fromCharCode(bytes[at]!);
  return text;
}

/** A short string in MessagePack. */
function textBytes(text: string): Uint8Array {
  const bytes = Buffer.from(text);
  return Buffer.concat([Uint8Array.of(0xa0 | bytes.length), bytes]);
}
