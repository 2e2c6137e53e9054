import { type Command, Option } from 'commander';
import { type InstallOptions, installHyperd, installSail, installRuntime } from '../host/install.js';
import type { Installed, SetupOptions } from '../host/setup-tools.js';
import { EXIT_OK } from './exit-code.js';
import { untilInterrupted } from './interrupt.js';
import type { Finish } from './services.js';

const WHERE =
  '$BOUNDARY_BENCH_CACHE, else $XDG_CACHE_HOME/boundary-bench, else ~/.cache/boundary-bench. Nothing else is installed.';

const ABOUT_HYPERD = `
It comes with the Python wheel tableauhyperapi, which the pip of python3 downloads from the package index. On Linux on x64, --from npm
takes an older one from the npm package of Hyper's own Node binding, without Python. It goes into
${WHERE}`;

const ABOUT_SAIL = `
It comes with the Python wheel pysail, which the pip of python3 downloads from the package index. Its server needs that python3 to run.
It goes into
${WHERE}`;

const ABOUT_RUNTIMES = `
A name is node, bun or deno, with a version if it must not be the latest: node@22, bun@1.2. It is installed from npm, into
${WHERE}

Example:
  npx boundary-bench setup runtime node@22
  npx boundary-bench run --family boundary --runtime node@22`;

export function addSetupCommand(program: Command, finish: Finish): void {
  const setup = program
    .command('setup')
    .summary('install what an engine or a runtime needs')
    .description('Installs what an engine needs and npm does not bring, or a runtime to measure on.');
  setup
    .command('hyperd')
    .summary('install the server of the engine hyper')
    .description('Installs hyperd, the server of the engine hyper.')
    .option('--force', 'reinstall it if it is installed already')
    .addOption(new Option('--from <installer>', 'what downloads it').choices(['pip', 'npm']).default('pip'))
    .addHelpText('after', ABOUT_HYPERD)
    .action(({ force, from }: Pick<InstallOptions, 'force' | 'from'>) =>
      installed(finish, (signal) => installHyperd({ force, from, signal, onProgress: say })),
    );
  setup
    .command('sail')
    .summary('install the server of the engine sail')
    .description('Installs Sail, the distributed engine of the engine sail.')
    .option('--force', 'reinstall it if it is installed already')
    .addHelpText('after', ABOUT_SAIL)
    .action(({ force }: Pick<SetupOptions, 'force'>) =>
      installed(finish, (signal) => installSail({ force, signal, onProgress: say })),
    );
  setup
    .command('runtime')
    .summary('install another runtime to measure on')
    .description('Installs a JavaScript runtime, on which `run --runtime` measures.')
    .argument('<name>', 'node, bun or deno, with a version such as node@22')
    .option('--force', 'reinstall it if it is installed already')
    .addHelpText('after', ABOUT_RUNTIMES)
    .action((name: string, { force }: Pick<SetupOptions, 'force'>) =>
      installed(finish, (signal) => installRuntime(name, { force, signal })),
    );
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Installs, until it is interrupted, and prints the path and the version of what is there. */
async function installed(finish: Finish, installer: (signal: AbortSignal) => Promise<Installed>): Promise<void> {
  const { result, exitCode } = await untilInterrupted(installer, () => say('Stopping. Nothing is installed.'));
  if (result !== undefined) {
    const known = result.wasThere ? ', installed before (--force reinstalls it)' : '';
    process.stdout.write(`${result.path}\n${result.version}${known}\n`);
  }
  finish(exitCode ?? EXIT_OK);
}
