import { BoundaryError, TIMEOUT } from '../../errors.js';
import { abortedBy, type WorkOptions } from '../crossing/cancellation.js';

/** A call of a function in a thread of a pool, from when it is asked for until it is over. */
export class PoolCall {
  readonly name: string;
  readonly argument: unknown;
  readonly transfer: readonly unknown[];
  readonly result: Promise<unknown>;
  /** Is called when the signal or the time-out ends the call before it is over. */
  onEnded: () => void = () => {};
  readonly #signal: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #onAbort = (): void => this.#end(abortedBy(this.#signal!));
  #resolve!: (value: unknown) => void;
  #reject!: (error: BoundaryError) => void;
  #ended: BoundaryError | undefined;

  /** Throws `BB_ABORTED` if the signal is already aborted. */
  constructor(name: string, argument: unknown, transfer: readonly unknown[], { signal, timeoutMs }: WorkOptions) {
    if (signal?.aborted) throw abortedBy(signal);
    this.name = name;
    this.argument = argument;
    this.transfer = transfer;
    this.#signal = signal;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (timeoutMs !== undefined) {
      this.#timer = setTimeout(
        () => this.#end(new BoundaryError(TIMEOUT, `${name} took longer than its ${timeoutMs} ms`)),
        timeoutMs,
      );
    }
  }

  /** The reason for which the signal or the time-out has ended the call. */
  get ended(): BoundaryError | undefined {
    return this.#ended;
  }

  /** Settles the call. What has ended it from outside comes before what its function returned. */
  resolve(value: unknown): void {
    this.#finish();
    if (this.#ended === undefined) this.#resolve(value);
    else this.#reject(this.#ended);
  }

  reject(error: BoundaryError): void {
    this.#finish();
    this.#reject(this.#ended ?? error);
  }

  #end(reason: BoundaryError): void {
    this.#finish();
    this.#ended = reason;
    this.onEnded();
  }

  #finish(): void {
    this.#signal?.removeEventListener('abort', this.#onAbort);
    clearTimeout(this.#timer);
  }
}
