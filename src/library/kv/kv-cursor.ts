import { BoundaryError } from '../../errors.js';
import type { KvValues } from './kv-values.js';

/** A value of a cursor, as a plain object that can be kept. */
export interface KvEntryObject {
  readonly index: number;
  readonly text: string | null;
}

/**
 * The current value of a cursor. It is one object that moves with each step: keep `toObject()`, not the entry itself. After the
 * end of its loop its getters throw `BB_CLOSED`.
 */
export class KvEntry {
  readonly #values: KvValues;
  #at = -1;

  /** @internal */
  constructor(values: KvValues) {
    this.#values = values;
  }

  /** @internal Moves to the next value. Returns false behind the last one. */
  static step(entry: KvEntry): boolean {
    const next = entry.#at + 1;
    const isThere = next < entry.#values.length;
    entry.#at = isThere ? next : -1;
    return isThere;
  }

  /** The number of the value, from 0. */
  get index(): number {
    if (this.#at < 0) {
      throw new BoundaryError('BB_CLOSED', 'the entry is on no value: its loop has not begun, or has ended', {
        hint: 'The entries of a cursor are one object that moves: keep entry.toObject()',
      });
    }
    return this.#at;
  }

  /** The start and the end of the value in `KvValues.data`. */
  get start(): number {
    return this.#values.start(this.index);
  }

  get end(): number {
    return this.#values.end(this.index);
  }

  /** Whether there is no value. */
  get isNull(): boolean {
    return this.#values.isNull(this.index);
  }

  /** The error instead of the value, if there is one. */
  get error(): BoundaryError | undefined {
    return this.#values.error(this.index);
  }

  /** The value as text; null if there is none. Throws its error if it has one. */
  get text(): string | null {
    return this.#values.text(this.index);
  }

  /** The value as a view of the memory in which it crossed; null if there is none. Throws its error if it has one. */
  get bytes(): Uint8Array | null {
    return this.#values.bytes(this.index);
  }

  /** The value's number and text as a plain object. */
  toObject(): KvEntryObject {
    return { index: this.index, text: this.text };
  }
}

/** The values of a crossing, in order, by one object that moves. Can be iterated once. */
export class KvCursor implements IterableIterator<KvEntry, undefined> {
  readonly #entry: KvEntry;
  readonly #step: IteratorYieldResult<KvEntry>;
  #hasEnded = false;

  /** @internal */
  constructor(values: KvValues) {
    this.#entry = new KvEntry(values);
    this.#step = { value: this.#entry, done: false };
  }

  [Symbol.iterator](): this {
    return this;
  }

  /** Moves the entry to the next value. */
  next(): IteratorResult<KvEntry, undefined> {
    if (!this.#hasEnded && KvEntry.step(this.#entry)) return this.#step;
    this.#hasEnded = true;
    return { value: undefined, done: true };
  }
}
