/**
 * An object that calls use in turn, since making it costs more than a call. A nested call, made by a getter among the values
 * that the outer call reads, gets an object of its own.
 */
export class Spare<T> {
  readonly #make: () => T;
  #idle: T | undefined;

  constructor(make: () => T) {
    this.#make = make;
  }

  /** Runs `work` with the object, which is free again when `work` returns or throws. */
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
