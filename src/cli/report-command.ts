import { type Command, Option } from 'commander';
import { comparedAnew } from '../compare/comparisons.js';
import { readRun } from '../records/run-file.js';
import { actionFigures } from '../report/action-benchmark.js';
import { isCompact } from '../report/compact.js';
import { renderRunMarkdown } from '../report/run-report.js';
import { commandText } from '../runner/command-text.js';
import { print } from './terminal.js';
import { openFile, reportsOf, requireCompactReport, runFileOf, writeReport } from './report-files.js';

interface ReportOptions {
  readonly out?: string;
  readonly open?: boolean;
  readonly format?: string;
}

const EXAMPLES = `
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
    .addHelpText('after', EXAMPLES)
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
