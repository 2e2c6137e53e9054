import * as workerThreads from 'node:worker_threads';

import { BoundaryError, splitMessage } from '../../errors.js';
import type { NodeBuffer } from '../../platform-types.js';

/**
 * Words at the head of each result of a frame, as `native/kernel/src/frame.rs` describes: the id, the status, the count, the
 * number of bytes of the data, and the flags.
 */
export const RESULT_WORDS = 5;

/** Statuses of results: of an answered request, and of a lost connection, whose number is the result's id. */
export const ANSWERED = 0;
export const GONE = 2;

/** The flag of a result whose bytes are all ASCII. */
export const ASCII = 1;

/** Bytes of a buffer that small results share, as `native/node/src/memory/shared_memory.rs` makes it. */
const SHARED_BYTES = 64 << 10;

/** Keeps a buffer from being transferred; undefined if the runtime can't: Bun has had only the name of the function. */
const markShared = ((): ((buffer: ArrayBuffer) => void) | undefined => {
  const { markAsUntransferable } = workerThreads as Partial<typeof workerThreads>;
  try {
    markAsUntransferable?.(new ArrayBuffer(8));
    return markAsUntransferable;
  } catch {
    return undefined;
  }
})();

/** The results of one crossing, as views of their buffer. */
export abstract class ResultFrame {
  readonly words: Uint32Array;
  readonly bytes: NodeBuffer;

  constructor(buffer: ArrayBuffer) {
    this.words = new Uint32Array(buffer);
    this.bytes = Buffer.from(buffer);
  }

  /** The word after the result at `word`. */
  abstract next(word: number): number;
}

/** The frames of the buffers that a loop delivers. */
export class DeliveredFrames<Frame extends ResultFrame> {
  readonly #make: (buffer: ArrayBuffer) => Frame;
  /** The frame of the newest buffer that small results share. */
  #shared: Frame | undefined;

  constructor(make: (buffer: ArrayBuffer) => Frame) {
    this.#make = make;
  }

  /** The frame of a buffer, of which the results between two byte offsets were delivered. */
  of(buffer: ArrayBuffer, start: number, end: number): Frame {
    if (this.#shared?.words.buffer === buffer) return this.#shared;
    const frame = this.#make(buffer);
    const isFilledLater = buffer.byteLength === SHARED_BYTES;
    // A large result has a buffer of its own, which must not outlive its values.
    if (isFilledLater) this.#shared = frame;
    // A caller who transferred the buffer of its result would empty the results of other calls.
    if (isFilledLater || frame.next(start / 4) < end / 4) markShared?.(buffer);
    return frame;
  }
}

/** The error of a text that begins with its code in brackets. */
export function errorOf(text: string): BoundaryError {
  const { code, text: message, outcome } = splitMessage(text) ?? { code: 'BB_INTERNAL', text };
  return new BoundaryError(code, message, { outcome });
}
