/**
 * The functions that cross the boundary, as each mechanism has them, and plain JavaScript, the floor.
 * `native/suite/src/boundary.rs` has the same in Rust, and says what both floors have in common. Each function returns
 * a number that depends on what it was passed, so that no call can be left out.
 */
import { TURNS, eachTurn } from '../in-process.js';
import { BOUNDARY_MATRIX } from './matrix.js';

/** An object of ten fields. */
export interface BoundaryRecord {
  readonly id: number;
  readonly sensor: number;
  readonly value: number;
  readonly timestamp: number;
  readonly score: number;
  readonly count: number;
  readonly active: boolean;
  readonly flagged: boolean;
  readonly name: string;
  readonly city: string;
}

/** The functions of a mechanism. It may lack some. */
export interface BoundaryFunctions {
  /** Passes nothing. The calls are counted. */
  nothing(): void;
  /** The calls of `nothing` so far. */
  calls(): number;
  add(left: number, right: number): number;
  increment(value: bigint): bigint;
  /** The code of the last character. */
  readText(text: string): number;
  shortText(): string;
  longText(): string;
  shortWideText(): string;
  longWideText(): string;
  /** A text of `characters` characters of one byte. */
  makeText(characters: number): string;
  /** The sum of the first and the last byte, where they lie. */
  readBytes(bytes: Uint8Array): number;
  /** The sum of the first and the last byte of a copy. */
  copyBytes(bytes: Uint8Array): number;
  /** Bytes in memory of JavaScript's own. */
  copiedBytes(size: number): Uint8Array;
  /** Bytes in memory that stays the other side's until the garbage is collected. */
  externalBytes(size: number): Uint8Array;
  /** Fills the whole array. */
  fillBytes(into: Uint8Array): number;
  readRecord(record: BoundaryRecord): number;
  readRecordJson(json: string): number;
  readRecordFrame(frame: Uint8Array): number;
  makeRecord(): BoundaryRecord;
  makeRecordJson(): string;
  /** Returns the size of the frame. */
  makeRecordFrame(into: Uint8Array): number;
  sumArray(values: readonly number[]): number;
  sumTyped(values: Float64Array): number;
  callBack(call: (value: number) => number, value: number): number;
  /** Throws an `Error`. */
  fail(): void;
  /** Makes an object that counts from 0. */
  makeCounter(): object;
  /** Adds a number to an object of `makeCounter`, and returns its sum so far. */
  addTo(counter: object, number: number): number;
}

const { shortCharacters, longCharacters, mostBytes, arrayLength } = BOUNDARY_MATRIX;

/**
 * The texts of a length that cross, in turn: 26 letters over and over, from each of the first few on. A text out of
 * `Buffer` is flat, as one that comes from another side.
 */
export function textsOf(first: string, length: number): readonly string[] {
  return eachTurn((turn) => {
    const codes = Uint16Array.from({ length }, (_, place) => first.charCodeAt(0) + ((turn + place) % 26));
    return first < '\u0100' ? Buffer.from(codes).toString('latin1') : Buffer.from(codes.buffer).toString('utf16le');
  });
}

/** The texts that cross: of one byte a character, and of Cyrillic letters, for which a string needs two. */
export const TEXTS = {
  short: textsOf('a', shortCharacters),
  long: textsOf('a', longCharacters),
  short_wide: textsOf('а', shortCharacters),
  long_wide: textsOf('а', longCharacters),
} as const;

/** The values after which the bytes begin again. */
const BYTES_PERIOD = 256;

let bytes: Uint8Array | undefined;

/** The bytes that cross: byte `i` is `31 i + 7`, cut to eight bits. Made at their first use, since few cells need this many. */
export function allBytes(): Uint8Array {
  bytes ??= madeBytes(mostBytes + TURNS);
  return bytes;
}

function madeBytes(size: number): Uint8Array {
  const made = Uint8Array.from({ length: size < BYTES_PERIOD ? size : BYTES_PERIOD }, (_, place) => place * 31 + 7);
  const all = new Uint8Array(size);
  for (let at = 0; at < size; at += BYTES_PERIOD) all.set(made.subarray(0, size - at), at);
  return all;
}

/** The arrays of a size that cross in, in turn. */
export function bytesOf(size: number): readonly Uint8Array[] {
  return eachTurn((turn) => allBytes().slice(turn, turn + size));
}

/** A number that crosses: with a fraction, so that V8 holds it as a double, which Rust's are as well. */
function numberAt(place: number): number {
  return place + 0.5;
}

/** The numbers that cross in, in turn: a power of two of them, in memory whose contents the compiler does not know. */
export const OPERANDS = Float64Array.from({ length: 1024 }, (_, place) => numberAt(place));

/** The number that is added to each of those, in such memory as well. */
export const ADDENDS = Float64Array.of(0.25);

/** The numbers of the array that crosses. */
export const NUMBERS: readonly number[] = Array.from({ length: arrayLength }, (_, place) => numberAt(place));

/** The record that crosses out. */
const RECORD: BoundaryRecord = {
  id: 1,
  sensor: 2,
  value: 0.5,
  timestamp: 1_700_000_000_000,
  score: 0.25,
  count: 3,
  active: true,
  flagged: false,
  name: 'sensor seven',
  city: 'Uppsala',
};

/** The records that cross in, in turn. */
export const RECORDS = eachTurn((turn): BoundaryRecord => ({ ...RECORD, id: 1 + turn }));

/** A sum that each of the fields is in. */
export function sumOfRecord(record: BoundaryRecord): number {
  const { id, sensor, value, timestamp, score, count, active, flagged, name, city } = record;
  const numbers = id + sensor + value + timestamp + score + count;
  return numbers + (active ? 1 : 0) + (flagged ? 2 : 0) + lastCode(name) + lastCode(city);
}

export function lastCode(text: string): number {
  return text.length === 0 ? 0 : text.charCodeAt(text.length - 1);
}

export function endsOf(bytes: Uint8Array): number {
  return bytes.length === 0 ? 0 : bytes[0]! + bytes[bytes.length - 1]!;
}

/** The size of the head of a frame: six numbers, two truth values, and the lengths of the two texts. */
const FRAME_HEAD = 6 * 8 + 4;

/** Reads and writes records as flat frames, in memory of its own. */
export class RecordFrames {
  readonly frame = new Uint8Array(256);
  readonly #view = new DataView(this.frame.buffer);
  readonly #encoder = new TextEncoder();
  readonly #decoder = new TextDecoder();

  /** Writes a record, and returns the size of its frame. */
  write(record: BoundaryRecord): number {
    const view = this.#view;
    view.setFloat64(0, record.id, true);
    view.setFloat64(8, record.sensor, true);
    view.setFloat64(16, record.value, true);
    view.setFloat64(24, record.timestamp, true);
    view.setFloat64(32, record.score, true);
    view.setFloat64(40, record.count, true);
    const { written: name } = this.#encoder.encodeInto(record.name, this.frame.subarray(FRAME_HEAD));
    const { written: city } = this.#encoder.encodeInto(record.city, this.frame.subarray(FRAME_HEAD + name));
    this.frame.set([record.active ? 1 : 0, record.flagged ? 1 : 0, name, city], 48);
    return FRAME_HEAD + name + city;
  }

  /** The sum of the fields of the record in the frame, as `sumOfRecord` has it, without making the record. */
  sum(): number {
    const view = this.#view;
    let sum = this.frame[48]! + 2 * this.frame[49]!;
    for (let place = 0; place < 48; place += 8) sum += view.getFloat64(place, true);
    const cityAt = FRAME_HEAD + this.frame[50]!;
    const text = (from: number, to: number): string => this.#decoder.decode(this.frame.subarray(from, to));
    return sum + lastCode(text(FRAME_HEAD, cityAt)) + lastCode(text(cityAt, cityAt + this.frame[51]!));
  }
}

/** The object that `makeCounter` makes in JavaScript. */
class Counter {
  #sum = 0;

  add(number: number): number {
    this.#sum += number;
    return this.#sum;
  }
}

/** The functions in plain JavaScript, the floor of a call. */
export function plainFunctions(): BoundaryFunctions {
  let calls = 0;
  let text = '';
  const frames = new RecordFrames();
  const ofSize = (size: number): Uint8Array => allBytes().subarray(0, size);
  return {
    nothing() {
      calls += 1;
    },
    calls: () => calls,
    add: (left, right) => left + right,
    increment: (value) => BigInt.asIntN(64, value + 1n),
    readText: lastCode,
    shortText: () => TEXTS.short[0]!,
    longText: () => TEXTS.long[0]!,
    shortWideText: () => TEXTS.short_wide[0]!,
    longWideText: () => TEXTS.long_wide[0]!,
    makeText(characters) {
      if (text.length !== characters) [text] = textsOf('a', characters) as [string];
      return text;
    },
    readBytes: endsOf,
    copyBytes: (bytes) => endsOf(bytes.slice()),
    copiedBytes: (size) => ofSize(size).slice(),
    externalBytes: ofSize,
    fillBytes(into) {
      into.set(ofSize(into.length));
      return into.length;
    },
    readRecord: sumOfRecord,
    readRecordJson: (json) => sumOfRecord(JSON.parse(json) as BoundaryRecord),
    readRecordFrame(frame) {
      frames.frame.set(frame);
      return frames.sum();
    },
    makeRecord: () => ({ ...RECORD }),
    makeRecordJson: () => JSON.stringify(RECORD),
    makeRecordFrame(into) {
      const size = frames.write(RECORD);
      into.set(frames.frame.subarray(0, size));
      return size;
    },
    sumArray: sumOf,
    sumTyped: sumOf,
    callBack: (call, value) => call(value),
    fail() {
      throw new Error('as wanted');
    },
    makeCounter: () => new Counter(),
    addTo: (counter, number) => (counter as Counter).add(number),
  };
}

function sumOf(values: ArrayLike<number>): number {
  let sum = 0;
  for (let place = 0; place < values.length; place += 1) sum += values[place]!;
  return sum;
}
