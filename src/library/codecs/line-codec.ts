/** Line protocol, encoded and parsed in Rust. */
import { addon, type RawLineParser } from '../../addon.js';
import { explained, toBoundaryError } from '../../errors.js';
import { pointsOf, rawNames, type SeriesNames } from './columns-codec.js';
import { checkLater, type OptionChecks, readOptions } from '../crossing/options.js';
import { claimHeap } from '../crossing/heap-room.js';
import { checkMemory } from '../crossing/typed-memory.js';
import { checkText } from '../crossing/well-formed.js';

/** The unit of timestamps, by the names that InfluxDB has for it: `m` is minutes, `h` hours. Any other name is refused. */
export type Precision = 'n' | 'ns' | 'u' | 'us' | 'µ' | 'ms' | 's' | 'm' | 'h';

/** How timestamps of line protocol are read. */
export interface ParseOptions {
  /** The unit of the timestamps in the body. Default: `ns`. */
  readonly precision?: Precision;
  /** The time of lines without a timestamp, in milliseconds. A fraction counts. Default: now. */
  readonly now?: number;
}

const PARSE_OPTIONS: OptionChecks<ParseOptions> = { precision: checkText, now: checkLater };

/** A series of parsed lines. */
export interface ParsedSeries {
  readonly measurement: string;
  readonly tags: Readonly<Record<string, string>>;
}

/** The type of a field's values. */
export type FieldKind = 'float' | 'integer' | 'unsigned' | 'string' | 'boolean';

/** The values of a field, by its type. */
export type FieldValues = Float64Array | BigInt64Array | BigUint64Array | readonly string[] | readonly boolean[];

/** Points of one measurement that have the same fields. */
export interface ParsedTable {
  readonly measurement: string;
  /** The time of each point, in nanoseconds. */
  readonly timestamps: BigInt64Array;
  /** The index in `series` of each point's series. */
  readonly seriesOf: Uint32Array;
  readonly fields: Readonly<Record<string, FieldValues>>;
}

/** Bytes that a string takes in V8's heap beside its characters, with its slot in an array. */
const STRING_BYTES = 32;

/** The first estimate of the bytes of a line. The encoder raises it when a batch needs more. */
const LINE_BYTES = 64;

/**
 * Encodes batches of one series and field, one line per point. The names cross once.
 *
 * @example
 * ```js
 * import { LineEncoder, parseLines } from 'boundary-bench';
 *
 * const encoder = new LineEncoder({ measurement: 'cpu', tags: { host: 'a' }, field: 'load' });
 * const bytes = encoder.encode(Float64Array.of(0.5, 0.7), BigInt64Array.of(1n, 2n));
 * console.log(parseLines(bytes).length); // 2
 * ```
 */
export class LineEncoder {
  readonly #encode: ReturnType<typeof addon.linesEncoder>;
  #bytesPerPoint = LINE_BYTES;

  /** Throws a `BoundaryError` with the code `BB_INVALID_ARGUMENT` for a name that line protocol can't express. */
  constructor(series: SeriesNames) {
    const names = rawNames(series);
    this.#encode = explained(() => addon.linesEncoder(...names));
  }

  /**
   * Encodes into the caller's memory. Returns the number of bytes written, or minus the number of bytes needed if the lines do not
   * fit. Throws a `BoundaryError` for a value that is not finite.
   */
  encodeInto(into: Uint8Array, values: Float64Array, timestamps?: BigInt64Array): number {
    try {
      const length = this.#encode(values, timestamps, into);
      // Only a batch without points, or memory that is too short, may be memory that is gone.
      if (length <= 0) checkMemory(values, timestamps, into);
      return length;
    } catch (thrown) {
      throw toBoundaryError(thrown);
    }
  }

  /** Encodes into newly allocated memory. */
  encode(values: Float64Array, timestamps?: BigInt64Array): Uint8Array {
    const points = pointsOf(values);
    let into = Buffer.allocUnsafeSlow(points * this.#bytesPerPoint);
    let length = this.encodeInto(into, values, timestamps);
    // A loop, since another thread may change values in shared memory between two attempts.
    while (length < 0) {
      this.#bytesPerPoint = Math.ceil(-length / points);
      into = Buffer.allocUnsafeSlow(-length);
      length = this.encodeInto(into, values, timestamps);
    }
    return into.subarray(0, length);
  }
}

/** Parsed lines: the points with their series and tables, and the columns of each table. */
export class ParsedLines {
  readonly series: readonly ParsedSeries[];
  /** The number of points. */
  readonly length: number;
  /** The times of all points in the order of the lines, in nanoseconds. */
  readonly timestamps: BigInt64Array;
  /** The field values of all points, concatenated. A value that is not a float is stored by its bits. */
  readonly rawValues: Float64Array;
  readonly #seriesOf: Uint32Array;
  readonly #tableOf: Uint32Array;
  readonly #shapes: readonly TableShape[];
  readonly #text: () => string;
  #tables: readonly ParsedTable[] | undefined;

  /** Made by a `LineParser`. */
  constructor(head: LineHead, arrays: PointArrays, text: () => string) {
    this.series = head.series;
    this.#shapes = head.tables;
    this.length = arrays.timestamps.length;
    this.timestamps = arrays.timestamps;
    this.rawValues = arrays.values;
    this.#seriesOf = arrays.series;
    this.#tableOf = arrays.tables;
    this.#text = text;
  }

  /** The points as columns, one table per measurement and set of fields, computed at first use. */
  get tables(): readonly ParsedTable[] {
    this.#tables ??= this.#shapes.map((shape, table) => this.#columnsOf(shape, table));
    return this.#tables;
  }

  #columnsOf({ measurement, fields }: TableShape, table: number): ParsedTable {
    const [only] = fields;
    if (this.#shapes.length === 1 && fields.length === 1 && only !== undefined) {
      const values = this.#typed(only[1], this.rawValues);
      return { measurement, timestamps: this.timestamps, seriesOf: this.#seriesOf, fields: { [only[0]]: values } };
    }
    const points = [...this.#tableOf.keys()].filter((point) => this.#tableOf[point] === table);
    const starts = this.#valueStarts();
    const column = (offset: number): Float64Array => {
      // Copies the bits as integers, since copying a NaN as a float may change its bits.
      const from = new BigUint64Array(this.rawValues.buffer, this.rawValues.byteOffset, this.rawValues.length);
      return new Float64Array(BigUint64Array.from(points, (point) => from[starts[point]! + offset]!).buffer);
    };
    return {
      measurement,
      timestamps: BigInt64Array.from(points, (point) => this.timestamps[point]!),
      seriesOf: Uint32Array.from(points, (point) => this.#seriesOf[point]!),
      fields: Object.fromEntries(fields.map(([name, kind], offset) => [name, this.#typed(kind, column(offset))])),
    };
  }

  /** The index of each point's first value in `rawValues`. */
  #valueStarts(): Uint32Array {
    let next = 0;
    return this.#tableOf.map((table) => {
      const start = next;
      next += this.#shapes[table]!.fields.length;
      return start;
    });
  }

  #typed(kind: FieldKind, values: Float64Array): FieldValues {
    const { buffer, byteOffset, length } = values;
    switch (kind) {
      case 'float':
        return values;
      case 'integer':
        return new BigInt64Array(buffer, byteOffset, length);
      case 'unsigned':
        return new BigUint64Array(buffer, byteOffset, length);
      case 'boolean':
        return Array.from(new BigUint64Array(buffer, byteOffset, length), (bits) => bits !== 0n);
      case 'string': {
        const text = Buffer.from(this.#text());
        claimHeap(length * STRING_BYTES + text.length, 'the texts', 'Parse fewer lines at once');
        // The lower half of a string's value is its length in bytes, the upper half its start.
        const halves = new Uint32Array(buffer, byteOffset, 2 * length);
        return Array.from({ length }, (_, index) => {
          const start = halves[2 * index + 1]!;
          return text.toString('utf8', start, start + halves[2 * index]!);
        });
      }
    }
  }
}

interface LineHead {
  readonly series: readonly ParsedSeries[];
  readonly tables: readonly TableShape[];
}

interface TableShape {
  readonly measurement: string;
  readonly fields: readonly [name: string, kind: FieldKind][];
}

interface PointArrays {
  readonly timestamps: BigInt64Array;
  readonly values: Float64Array;
  readonly series: Uint32Array;
  readonly tables: Uint32Array;
}

/** A flag in the lowest two bits of the addon's return value. The bits above are the number of points. */
const NEW_NAMES = 2;

/**
 * Parses bodies of lines, which end with a line feed, or with a carriage return and a line feed. A tag or a field that a line has
 * twice is refused. The names of bodies with the same series and fields cross once.
 *
 * @example
 * ```js
 * import { LineParser } from 'boundary-bench';
 *
 * const parser = new LineParser();
 * const bodies = ['cpu,host=a load=0.5 1', 'cpu,host=a load=0.7 2'];
 * console.log(bodies.map((body) => parser.parse(body).tables[0]?.fields['load']?.[0])); // [0.5, 0.7]
 * ```
 */
export class LineParser {
  readonly #raw: RawLineParser = new addon.RawLineParser();
  #head: LineHead = { series: [], tables: [] };
  #valuesPerPoint = 1;

  /** Throws a `BoundaryError` with the code `BB_INVALID_ARGUMENT`, which names the line and the column of the mistake. */
  parse(body: Uint8Array | string, options: ParseOptions = {}): ParsedLines {
    const { precision = 'ns', now = Date.now() } = readOptions(options, PARSE_OPTIONS);
    if (typeof body === 'string') checkText('the lines', body);
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    checkMemory(bytes);
    return explained(() => {
      const code = this.#raw.parse(bytes, precision, now);
      if ((code & NEW_NAMES) !== 0) this.#head = headOf(this.#raw.head);
      const arrays = this.#take(code >>> 2);
      const text = this.#head.tables.some(({ fields }) => fields.some(([, kind]) => kind === 'string'))
        ? this.#raw.text()
        : '';
      return new ParsedLines(this.#head, arrays, () => text);
    });
  }

  #take(points: number): PointArrays {
    const timestamps = new BigInt64Array(points);
    const series = new Uint32Array(points);
    const tables = new Uint32Array(points);
    for (;;) {
      const values = new Float64Array(Math.ceil(points * this.#valuesPerPoint));
      const taken = this.#raw.take(timestamps, values, series, tables);
      if (taken >= 0) return { timestamps, values: values.subarray(0, taken), series, tables };
      this.#valuesPerPoint = -taken / points;
    }
  }
}

/**
 * Encodes one batch as lines. For many batches of one series, a `LineEncoder` is faster.
 *
 * @example
 * ```js
 * import { encodeLines, parseLines } from 'boundary-bench';
 *
 * const bytes = encodeLines({ measurement: 'cpu', tags: { host: 'a' }, field: 'load' }, Float64Array.of(0.5), BigInt64Array.of(7n));
 * console.log(parseLines(bytes).timestamps); // BigInt64Array(1) [7n]
 * ```
 */
export function encodeLines(names: SeriesNames, values: Float64Array, timestamps?: BigInt64Array): Uint8Array {
  return new LineEncoder(names).encode(values, timestamps);
}

/**
 * Parses one body of lines. For many bodies, a `LineParser` is faster.
 *
 * @example
 * ```js
 * import { parseLines } from 'boundary-bench';
 *
 * const { series, timestamps } = parseLines('cpu,host=a load=0.5 1700000000', { precision: 's' });
 * console.log(series, timestamps[0]); // [{ measurement: 'cpu', tags: { host: 'a' } }] 1700000000000000000n
 * ```
 */
export function parseLines(body: Uint8Array | string, options: ParseOptions = {}): ParsedLines {
  return new LineParser().parse(body, options);
}

function headOf(json: string): LineHead {
  const { series, tables } = JSON.parse(json) as {
    series: { measurement: string; tags: [string, string][] }[];
    tables: readonly TableShape[];
  };
  return {
    series: series.map(({ measurement, tags }) => ({ measurement, tags: Object.fromEntries(tags) })),
    tables,
  };
}
