/** JavaScript codecs of time-series ingest, with which the addon's are compared. */
import type { SeriesNames } from '../library/codecs/columns-codec.js';

/** The columns of a batch. Its times are milliseconds. */
export interface ColumnBatch {
  readonly values: Float64Array;
  readonly timestamps: BigInt64Array;
}

/** A decoded batch, in the codec's own types. */
export interface DecodedBatch {
  readonly values: ArrayLike<number>;
  readonly timestamps: ArrayLike<number | bigint>;
}

/** A codec of batches of one series and field. */
export interface JsCodec {
  /**
   * Prepares, untimed, a function that encodes this batch. Converting the input to the codec's preferred form is not timed either.
   */
  encoder?(names: SeriesNames, batch: ColumnBatch): () => Uint8Array;
  /** Makes a decoder of columns, or a parser of lines. */
  decoder?(): (body: Uint8Array) => DecodedBatch;
}
