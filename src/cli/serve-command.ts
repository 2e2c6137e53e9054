import { spawn } from 'node:child_process';

import type { Command } from 'commander';
import { EXIT_FAILED } from './exit-code.js';
import { interruptible } from './interrupt.js';
import type { Finish } from './services.js';

/** Adds `serve`. It runs the program of the reference servers, and that program parses and explains its options itself. */
export function addServeCommand(program: Command, finish: Finish): void {
  program
    .command('serve')
    .summary(
      'serve what clients are measured with: the APIs of RonDB and HyperbyteDB, Flight SQL, a shard, a slow network',
    )
    .argument('[options...]')
    .allowUnknownOption()
    .helpOption(false)
    .action(async (words: readonly string[]) => {
      const { serverProgram } = await import('../families/requests/target-server.js');
      const server = serverProgram('rest');
      const { result } = await interruptible(
        (signal) => run(server, words, signal),
        () => process.stderr.write('Stopping after the requests in flight; Ctrl-C again to stop at once.\n'),
      );
      finish(result);
    });
}

/** Runs the program to its end and gives its exit code. The signal stops it in order, and it does not outlive this process. */
function run(program: string, words: readonly string[], signal: AbortSignal): Promise<number> {
  const server = spawn(program, ['--until-input-ends', ...words], { stdio: ['pipe', 'inherit', 'inherit'] });
  signal.addEventListener('abort', () => server.stdin.end());
  process.once('exit', () => server.kill('SIGKILL'));
  return new Promise((resolve, reject) => {
    server.once('error', reject).once('exit', (code) => resolve(code ?? EXIT_FAILED));
  });
}
