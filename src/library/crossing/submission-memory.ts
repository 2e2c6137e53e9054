import { BoundaryError } from '../../errors.js';

/** Memory that is given back after a big submission. */
const KEPT_BYTES = 1 << 20;

const FIRST_BYTES = 1 << 16;

/** The most bytes of a submission, in whole words: sums of 32 bits count them, with their sign. */
const MOST_BYTES = 2 ** 31 - 4;

/**
 * The memory of requests on their way to the addon: words, and bytes behind them. Many calls share it, so what is written
 * must be plain values that were read before: a getter or a proxy that ran half-way could ask for something itself, and its
 * request would be written over the half that is there.
 */
export abstract class SubmissionMemory {
  protected words = new Uint32Array(FIRST_BYTES / 4);
  protected memory = Buffer.from(this.words.buffer);
  #length = 0;
  readonly #what: string;

  /** `what` names what is submitted, for the error of one that is too big. */
  protected constructor(what: string) {
    this.#what = what;
  }

  /** The memory, of which `length` bytes are the submission. */
  get bytes(): Uint8Array {
    return this.memory;
  }

  get length(): number {
    return this.#length;
  }

  /** Forgets all requests. */
  clear(): void {
    this.#length = 0;
    if (this.memory.length > KEPT_BYTES) this.#allocate(FIRST_BYTES);
  }

  /** Takes what was written up to `end` as submitted. */
  protected submitted(end: number): void {
    this.reserve(end, 3);
    this.#length = (end + 3) & ~3;
  }

  protected reserve(at: number, bytes: number): void {
    const needed = at + bytes;
    if (needed <= this.memory.length) return;
    if (needed > MOST_BYTES) {
      throw new BoundaryError('BB_INVALID_ARGUMENT', `${this.#what} of more than 2 GiB; send less at once`);
    }
    const old = this.memory;
    this.#allocate(Math.min(Math.max(needed, old.length * 2), MOST_BYTES));
    // What is written beyond the length belongs to what is under way.
    old.copy(this.memory);
  }

  #allocate(bytes: number): void {
    this.words = new Uint32Array(Math.ceil(bytes / 4));
    this.memory = Buffer.from(this.words.buffer);
  }
}
