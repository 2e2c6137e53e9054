import { type Cancel, addon } from '../addon.js';
import { toBoundaryError } from '../errors.js';

/** Awaits work of the addon, and maps its errors to ours. */
export async function ours<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    throw toBoundaryError(thrown);
  }
}

/** Runs work of the addon, which the signal cancels. */
export async function cancellable<T>(signal: AbortSignal, work: (cancel: Cancel) => Promise<T>): Promise<T> {
  const cancel = new addon.Cancel();
  const onAbort = (): void => cancel.cancel();
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await ours(work(cancel));
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
