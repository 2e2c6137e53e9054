/** What the process of a cell and its child send: two numbers, and their sum, as little-endian doubles. */
export const REQUEST_BYTES = 16;
export const ANSWER_BYTES = 8;

/** Cuts what a socket receives into records of one size. */
export class Records {
  readonly #size: number;
  #rest: Buffer = Buffer.alloc(0);

  constructor(size: number) {
    this.#size = size;
  }

  /** Gives each record that is whole to `take`. */
  add(piece: Buffer, take: (record: Buffer) => void): void {
    const size = this.#size;
    const bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    let at = 0;
    for (; at + size <= bytes.length; at += size) take(bytes.subarray(at, at + size));
    this.#rest = bytes.subarray(at);
  }
}
