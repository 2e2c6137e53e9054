import type { Command } from 'commander';
import { historyOf } from '../compare/history.js';
import { readRun } from '../records/run-file.js';
import { renderHistoryTerminal } from '../report/history-report.js';
import { runFilesOf, writeReport } from './report-files.js';

interface HistoryOptions {
  readonly force?: boolean;
  readonly html?: string;
}

const EXAMPLES = `
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
    .addHelpText('after', EXAMPLES)
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
