import { addon, type Cancel } from '../../addon.js';
import { ABORTED, BoundaryError, TIMEOUT, toBoundaryError } from '../../errors.js';
import { describeValue } from './describe-value.js';
import type { OpenHandle, OpenHandles } from './open-handles.js';

/** What ends work before its end. */
export interface WorkOptions {
  /** Ends the work when it is aborted; what waits is rejected with `BB_ABORTED`, whose cause is the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Ends the work when it takes longer than so many milliseconds, with `BB_TIMEOUT`. For rows and chunks that are read one
   * after the other, that is from the first asked for to the last read, with the reader's own time.
   */
  readonly timeoutMs?: number | undefined;
}

/** The longest time of a timer in milliseconds; a longer one would end at once. */
export const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** Why work was ended from JavaScript. */
type Cause = 'signal' | 'timeout' | 'owner' | 'consumer';

/**
 * Ends native work when a signal is aborted, its time is over, its connection or statement closes, or its consumer has
 * enough; and says which came first.
 */
export class Cancellation implements OpenHandle {
  readonly token: Cancel = new addon.Cancel();
  readonly #handles: OpenHandles;
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort: () => void;
  #timeoutMs: number | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  #cause: Cause | undefined;

  /** Throws `BB_ABORTED` where the signal is aborted already. */
  constructor(handles: OpenHandles, { signal, timeoutMs }: WorkOptions) {
    if (signal?.aborted) throw abortedBy(signal);
    this.#handles = handles;
    this.#signal = signal;
    // A signal or a timer may live long; it must not keep a query alive that its user has dropped.
    const self = new WeakRef(this);
    this.#onAbort = () => self.deref()?.abort();
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    this.#timeoutMs = timeoutMs;
    // Pending work keeps the process alive by itself.
    if (timeoutMs !== undefined) this.#timer = setTimeout(() => self.deref()?.expire(), timeoutMs).unref();
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

  /** The time is over: that of its options, or that of a part of the work. */
  expire(ms = this.#timeoutMs): void {
    this.#timeoutMs = ms;
    this.#cancel('timeout');
  }

  /** The connection or the statement closes. */
  close(): void {
    this.#cancel('owner');
  }

  /** The consumer needs no more of the work, whether it has ended or not. */
  stop(): void {
    this.#cancel('consumer');
  }

  /** Lets go of the signal, the timer and the connection. */
  finish(): void {
    this.#signal?.removeEventListener('abort', this.#onAbort);
    clearTimeout(this.#timer);
    this.#handles.delete(this);
  }

  /** Throws where anyone but its consumer has ended the work; the consumer knows that it did. */
  assertWanted(): void {
    if (this.#cause === 'signal') throw abortedBy(this.#signal!);
    if (this.#cause === 'timeout') {
      throw new BoundaryError(TIMEOUT, `the work took longer than its ${this.#timeoutMs} ms`);
    }
    if (this.#cause === 'owner') throw new BoundaryError('BB_CLOSED', `${this.#handles.owner} was closed`);
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

/** Runs native work that its options or its owner may end; its errors are explained. */
export async function cancellable<T>(
  handles: OpenHandles,
  options: WorkOptions,
  work: (token: Cancel) => Promise<T>,
): Promise<T> {
  const cancellation = new Cancellation(handles, options);
  try {
    return await work(cancellation.token);
  } catch (thrown) {
    throw cancellation.explain(thrown) ?? toBoundaryError(thrown);
  } finally {
    cancellation.finish();
  }
}

/**
 * What a caller gave, checked and as plain values. It is read once: getters may run any code, and answer otherwise the next
 * time.
 */
export function readWorkOptions({ signal, timeoutMs }: WorkOptions): WorkOptions {
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new BoundaryError('BB_INVALID_ARGUMENT', 'signal must be an AbortSignal');
  }
  if (timeoutMs !== undefined) checkTimeout('timeoutMs', timeoutMs);
  return { signal, timeoutMs };
}

/** Checks a number of milliseconds that a timer is set to. */
export function checkTimeout(name: string, timeoutMs: unknown): void {
  if (Number.isInteger(timeoutMs) && Number(timeoutMs) >= 1 && Number(timeoutMs) <= LONGEST_TIMEOUT_MS) return;
  throw new BoundaryError(
    'BB_INVALID_ARGUMENT',
    `${name} must be an integer of 1 to ${LONGEST_TIMEOUT_MS}, not ${describeValue(timeoutMs)}`,
  );
}

/** The error for work that its signal ended. */
export function abortedBy(signal: AbortSignal): BoundaryError {
  return new BoundaryError(ABORTED, 'the work was aborted by its signal', { cause: signal.reason });
}
