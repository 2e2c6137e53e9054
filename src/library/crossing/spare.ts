/**
 * Something that one call after the other uses, since making it costs more than the call. A call that comes while another
 * uses it, from a getter among the values that the other reads, gets one of its own.
 */
export class Spare<T> {
  readonly #make: () => T;
  #idle: T | undefined;

  constructor(make: () => T) {
    this.#make = make;
  }

  /** Runs `work` with it, which is free again when `work` returns or throws. */
  use<R>(work: (lent: T) => R): R {
    const lent = this.#idle ?? this.#make();
    this.#idle = undefined;
    try {
      return work(lent);
    } finally {
      this.#idle = lent;
    }
  }
}
