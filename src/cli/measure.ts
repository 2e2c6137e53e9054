import { exposeCollector } from '../collect-garbage.js';
import { type RunOptions, type RunResult, run } from '../runner/run.js';
import { interruptible } from './interrupt.js';
import { progressOn } from './progress.js';
import type { CliServices } from './services.js';

/** Runs with its progress on standard error, until Ctrl-C. Resolves also to the exit code of a signal, if one came. */
export async function measure(
  options: RunOptions,
  services: CliServices,
  { quiet = false }: { readonly quiet?: boolean | undefined } = {},
): Promise<{ readonly result: RunResult; readonly exitCode?: number }> {
  const build = await services.loadNativeBuild();
  const progress = progressOn(process.stderr, { quiet });
  return interruptible(
    (signal) =>
      run({
        ...options,
        build,
        signal,
        onEvent: (event) => progress.show(event),
        resources: services.resources,
        collectGarbage: exposeCollector(),
      }),
    () => progress.say('Stopping after the work under way; Ctrl-C again to stop at once.'),
  );
}
