/**
 * The columns of the one batch of an Arrow IPC stream: integers, floats and texts, in the memory of the stream if that is possible.
 */
export interface StreamColumns {
  readonly ids: Int32Array;
  readonly scores: Float64Array;
  /** The place in `texts` at which the text of each row begins, and the end of the last one. */
  readonly offsets: Int32Array;
  /** The texts in UTF-8, one after the other. */
  readonly texts: Uint8Array;
}
