import type { Command } from 'commander';
import { DEFAULT_THRESHOLD, compareRuns } from '../compare/compare-runs.js';
import { readRun } from '../records/run-file.js';
import { renderComparisonTerminal } from '../report/compare-report.js';
import type { CliServices, Finish } from './services.js';
import { EXIT_FAILED, EXIT_OK } from './exit-code.js';
import { parseFraction, seconds } from '../families/option-values.js';
import { BoundaryError } from '../errors.js';
import { compareBuilds } from './compare-builds.js';
import { DEFAULT_BUILD, compareCommits } from './compare-commits.js';
import { parserOf } from './matrix-options.js';
import { print, terminalOf } from './terminal.js';
import { runFileOf, writeReport } from './report-files.js';

interface CompareOptions {
  readonly force?: boolean;
  readonly strict?: boolean;
  readonly threshold: number;
  readonly json?: boolean;
  readonly html?: string;
  readonly markdown?: string;
  readonly builds?: boolean;
  readonly git?: string;
  readonly build: string;
  readonly addon?: string;
  readonly decideWithin: number;
}

const EXAMPLES = `
Versions of Node, engines and clients that differ are named.

A cell or way is inconclusive if it may be slower by more than the threshold or not. It is counted, and fails nothing without
--strict.

Exit code: 0 without a regression. 1 with one, if nothing was measured twice, or with --strict if a cell or way is inconclusive.
2 if the runs can't be compared.

Runs of two times differ by what the machine did as well. To compare two builds of an addon of yours, measure both in turns:
--builds takes two files. --git builds two commits, each in a checkout of its own that is removed afterwards. The files with
the workloads come from NEW, or from this tree if NEW has none. The builds are loaded instead of the addon that the files load.
If the files load several, --addon names it. A way of the addon whose process has not loaded the build fails.

Examples:
  npx boundary-bench compare before/run.json after/run.json --threshold 0.1
  npx boundary-bench compare --builds old.node new.node levenshtein.bench.mjs
  npx boundary-bench compare --git main..HEAD --build 'npm ci && npm run build' levenshtein.bench.mjs`;

/** The seconds after which inconclusive builds get no more processes. */
const DECIDE_BUILDS_SECONDS = 120;

export function addCompareCommand(program: Command, services: CliServices, finish: Finish): void {
  program
    .command('compare')
    .summary('compare two runs cell by cell')
    .description(
      'Compares two runs cell by cell: the rows per second of AFTER divided by the rows per second of BEFORE, with the interval of the ratio.',
    )
    .usage('[options] BEFORE AFTER | --builds OLD.node NEW.node FILE... | --git OLD..NEW FILE...')
    .argument(
      '<paths...>',
      'two runs, the baseline first: run.json or a directory; or builds, and files with workloads of your own',
    )
    .option('--builds', 'compare two builds of your addon (.node), which are measured in turns')
    .option('--git <commits>', 'the same for two commits, such as main..HEAD, which are built here')
    .option('--build <command>', 'with --git: the command that builds a commit, in its root', DEFAULT_BUILD)
    .option(
      '--addon <path>',
      'with --git: the addon that the build leaves (default: the only .node file); with --builds: the addon ' +
        'that the builds replace (default: the only one that the files load)',
    )
    .option(
      '--decide-within <seconds>',
      'with --builds and --git: the time after which inconclusive ways get no more processes',
      parserOf(seconds.parse),
      DECIDE_BUILDS_SECONDS,
    )
    .option('--strict', 'fail also if a cell or way is inconclusive')
    .option('--force', 'compare though the hardware or the work differs')
    .option(
      '--threshold <part>',
      'the slowdown that is tolerated per cell, as a part: 0.05 is 5%',
      parserOf(parseFraction),
      DEFAULT_THRESHOLD,
    )
    .option('--json', 'print JSON')
    .option('--markdown <file>', 'with --builds and --git: also write the table as Markdown')
    .option('--html <file>', 'of two runs, also write a page with pictures')
    .addHelpText('after', EXAMPLES)
    .action(async (paths: readonly string[], options: CompareOptions) => {
      const { force, strict, threshold, json, html, git } = options;
      if (git !== undefined) return compareCommits(paths, { ...options, git }, services, finish);
      const [before, after, ...files] = paths;
      if (before === undefined || after === undefined) {
        throw new BoundaryError('BB_USAGE', `${before} is compared with nothing`, { hint: 'Name two runs.' });
      }
      if (options.builds === true) return compareBuilds([before, after], files, options, services, finish);
      if (files.length > 0)
        throw new BoundaryError('BB_USAGE', `two runs are compared, and ${files.join(', ')} is no run`);
      const runs = [await readRun(await runFileOf(before)), await readRun(await runFileOf(after))] as const;
      const comparison = compareRuns(...runs, { force: force ?? false, threshold });
      if (html !== undefined) {
        const { renderComparisonHtml } = await import('../report/html/compare-page.js');
        await writeReport(html, await renderComparisonHtml(comparison, ...runs));
      }
      print(json, comparison, () => renderComparisonTerminal(comparison, terminalOf(process.stdout)));
      const { cells, regressed } = comparison;
      const isUndecided = cells.length === 0 || (strict === true && cells.some(({ undecided }) => undecided));
      finish(regressed || isUndecided ? EXIT_FAILED : EXIT_OK);
    });
}
