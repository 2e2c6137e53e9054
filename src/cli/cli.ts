import { Command, CommanderError } from 'commander';
import { packageLine } from '../host/provenance.js';
import { addCheckCommand } from './check-command.js';
import { addCompareCommand } from './compare-command.js';
import { EXIT_OK, EXIT_USAGE, exitCodeOf, explain } from './exit-code.js';
import { addDoctorCommand, addHostCommand } from './doctor-command.js';
import { addHistoryCommand } from './history-command.js';
import { addInitCommand } from './init-command.js';
import { addListCommand } from './list-command.js';
import { addPredictCommand } from './predict-command.js';
import { addReportCommand } from './report-command.js';
import { addRunCommand } from './run-command.js';
import { addServeCommand } from './serve-command.js';
import { addSoakCommand } from './soak-command.js';
import { addSetupCommand } from './setup-command.js';
import { NUMBER } from './own-files.js';
import type { CliServices, Finish } from './services.js';

/** Runs the command line and returns the exit code: parses it, runs the command, and explains errors. */
export async function runCli(args: readonly string[], services: CliServices): Promise<number> {
  let exitCode = EXIT_OK;
  const finish: Finish = (code) => {
    exitCode = code;
  };
  // A reader that closes the pipe early, such as `head`, is not an error, and neither is a terminal that has closed.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
    });
  }

  const program = programOf(services, finish);
  try {
    if (VERSION.has(args[0] ?? '')) {
      process.stdout.write(`${await packageLine(await services.loadNativeBuild())}\n`);
      return EXIT_OK;
    }
    await program.parseAsync(commandOf(args), { from: 'user' });
    return exitCode;
  } catch (error) {
    // Commander has already printed its own message. Its help is not an error.
    if (error instanceof CommanderError) return error.exitCode === EXIT_OK ? EXIT_OK : EXIT_USAGE;
    process.stderr.write(`${explain(error)}\n`);
    return exitCodeOf(error);
  }
}

/** The commands with their options. It throws a `CommanderError` if a command line is invalid. */
export function programOf(services: CliServices, finish: Finish): Command {
  const program = new Command('boundary-bench')
    .description(
      'Measures what it costs to cross the JavaScript boundary: the same work in Rust, from Node through a ' +
        'Rust addon, and with other clients from npm. Without a command it takes a rough first look, as `run ' +
        '--quick` does.',
    )
    .option('-V, --version', 'print the version, the build of the addon, and the commit')
    .exitOverride()
    .showHelpAfterError('(add --help for the options)')
    .showSuggestionAfterError();
  addRunCommand(program, services, finish);
  addInitCommand(program);
  addListCommand(program, services);
  addReportCommand(program);
  addCompareCommand(program, services, finish);
  addHistoryCommand(program);
  addCheckCommand(program, finish);
  addPredictCommand(program);
  addDoctorCommand(program, services, finish);
  addHostCommand(program, services);
  addServeCommand(program, finish);
  addSetupCommand(program, finish);
  addSoakCommand(program, finish);
  return program;
}

const VERSION: ReadonlySet<string> = new Set(['-V', '--version']);
const HELP: ReadonlySet<string> = new Set(['-h', '--help']);

/** The command line, with `run` if it begins with a file, a number of rows, or an option. An empty one becomes a quick run. */
export function commandOf(args: readonly string[]): readonly string[] {
  const [first] = args;
  if (first === undefined) {
    process.stderr.write('Without a command: run --quick. boundary-bench --help shows what else there is.\n');
    return ['run', '--quick'];
  }
  const isWord = NUMBER.test(first) || /\.[cm]?[jt]s$/.test(first);
  return isWord || (first.startsWith('-') && !HELP.has(first)) ? ['run', ...args] : args;
}
