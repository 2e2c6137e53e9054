import type { Command } from 'commander';
import { DEFAULT_THRESHOLD, compareRuns } from '../compare/compare-runs.js';
import { readRun } from '../records/run-file.js';
import { renderComparisonTerminal } from '../report/compare-report.js';
import type { Finish } from './services.js';
import { EXIT_FAILED, EXIT_OK } from './exit-code.js';
import { parseFraction } from '../families/option-values.js';
import { parserOf } from './flags.js';
import { print } from './print.js';
import { runFileOf, writeReport } from './report-files.js';
import { terminalWidth } from './terminal-width.js';

interface CompareOptions {
  readonly force?: boolean;
  readonly threshold: number;
  readonly json?: boolean;
  readonly html?: string;
}

const EXAMPLES = `
Versions of Node, engines and clients that differ are named.

Exit code: 0 without a regression, 1 with one, 2 where the runs can't be compared.

Example:
  boundary-bench compare before/run.json after/run.json --threshold 0.1`;

export function addCompareCommand(program: Command, finish: Finish): void {
  program
    .command('compare')
    .summary('compare two runs cell by cell')
    .description(
      'Compares two runs cell by cell: the rows per second of AFTER over those of BEFORE, with the interval of the ratio.',
    )
    .argument('<before>', 'the run that is the baseline: its run.json or its directory')
    .argument('<after>', 'the run to judge')
    .option('--force', 'compare though the hardware or the work differs')
    .option('--threshold <part>', 'the part of its speed a cell may lose', parserOf(parseFraction), DEFAULT_THRESHOLD)
    .option('--json', 'print JSON')
    .option('--html <file>', 'also write a page with pictures')
    .addHelpText('after', EXAMPLES)
    .action(async (before: string, after: string, { force, threshold, json, html }: CompareOptions) => {
      const runs = [await readRun(await runFileOf(before)), await readRun(await runFileOf(after))] as const;
      const comparison = compareRuns(...runs, { force: force ?? false, threshold });
      if (html !== undefined) {
        const { renderComparisonHtml } = await import('../report/html/compare-page.js');
        await writeReport(html, await renderComparisonHtml(comparison, ...runs));
      }
      print(json, comparison, () => renderComparisonTerminal(comparison, terminalWidth(process.stdout)));
      finish(comparison.regressed ? EXIT_FAILED : EXIT_OK);
    });
}
