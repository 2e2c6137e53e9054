import type { Command } from 'commander';
import { toBoundaryError } from '../errors.js';
import { EXIT_OK } from './exit-code.js';
import { interruptible } from './interrupt.js';
import type { Finish } from './services.js';

/** Adds `serve`. The server parses and explains its options itself: `help` of the addon is their one definition. */
export function addServeCommand(program: Command, finish: Finish): void {
  program
    .command('serve')
    .summary("serve RonDB's REST API and HyperbyteDB's ingest API, to measure clients with")
    .argument('[options...]')
    .allowUnknownOption()
    .helpOption(false)
    .action(async (words: readonly string[]) => {
      const { addon } = await import('../addon.js');
      try {
        const server = await addon.ReferenceServer.start([...words]);
        if (server === null || server === undefined) {
          process.stdout.write(addon.ReferenceServer.help());
          return;
        }
        await interruptible(
          async (signal) => {
            process.stdout.write(`listening on ${server.url}\n`);
            await aborted(signal);
            await server.stop();
          },
          () => process.stderr.write('Stopping after the requests in flight; Ctrl-C again to stop at once.\n'),
        );
      } catch (error) {
        throw toBoundaryError(error);
      }
      finish(EXIT_OK);
    });
}

/** Resolves when the signal aborts; keeps the process alive until then. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const alive = setInterval(() => {}, 1 << 30);
    signal.addEventListener('abort', () => {
      clearInterval(alive);
      resolve();
    });
  });
}
