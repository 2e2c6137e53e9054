import { addon, type Cancel } from '../../addon.js';
import { ABORTED, BoundaryError, type Outcome, TIMEOUT, toBoundaryError } from '../../errors.js';
import { onAbort } from './abort-listeners.js';
import { checkOptionNames, checkSignal, checkTimeout, type OptionChecks } from './options.js';
import type { OpenHandle, OpenHandles } from './open-handles.js';
import type { WebAbortSignal } from '../../platform-types.js';

/** Options that end work early. */
export interface WorkOptions {
  /** Aborting the signal ends the work. Its promises are rejected with `BB_ABORTED`, whose cause is the signal's reason. */
  readonly signal?: WebAbortSignal | undefined;
  /**
   * The time-out of the work in milliseconds, after which it is rejected with `BB_TIMEOUT`. For rows and chunks that are read one
   * after the other, the time counts from the first one asked for to the last one read, including the reader's own time.
   */
  readonly timeoutMs?: number | undefined;
}

/** The cause that ended the work from JavaScript. */
type Cause = 'signal' | 'timeout' | 'owner' | 'consumer';

/**
 * Ends native work when a signal is aborted, its time-out passes, its connection or statement closes, or its consumer needs no
 * more. Reports which of these came first.
 */
export class Cancellation implements OpenHandle {
  readonly token: Cancel = new addon.Cancel();
  readonly #handles: OpenHandles;
  readonly #signal: AbortSignal | undefined;
  /** Stops listening to the signal. */
  readonly #ignoreSignal: (() => void) | undefined;
  /** Called when the work is ended from JavaScript. */
  #onEnd: (() => void) | undefined;
  #timeoutMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #hasEnded = false;
  #cause: Cause | undefined;

  /** Throws `BB_ABORTED` if the signal is already aborted. */
  constructor(handles: OpenHandles, { signal, timeoutMs }: WorkOptions) {
    assertNotAborted(signal);
    this.#handles = handles;
    this.#signal = signal;
    // Weak, since a long-lived signal or timer must not keep alive a query that its user has dropped.
    const self = new WeakRef(this);
    this.#ignoreSignal = signal && onAbort(signal, () => self.deref()?.abort());
    handles.add(this);
    this.startTimer(timeoutMs);
  }

  /** Starts the time-out of the work. Does nothing the second time, and after the end of the work. */
  startTimer(timeoutMs: number | undefined): void {
    if (timeoutMs === undefined || this.#timer !== undefined || this.#hasEnded) return;
    this.#timeoutMs = timeoutMs;
    const self = new WeakRef(this);
    // Pending work keeps the process alive by itself.
    this.#timer = setTimeout(() => self.deref()?.expire(), timeoutMs).unref();
  }

  /** Whether the work was ended from JavaScript. */
  get isCancelled(): boolean {
    return this.#cause !== undefined;
  }

  /** Ends the work because its signal was aborted. */
  abort(): void {
    this.#cancel('signal');
  }

  /** Ends the work because the time-out of its options, or of a part of the work, has passed. */
  expire(ms = this.#timeoutMs): void {
    this.#timeoutMs = ms;
    this.#cancel('timeout');
  }

  /** Ends the work because its connection or statement closes. */
  close(): void {
    this.#cancel('owner');
  }

  /** Ends the work because its consumer needs no more of it, whether it has ended or not. */
  stop(): void {
    this.#cancel('consumer');
  }

  /** Lets nothing but the consumer end the work, whose changes are published. An end that came before this call came too late. */
  settle(): void {
    if (this.#cause !== 'consumer') this.#cause = undefined;
    this.finish();
  }

  /** Has something else end when the work is ended from JavaScript: at once if it was already. */
  onEnd(end: () => void): void {
    if (this.isCancelled) end();
    else this.#onEnd = end;
  }

  /** Drops the signal, the timer and the connection. */
  finish(): void {
    this.#hasEnded = true;
    this.#ignoreSignal?.();
    clearTimeout(this.#timer);
    this.#handles.delete(this);
  }

  /** Throws the reason if the work was ended by anyone but its consumer, who knows of it. */
  assertWanted(): void {
    const reason = this.#reason();
    if (reason !== undefined) throw reason;
  }

  /** The error to report for an error of the native work, which may have begun to return rows; undefined if the consumer ended the work. */
  explain(thrown: unknown, hasBegun = false): BoundaryError | undefined {
    if (this.#cause === 'consumer') return undefined;
    const error = toBoundaryError(thrown);
    // The token ended the work, which was undone, or the work found its engine closed. Otherwise it failed at that time.
    const outcome = error.code === ABORTED || error.code === 'BB_CLOSED' ? 'not executed' : 'unknown';
    return this.#reason(error.outcome ?? (hasBegun ? undefined : outcome)) ?? error;
  }

  /** The error of work that was ended by anyone but its consumer. */
  #reason(outcome?: Outcome): BoundaryError | undefined {
    switch (this.#cause) {
      case 'signal':
        return abortedBy(this.#signal!, outcome);
      case 'timeout':
        return timedOut(this.#timeoutMs!, 'the work', outcome);
      case 'owner':
        return new BoundaryError('BB_CLOSED', `${this.#handles.owner} was closed`, { outcome });
      default:
        return undefined;
    }
  }

  #cancel(cause: Cause): void {
    if (this.#cause !== undefined) return;
    this.#cause = cause;
    this.token.cancel();
    this.#onEnd?.();
    this.finish();
  }
}

/** Runs native work that its options or its owner may end. Maps its errors to the reason for the end. */
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

/** Runs native work that a signal may end. Maps its errors. */
export async function untilAborted<T>(signal: WebAbortSignal, work: (cancel: Cancel) => Promise<T>): Promise<T> {
  const cancel = new addon.Cancel();
  if (signal.aborted) cancel.cancel();
  const ignoreSignal = onAbort(signal, () => cancel.cancel());
  try {
    return await work(cancel);
  } catch (thrown) {
    const error = toBoundaryError(thrown);
    throw error.code === ABORTED && signal.aborted ? abortedBy(signal, 'unknown') : error;
  } finally {
    ignoreSignal();
  }
}

/** Checks of the options that end work early. */
export const WORK_OPTIONS: OptionChecks<WorkOptions> = { signal: checkSignal, timeoutMs: checkTimeout };

/**
 * The caller's options, checked, as plain values. Each is read once: a getter may run any code, and return another value the
 * next time. `known` has the names of further options, which others read.
 */
export function readWorkOptions(options: WorkOptions, known: object = WORK_OPTIONS): WorkOptions {
  checkOptionNames(options, known);
  const { signal, timeoutMs } = options;
  if (signal !== undefined) checkSignal('signal', signal);
  if (timeoutMs !== undefined) checkTimeout('timeoutMs', timeoutMs);
  return { signal, timeoutMs };
}

/**
 * Calls `giveUp` with the reason when the signal is aborted or the time-out passes. Returns the function that ends the watch, which
 * keeps the process alive while it waits for the time-out.
 */
export function watchLimits(
  { signal, timeoutMs }: WorkOptions,
  giveUp: (reason: BoundaryError) => void,
  late: (ms: number) => BoundaryError = timedOut,
): () => void {
  const ignoreSignal = signal && onAbort(signal, () => giveUp(abortedBy(signal)));
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => giveUp(late(timeoutMs)), timeoutMs);
  return () => {
    ignoreSignal?.();
    clearTimeout(timer);
  };
}

/** The error of work that took longer than its time-out in milliseconds. */
export function timedOut(ms: number, what = 'the work', outcome?: Outcome): BoundaryError {
  return new BoundaryError(TIMEOUT, `${what} took longer than its ${ms} ms`, { outcome });
}

/** The error of work that its signal ended. */
export function abortedBy(signal: WebAbortSignal, outcome?: Outcome): BoundaryError {
  return new BoundaryError(ABORTED, 'the work was aborted by its signal', { cause: signal.reason, outcome });
}

/** Throws `BB_ABORTED` for work whose signal is aborted before the work begins. */
export function assertNotAborted(signal: WebAbortSignal | undefined): void {
  if (signal?.aborted) throw abortedBy(signal, 'not executed');
}

/** The error that ended a call early, with the outcome of the call. */
export function withOutcome({ code, message, hint, cause }: BoundaryError, outcome: Outcome): BoundaryError {
  return new BoundaryError(code, message, { hint, cause, outcome });
}
