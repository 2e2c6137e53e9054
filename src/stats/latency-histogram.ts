import { deflateSync, inflateSync } from 'node:zlib';
import { type Histogram, build, decodeFromCompressedBase64, encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { BoundaryError } from '../errors.js';
import type { Latency } from '../records/record.js';

/** The bounds in nanoseconds, 1 ns to 1 h, and the significant digits, as in `native/kernel`. */
const LOWEST = 1;
const HIGHEST = 3_600_000_000_000;
const DIGITS = 3;

/** The bits of a count: 64, since the counts of many samples are added up. */
const BITS_OF_A_COUNT = 64;

/** An HDR histogram of latencies in nanoseconds. It can be merged, and serialized as text. */
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

  /** Counts one latency. A latency beyond the bounds counts as the bound. */
  record(nanoseconds: number): void {
    this.#histogram.recordValue(Math.min(Math.max(Math.round(nanoseconds), LOWEST), HIGHEST));
  }

  /** The number of recorded latencies. */
  get count(): number {
    return this.#histogram.totalCount;
  }

  /** The latency in nanoseconds that the fraction `part` of all latencies, from 0 to 1, did not exceed, or 0 without latencies. */
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
    return asOthersWriteIt(encodeIntoCompressedBase64(this.#histogram));
  }

  /** Parses the text of `toBase64`. Throws a `BoundaryError` with the code `BB_INVALID_ARGUMENT` for any other text. */
  static fromBase64(text: string): LatencyHistogram {
    const histogram = new LatencyHistogram();
    histogram.#histogram.add(decode(text));
    return histogram;
  }

  /** The sum of the histograms of such texts. `undefined` if there are none. */
  static merged(texts: readonly string[]): LatencyHistogram | undefined {
    if (texts.length === 0) return undefined;
    const sum = new LatencyHistogram();
    for (const text of texts) sum.#histogram.add(decode(text));
    return sum;
  }
}

/** Byte offsets in the encoding: the start of the compressed part and its length, and two fields of the header within it. */
const COMPRESSED_AT = 8;
const LENGTH_AT = 4;
const NORMALIZING_OFFSET_AT = 8;
const CONVERSION_RATIO_AT = 32;

/**
 * Corrects an encoding for readers in other languages. hdr-histogram-js writes 1 as the offset of the counts, and the ratio of the
 * values as an integer, and ignores both when it reads. Other readers reject them, and require an offset of 0 and a ratio of 1.0.
 */
function asOthersWriteIt(text: string): string {
  const bytes = Buffer.from(text, 'base64');
  const content = inflateSync(bytes.subarray(COMPRESSED_AT));
  content.writeInt32BE(0, NORMALIZING_OFFSET_AT);
  content.writeDoubleBE(1, CONVERSION_RATIO_AT);
  const compressed = deflateSync(content);
  bytes.writeInt32BE(compressed.length, LENGTH_AT);
  return Buffer.concat([bytes.subarray(0, COMPRESSED_AT), compressed]).toString('base64');
}

function decode(text: string): Histogram {
  try {
    return decodeFromCompressedBase64(text, BITS_OF_A_COUNT, false);
  } catch (cause) {
    throw new BoundaryError('BB_INVALID_ARGUMENT', 'not an HDR histogram in compressed V2 encoding', { cause });
  }
}
