/** Messages between the process of a cell and its child: two numbers, and their sum, as little-endian doubles. */
export const REQUEST_BYTES = 16;
export const ANSWER_BYTES = 8;

/** Cuts what a socket receives into records of one size. */
export class Records {
  readonly #size: number;
  /** The pieces of a record that is not whole yet, and their size together. */
  #pieces: Buffer[] = [];
  #held = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /** Gives each record that is whole to `take`. */
  add(piece: Buffer, take: (record: Buffer) => void): void {
    const size = this.#size;
    this.#pieces.push(piece);
    this.#held += piece.length;
    // Large records come in many pieces, which are put together once.
    if (this.#held < size) return;
    const bytes = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces, this.#held);
    let at = 0;
    for (; at + size <= bytes.length; at += size) take(bytes.subarray(at, at + size));
    this.#pieces = at === bytes.length ? [] : [bytes.subarray(at)];
    this.#held = bytes.length - at;
  }
}
