import { type Command, Option } from 'commander';
import { type InstallOptions, installHyperd } from '../host/install-hyperd.js';
import { EXIT_OK } from './exit-code.js';
import { interruptible } from './interrupt.js';
import type { Finish } from './services.js';

const ABOUT_HYPERD = `
It comes with the Python wheel tableauhyperapi, which the pip of python3 downloads from the package index; on Linux on x64, --from npm
takes an older one from the npm package of Hyper's own Node binding, without Python. It goes into
$BOUNDARY_BENCH_CACHE, else $XDG_CACHE_HOME/boundary-bench, else ~/.cache/boundary-bench; nothing else is installed.`;

export function addSetupCommand(program: Command, finish: Finish): void {
  program
    .command('setup')
    .summary('install what an engine needs')
    .description('Installs what an engine needs and npm does not bring.')
    .command('hyperd')
    .summary('install the server of the engine hyper')
    .description('Installs hyperd, the server of the engine hyper.')
    .option('--force', 'install it anew where it is installed already')
    .addOption(new Option('--from <installer>', 'what downloads it').choices(['pip', 'npm']).default('pip'))
    .addHelpText('after', ABOUT_HYPERD)
    .action(async ({ force, from }: Pick<InstallOptions, 'force' | 'from'>) => {
      const say = (line: string): void => void process.stderr.write(`${line}\n`);
      const install = async (signal: AbortSignal) => {
        try {
          return await installHyperd({ force, from, signal, onProgress: say });
        } catch (error) {
          if (signal.aborted) return undefined;
          throw error;
        }
      };
      const { result, exitCode } = await interruptible(install, () => say('Stopping; nothing is installed.'));
      if (result !== undefined) {
        const known = result.wasThere ? ', installed before (--force installs it anew)' : '';
        process.stdout.write(`${result.path}\n${result.version}${known}\n`);
      }
      finish(exitCode ?? EXIT_OK);
    });
}
