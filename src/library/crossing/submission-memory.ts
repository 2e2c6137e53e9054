import { invalidArgument } from '../../errors.js';
import type { NodeBuffer } from '../../platform-types.js';

/** A buffer larger than this many bytes is dropped after a submission. */
const KEPT_BYTES = 1 << 20;

const FIRST_BYTES = 1 << 16;

/** The most bytes of a submission, a whole number of words: bitwise operators count them as signed 32-bit integers. */
const MOST_BYTES = 2 ** 31 - 4;

/**
 * The memory of requests on their way to the addon: words, followed by bytes. Many calls share it, so only plain values that were
 * read before may be written. A getter or a proxy that ran half-way could make a request of its own, and overwrite the half-written
 * one.
 */
export abstract class SubmissionMemory {
  protected words: Uint32Array<ArrayBuffer>;
  protected memory: NodeBuffer;
  #length = 0;
  readonly #what: string;
  readonly #firstBytes: number;

  /** `what` names the submission in the error for one that is too big. `firstBytes` is the size of the first memory. */
  protected constructor(what: string, firstBytes = FIRST_BYTES) {
    this.#what = what;
    this.#firstBytes = firstBytes;
    this.words = new Uint32Array(Math.ceil(firstBytes / 4));
    this.memory = Buffer.from(this.words.buffer);
  }

  /** The memory, whose first `length` bytes are the submission. */
  get bytes(): Uint8Array {
    return this.memory;
  }

  get length(): number {
    return this.#length;
  }

  /** Removes all requests. */
  clear(): void {
    this.#length = 0;
    if (this.memory.length > KEPT_BYTES) this.#allocate(this.#firstBytes);
  }

  /** Marks the bytes up to `end` as submitted. */
  protected submitted(end: number): void {
    this.reserve(end, 3);
    this.#length = (end + 3) & ~3;
  }

  /** Makes room for `bytes` bytes from `at` on. It may replace `words` and `memory`, so both are read after it. */
  protected reserve(at: number, bytes: number): void {
    const needed = at + bytes;
    if (needed <= this.memory.length) return;
    if (needed > MOST_BYTES) {
      throw invalidArgument(`${this.#what} of more than 2 GiB; send less at once`);
    }
    const old = this.memory;
    this.#allocate(Math.min(Math.max(needed, old.length * 2), MOST_BYTES));
    // Copies all of it, since bytes beyond the length belong to the request being written.
    old.copy(this.memory);
  }

  #allocate(bytes: number): void {
    this.words = new Uint32Array(Math.ceil(bytes / 4));
    this.memory = Buffer.from(this.words.buffer);
  }
}
