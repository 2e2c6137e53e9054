import { EXIT_HUNG_UP, EXIT_INTERRUPTED, EXIT_TERMINATED } from './exit-code.js';

const EXIT_CODES = { SIGHUP: EXIT_HUNG_UP, SIGINT: EXIT_INTERRUPTED, SIGTERM: EXIT_TERMINATED } as const;

type Interruption = keyof typeof EXIT_CODES;

/**
 * Runs `work` with a signal that aborts at the first Ctrl-C (or SIGTERM, or SIGHUP of a terminal that closes), so that
 * it can end in order. The second Ctrl-C ends the process at once. `onInterrupt` is called at the first. `exitCode` is
 * absent if nothing interrupted.
 */
export async function interruptible<T>(
  work: (signal: AbortSignal) => Promise<T>,
  onInterrupt: () => void,
): Promise<{ readonly result: T; readonly exitCode?: number }> {
  const controller = new AbortController();
  let exitCode: number | undefined;
  const interrupt = (name: NodeJS.Signals): void => {
    const code = EXIT_CODES[name as Interruption];
    if (exitCode !== undefined) process.exit(code);
    exitCode = code;
    controller.abort();
    onInterrupt();
  };
  for (const name of Object.keys(EXIT_CODES)) process.on(name, interrupt);
  try {
    const result = await work(controller.signal);
    return exitCode === undefined ? { result } : { result, exitCode };
  } finally {
    for (const name of Object.keys(EXIT_CODES)) process.off(name, interrupt);
  }
}

/** The same for work that may throw because it was interrupted. It then has no result. */
export async function untilInterrupted<T>(
  work: (signal: AbortSignal) => Promise<T>,
  onInterrupt: () => void,
): Promise<{ readonly result: T | undefined; readonly exitCode?: number }> {
  return interruptible<T | undefined>(async (signal) => {
    try {
      return await work(signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
  }, onInterrupt);
}
