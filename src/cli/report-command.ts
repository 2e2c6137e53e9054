import { type Command, Option } from 'commander';
import { appendFile, writeFile } from 'node:fs/promises';
import { comparedAnew } from '../compare/comparisons.js';
import { readRun } from '../records/run-file.js';
import { actionFigures } from '../report/action-benchmark.js';
import { isCompact } from '../report/compact.js';
import { renderRunMarkdown } from '../report/run-report.js';
import { commandText } from '../runner/command-text.js';
import { print } from './terminal.js';
import { openFile, reportsOf, requireCompactReport, runFileOf, writeReport, runFilesOf } from './report-files.js';
import { historyOf } from '../compare/history.js';
import { renderHistoryTerminal } from '../report/history-report.js';
import { checkBudgets, readBudgets } from '../compare/budgets.js';
import {
  budgetAnnotations,
  renderBudgetsJunit,
  renderBudgetsMarkdown,
  renderBudgetsTerminal,
} from '../report/budget-report.js';
import { EXIT_FAILED, EXIT_OK } from './exit-code.js';
import type { Finish } from './services.js';

interface ReportOptions {
  readonly out?: string;
  readonly open?: boolean;
  readonly format?: string;
}

const REPORT_HELP = `
The comparisons are remade from the samples, as this version makes them.

The page needs no network and no server: it opens from disk, and can be sent as it is. A file of another name than run.json gets
reports of that name. A report from a compact file says what the file leaves out, and never overwrites the report of a full file.
--out writes the reports elsewhere.

The figures of github-action-benchmark are of its tool customSmallerIsBetter.

Exit code: 0, 1 if --open finds no program that opens the page, 2 if the run can't be read or the reports can't
be written.

Examples:
  npx boundary-bench report results/runs/2026-05-02T10-00-00Z --open
  npx boundary-bench report mailed/run.json --out /tmp/report
  npx boundary-bench report run --format github-action-benchmark`;

export function addReportCommand(program: Command): void {
  program
    .command('report')
    .summary('regenerate the reports of a run')
    .description('Regenerates run.md and run.html from a run.json, and replaces the old ones.')
    .argument('<run>', 'the directory of a run, or its run.json')
    .option('--out <dir>', 'where the reports go (default: next to the result file)')
    .option('--open', 'show run.html in the browser')
    .addOption(
      new Option('--format <name>', 'print the times of the cells for another tool, and make no reports').choices([
        'github-action-benchmark',
      ]),
    )
    .addHelpText('after', REPORT_HELP)
    .action(async (path: string, { out, open = false, format }: ReportOptions) => {
      const file = await runFileOf(path);
      const run = comparedAnew(await readRun(file));
      if (format !== undefined) return print(true, actionFigures(run), () => '');
      const { renderRunHtml } = await import('../report/html/run-page.js');
      const { markdown, html } = reportsOf(file, out);
      if (out === undefined && isCompact(run)) {
        for (const report of [markdown, html]) await requireCompactReport(report, file);
      }
      await writeReport(markdown, renderRunMarkdown(run));
      await writeReport(html, await renderRunHtml(run, commandText(run)));
      process.stdout.write(`${html}\n`);
      if (open) await openFile(html);
    });
}

interface HistoryOptions {
  readonly force?: boolean;
  readonly html?: string;
}

const HISTORY_HELP = `
Each cell is compared with the first run that has it. Runs of other hardware or other work are refused unless --force is given.

Exit code: 0, or 2 if the runs can't be read or compared.

Examples:
  npx boundary-bench history results/runs                      every run in the directory
  npx boundary-bench history before after/run.json --html history.html`;

export function addHistoryCommand(program: Command): void {
  program
    .command('history')
    .summary('show runs of one machine over time')
    .description('Shows the cells of many runs of one machine in the order of their starts, with their commits.')
    .argument('<runs...>', 'directories of runs, directories with such directories, or run.json files')
    .option('--force', 'show them though the hardware or the work differs')
    .option('--html <file>', 'also write a page with pictures')
    .addHelpText('after', HISTORY_HELP)
    .action(async (paths: readonly string[], { force = false, html }: HistoryOptions) => {
      const files = (await Promise.all(paths.map(runFilesOf))).flat();
      const runs = await Promise.all(files.map(async (name) => ({ name, run: await readRun(name) })));
      const history = historyOf(runs, { force });
      if (html !== undefined) {
        const { renderHistoryHtml } = await import('../report/html/history-page.js');
        await writeReport(html, await renderHistoryHtml(history));
      }
      process.stdout.write(renderHistoryTerminal(history));
    });
}

interface CheckOptions {
  readonly budgets: string;
  readonly json?: boolean;
  readonly github?: boolean;
  readonly junit?: string;
  readonly strict?: boolean;
}

const CHECK_HELP = `
A budget bounds the time of one row, operation or call of a cell, on the hardware that it was set on, or the ratio of two cells:

  {
    "schemaVersion": 1,
    "budgets": [
      { "name": "reads through the addon", "cell": "kv/get/call/napi/redis/c32/b1", "maximumSeconds": 3e-5 },
      { "name": "at most three times Rust", "cell": "kv/get/batch/napi/redis/c32/b64",
        "over": "kv/get/batch/rust/redis/c32/b64", "maximumRatio": 3 }
    ]
  }

A name in a budget that is not known is an error. A budget whose interval contains its maximum is inconclusive. It is named,
and fails nothing without --strict.

Exit code: 0 if no budget is broken. 1 if one is broken, if a cell of one was not measured, or with --strict if one is
inconclusive. 2 if a file can't be read.

Example:
  npx boundary-bench check --budgets budgets.json results/runs/2026-05-02T10-00-00Z/run.json`;

export function addCheckCommand(program: Command, finish: Finish): void {
  program
    .command('check')
    .summary('compare a run with budgets')
    .description('Compares the cells of a run with upper bounds of their times, or of their ratios.')
    .argument('<run>', 'the run to check: its run.json or its directory')
    .requiredOption('--budgets <file>', 'the file of budgets')
    .option('--strict', 'fail also if a budget is inconclusive')
    .option('--json', 'print JSON')
    .option('--github', "print annotations for GitHub Actions, and add the table to the job's summary")
    .option('--junit <file>', 'also write JUnit XML')
    .addHelpText('after', CHECK_HELP)
    .action(async (path: string, { budgets, json, github, junit, strict }: CheckOptions) => {
      const check = checkBudgets(await readBudgets(budgets), await readRun(await runFileOf(path)));
      if (junit !== undefined) await writeFile(junit, renderBudgetsJunit(check));
      if (github) {
        const summary = process.env['GITHUB_STEP_SUMMARY'];
        if (summary === undefined || summary === '') process.stdout.write(renderBudgetsMarkdown(check));
        else await appendFile(summary, renderBudgetsMarkdown(check));
        process.stdout.write(budgetAnnotations(check));
      } else {
        print(json, check, () => renderBudgetsTerminal(check));
      }
      const isUndecided = check.outcomes.some(({ verdict }) => verdict === 'undecided');
      finish(check.failed || (strict === true && isUndecided) ? EXIT_FAILED : EXIT_OK);
    });
}
