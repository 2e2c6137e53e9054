import { join, resolve as absolute } from 'node:path';
import type { Command } from 'commander';
import { renderRunTerminal } from '../report/run-report.js';
import { renderRunSummary } from '../report/summary-report.js';
import { probeMachine } from '../host/resolution.js';
import { BoundaryError } from '../errors.js';
import { clientName, type RunRecord } from '../records/record.js';
import { reasonOf } from '../report/results-table.js';
import type { RunResult } from '../runner/run.js';
import { type RunRequest, SAMPLING_OPTIONS } from '../runner/run-config.js';
import type { CliServices, Finish } from './services.js';
import { EXIT_FAILED, EXIT_OK } from './exit-code.js';
import { type Flags, addMatrixOptions, requestFrom } from './matrix-options.js';
import { measure } from './measure.js';
import { familiesOf, filesToResume, wordsOf } from './own-files.js';
import { terminalOf } from './terminal.js';

interface RunCommandOptions extends Flags {
  readonly out?: string;
  readonly resume?: string | true;
  readonly json?: boolean;
  readonly tables?: boolean;
  readonly quiet?: boolean;
}

const EXAMPLES = `
One line per workload goes to standard output, the progress to standard error. The directory gets run.jsonl as the run goes
on. At its end it gets run.json, which \`npx boundary-bench compare\` reads, run.md with all tables, and run.html with pictures.

Ctrl-C writes what is done. --resume resumes the run: files and options that the command line leaves out are as at its start,
and cells that failed are tried again.

Exit code: 0 when every cell was measured or skipped. 1 when one failed, and when none was measured, or none of the client that
--client names. 2 for an invalid command. 130 after Ctrl-C.

Examples:
  npx boundary-bench run --quick                                a rough first look, within a minute
  npx boundary-bench run                                        the usual matrix, with its default rows
  npx boundary-bench run 10M --workload insert.bulk             ten million rows in, by every lane of the usual matrix
  npx boundary-bench run 500K --side rust,napi --engine memory  the bare boundary
  npx boundary-bench run --samples 20 --out results/today       twenty samples in each process of a cell
  npx boundary-bench run --resume results/today                 resume it where it was interrupted
  npx boundary-bench run levenshtein.bench.mjs --quick          your own code, by the ways that the file exports
  npx boundary-bench run --sql 'SELECT * FROM orders' --engine-uri embedded=embedded:shop.duckdb
                                                                your own query and database`;

export function addRunCommand(program: Command, services: CliServices, finish: Finish): void {
  addMatrixOptions(program.command('run'), SAMPLING_OPTIONS)
    .summary('measure the matrix, or a part of it')
    .description('Measures the cells of the matrix: checks that each did its work, and prints how fast each one is.')
    .option('--out <dir>', 'where the result files go (default: results/runs/<UTC time>)')
    .option('--resume [dir]', 'resume the run in this directory, or in the directory of --out')
    .option('--json', 'print nothing but the path of run.json to standard output')
    .option('--tables', 'print all tables of run.md, too, fitted to the terminal')
    .option('--quiet', 'show no progress')
    .addHelpText('after', EXAMPLES)
    .action(async (words: readonly string[], options: RunCommandOptions) => {
      const { rows, files: named } = wordsOf(words);
      const { directory, resume } = whereTo(options);
      const files = resume ? await filesToResume(directory!, named) : named;
      const request = requestFrom(rows, options);
      const families = await familiesOf(files, services);
      const { result, exitCode } = await measure(
        {
          ...request,
          families,
          ...(files.length > 0 && { files: files.map((file) => absolute(file)) }),
          directory,
          resume,
          probe: probeMachine,
        },
        services,
        options,
      );
      printResult(result, options);
      const nothing = result.aborted ? undefined : nothingMeasured(result.run.records, request);
      if (nothing !== undefined) process.stderr.write(`error: ${nothing}\n`);
      finish(exitCode ?? (nothing !== undefined || hasFailures(result) ? EXIT_FAILED : EXIT_OK));
    });
}

function whereTo({ out, resume }: RunCommandOptions): { directory: string | undefined; resume: boolean } {
  if (typeof resume === 'string' && out !== undefined && resume !== out) {
    throw new BoundaryError('BB_USAGE', `--resume ${resume} and --out ${out} name two directories`);
  }
  const directory = typeof resume === 'string' ? resume : out;
  if (resume !== undefined && directory === undefined) {
    throw new BoundaryError('BB_USAGE', '--resume needs the directory of the run to go on with');
  }
  return { directory, resume: resume !== undefined };
}

function printResult({ run: finished, directory, aborted, unmeasured }: RunResult, options: RunCommandOptions): void {
  const resultFile = join(directory, 'run.json');
  if (options.json) {
    process.stdout.write(`${resultFile}\n`);
  } else if (finished.records.length > 0) {
    const terminal = terminalOf(process.stdout);
    if (options.tables) process.stdout.write(`${renderRunTerminal(finished, terminal.columns)}\n`);
    process.stdout.write(renderRunSummary(finished, { report: join(directory, 'run.html'), ...terminal }));
  }
  const left = unmeasured.length === 0 ? '' : `, ${unmeasured.length} cells not measured`;
  const ending = aborted ? `Interrupted${left}; what is done is in` : 'Results:';
  process.stderr.write(`${ending} ${resultFile}\n`);
  if (aborted) process.stderr.write(`Resume it with: npx boundary-bench run --resume ${directory}\n`);
}

/** The sentence about a run that has measured nothing, or nothing of the client that was asked for. `undefined` if it has. */
function nothingMeasured(records: readonly RunRecord[], { client }: Pick<RunRequest, 'client'>): string | undefined {
  const name = client === undefined ? undefined : clientName(client);
  const ofClient = name === undefined ? [] : records.filter(({ variant }) => variant === name);
  const asked = ofClient.length === 0 ? records : ofClient;
  if (asked.some(({ outcome }) => outcome === 'completed')) return undefined;
  const reasons = [...new Set(asked.flatMap((record) => (record.outcome === 'completed' ? [] : [reasonOf(record)])))];
  const what = ofClient.length === 0 ? 'nothing was measured' : `nothing of the client ${name} was measured`;
  return [`${what}: ${asked.length} cells failed or were skipped.`, ...reasons].join('\n- ');
}

function hasFailures({ run: finished }: RunResult): boolean {
  return finished.records.some(({ outcome }) => outcome === 'failed');
}
