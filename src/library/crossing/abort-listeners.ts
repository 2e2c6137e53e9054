import type { WebAbortSignal } from '../../platform-types.js';

/**
 * The listeners of one signal, behind one listener that the signal itself knows. Node warns of a leak if a signal has more than a
 * few listeners, as a signal that ends many calls at once would.
 */
class AbortListeners {
  readonly #signal: WebAbortSignal;
  readonly #listeners = new Set<() => void>();
  readonly #tell = (): void => {
    ofSignals.delete(this.#signal);
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (thrown) {
        // As an `AbortSignal` does with its own listeners: the others are told as well.
        process.nextTick(() => {
          throw thrown;
        });
      }
    }
  };

  constructor(signal: WebAbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', this.#tell, { once: true });
  }

  add(listener: () => void): void {
    this.#listeners.add(listener);
  }

  delete(listener: () => void): void {
    if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return;
    this.#signal.removeEventListener('abort', this.#tell);
    if (ofSignals.get(this.#signal) === this) ofSignals.delete(this.#signal);
  }
}

const ofSignals = new WeakMap<WebAbortSignal, AbortListeners>();

/** Calls `listener` when the signal is aborted. Returns the function that stops it. */
export function onAbort(signal: WebAbortSignal, listener: () => void): () => void {
  let listeners = ofSignals.get(signal);
  if (listeners === undefined) {
    listeners = new AbortListeners(signal);
    ofSignals.set(signal, listeners);
  }
  const known = listeners;
  known.add(listener);
  return () => known.delete(listener);
}
