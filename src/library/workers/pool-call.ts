import type { BoundaryError } from '../../errors.js';
import { assertNotAborted, timedOut, watchLimits, type WorkOptions } from '../crossing/cancellation.js';

/** A call of a function in a thread of a pool, from when it is asked for until it is over. */
export class PoolCall {
  readonly name: string;
  readonly argument: unknown;
  readonly transfer: readonly unknown[];
  readonly result: Promise<unknown>;
  /** Is called when the signal or the time-out ends the call before it is over. */
  onEnded: () => void = () => {};
  readonly #release: () => void;
  #resolve!: (value: unknown) => void;
  #reject!: (error: BoundaryError) => void;
  #ended: BoundaryError | undefined;

  /** Throws `BB_ABORTED` if the signal is already aborted. */
  constructor(name: string, argument: unknown, transfer: readonly unknown[], limits: WorkOptions) {
    assertNotAborted(limits.signal);
    this.name = name;
    this.argument = argument;
    this.transfer = transfer;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#release = watchLimits(
      limits,
      (reason) => this.#end(reason),
      (ms) => timedOut(ms, name),
    );
  }

  /** The reason for which the signal or the time-out has ended the call. */
  get ended(): BoundaryError | undefined {
    return this.#ended;
  }

  /** Settles the call. A reason that has ended it from outside overrides the result of its function. */
  resolve(value: unknown): void {
    this.#release();
    if (this.#ended === undefined) this.#resolve(value);
    else this.#reject(this.#ended);
  }

  reject(error: BoundaryError): void {
    this.#release();
    this.#reject(this.#ended ?? error);
  }

  #end(reason: BoundaryError): void {
    this.#release();
    this.#ended = reason;
    this.onEnded();
  }
}
