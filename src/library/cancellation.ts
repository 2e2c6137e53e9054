import { addon, type Cancel } from '../addon.js';
import { ABORTED, BoundaryError, toBoundaryError } from '../errors.js';
import type { OpenHandle, OpenHandles } from './open-handles.js';

/** Why work was ended from JavaScript. */
type Cause = 'signal' | 'connection' | 'consumer';

/** Ends native work when a signal is aborted, the connection closes, or its consumer has enough; and says which it was. */
export class Cancellation implements OpenHandle {
  readonly token: Cancel = new addon.Cancel();
  readonly #handles: OpenHandles;
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort: () => void;
  #cause: Cause | undefined;

  /** Throws `BB_ABORTED` where the signal is aborted already. */
  constructor(handles: OpenHandles, signal: AbortSignal | undefined) {
    if (signal?.aborted) throw abortedBy(signal);
    this.#handles = handles;
    this.#signal = signal;
    // A signal may live long; it must not keep a query alive that its user has dropped.
    const self = new WeakRef(this);
    this.#onAbort = () => self.deref()?.abort();
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    handles.add(this);
  }

  /** Whether the work was ended from JavaScript. */
  get isCancelled(): boolean {
    return this.#cause !== undefined;
  }

  /** The signal is aborted. */
  abort(): void {
    this.#cancel('signal');
  }

  /** The connection closes. */
  close(): void {
    this.#cancel('connection');
  }

  /** The consumer needs no more of the work, whether it has ended or not. */
  stop(): void {
    this.#cancel('consumer');
  }

  /** Lets go of the signal and the connection. */
  finish(): void {
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#handles.delete(this);
  }

  /** Throws where a signal or the connection has ended the work; its consumer knows that it did. */
  assertWanted(): void {
    if (this.#cause === 'signal') throw abortedBy(this.#signal!);
    if (this.#cause === 'connection') throw new BoundaryError('BB_CLOSED', 'the connection was closed');
  }

  /** What an error of the native work means; undefined where the consumer ended it itself. */
  explain(thrown: unknown): BoundaryError | undefined {
    if (this.#cause === 'consumer') return undefined;
    try {
      this.assertWanted();
    } catch (reason) {
      return reason as BoundaryError;
    }
    return toBoundaryError(thrown);
  }

  #cancel(cause: Cause): void {
    if (this.#cause !== undefined) return;
    this.#cause = cause;
    this.token.cancel();
    this.finish();
  }
}

function abortedBy(signal: AbortSignal): BoundaryError {
  return new BoundaryError(ABORTED, 'the work was aborted by its signal', { cause: signal.reason });
}
