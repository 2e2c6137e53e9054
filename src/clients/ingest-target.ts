/** Codecs of time-series ingest in JavaScript that the addon's are compared with. */
import type { SeriesNames } from '../library/codecs/columns-codec.js';

/** The columns of a batch. Its times are milliseconds. */
export interface ColumnBatch {
  readonly values: Float64Array;
  readonly timestamps: BigInt64Array;
}

/** What a decoder returns, as it comes out of the codec. */
export interface DecodedBatch {
  readonly values: ArrayLike<number>;
  readonly timestamps: ArrayLike<number | bigint>;
}

/** A codec of batches of one series and field. */
export interface IngestTarget {
  version(): string;
  /** Prepares, untimed, a function that encodes this batch: the form in which this codec likes its input best is free. */
  encoder?(names: SeriesNames, batch: ColumnBatch): () => Uint8Array;
  /** A decoder of columns, or a parser of lines. */
  decoder?(): (body: Uint8Array) => DecodedBatch;
}
