import { type Cancel, addon } from '../addon.js';
import { explainedAsync } from '../errors.js';

/** Runs work of the addon, which the signal cancels. */
export async function cancellable<T>(signal: AbortSignal, work: (cancel: Cancel) => Promise<T>): Promise<T> {
  const cancel = new addon.Cancel();
  const onAbort = (): void => cancel.cancel();
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await explainedAsync(() => work(cancel));
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
