import { type Histogram, build, decodeFromCompressedBase64, encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { BoundaryError } from '../errors.js';
import type { Latency } from '../records/record.js';

/** The bounds in microseconds, 1 µs to 1 h, and the significant digits: `native/core` records with the same. */
const LOWEST = 1;
const HIGHEST = 3_600_000_000;
const DIGITS = 3;

/** Counts of 64 bits: those of many samples are added up. */
const BITS_OF_A_COUNT = 64;

/** How often each latency was seen: an HDR histogram of microseconds, which merges, and travels as text. */
export class LatencyHistogram {
  readonly #histogram: Histogram;

  constructor() {
    this.#histogram = build({
      lowestDiscernibleValue: LOWEST,
      highestTrackableValue: HIGHEST,
      numberOfSignificantValueDigits: DIGITS,
      bitBucketSize: BITS_OF_A_COUNT,
      useWebAssembly: false,
    });
  }

  /** Counts one latency, rounded to the microsecond; one beyond the bounds counts as the bound. */
  record(microseconds: number): void {
    this.#histogram.recordValue(Math.min(Math.max(Math.round(microseconds), LOWEST), HIGHEST));
  }

  /** Adds the counts of another histogram. */
  merge(other: LatencyHistogram): void {
    this.#histogram.add(other.#histogram);
  }

  /** How many latencies were recorded. */
  get count(): number {
    return this.#histogram.totalCount;
  }

  /** The latency in microseconds that a part of all, from 0 to 1, did not exceed; 0 without latencies. */
  quantile(part: number): number {
    return this.count === 0 ? 0 : this.#histogram.getValueAtPercentile(part * 100);
  }

  /** The percentiles of the result files, with the whole histogram. */
  summary(): Latency {
    return {
      p50: this.quantile(0.5),
      p90: this.quantile(0.9),
      p95: this.quantile(0.95),
      p99: this.quantile(0.99),
      p999: this.quantile(0.999),
      max: this.quantile(1),
      histogram: this.toBase64(),
    };
  }

  /** The whole histogram in HDR's compressed encoding (V2), as base64. */
  toBase64(): string {
    return encodeIntoCompressedBase64(this.#histogram);
  }

  /** The histogram of such a text. Throws a `BoundaryError` with the code `BB_INVALID_ARGUMENT` for any other. */
  static fromBase64(text: string): LatencyHistogram {
    const histogram = new LatencyHistogram();
    histogram.#histogram.add(decode(text));
    return histogram;
  }

  /** The sum of such texts, `undefined` of none. */
  static merged(texts: readonly string[]): LatencyHistogram | undefined {
    if (texts.length === 0) return undefined;
    const sum = new LatencyHistogram();
    for (const text of texts) sum.#histogram.add(decode(text));
    return sum;
  }
}

function decode(text: string): Histogram {
  try {
    return decodeFromCompressedBase64(text, BITS_OF_A_COUNT, false);
  } catch (cause) {
    throw new BoundaryError('BB_INVALID_ARGUMENT', 'not an HDR histogram in compressed V2 encoding', { cause });
  }
}
