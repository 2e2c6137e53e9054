import { appendFile, writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { checkBudgets, readBudgets } from '../compare/budgets.js';
import { readRun } from '../records/run-file.js';
import {
  budgetAnnotations,
  renderBudgetsJunit,
  renderBudgetsMarkdown,
  renderBudgetsTerminal,
} from '../report/budget-report.js';
import { EXIT_FAILED, EXIT_OK } from './exit-code.js';
import { print } from './terminal.js';
import { runFileOf } from './report-files.js';
import type { Finish } from './services.js';

interface CheckOptions {
  readonly budgets: string;
  readonly json?: boolean;
  readonly github?: boolean;
  readonly junit?: string;
  readonly strict?: boolean;
}

const HELP = `
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
    .addHelpText('after', HELP)
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
