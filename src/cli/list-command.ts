import { itemsOf, unitOf } from '../records/record.js';
import type { Command } from 'commander';
import { type Table, renderTerminal, tableOf } from '../report/document.js';
import { formatRows } from '../report/format.js';
import { idBelowPlace, tablesByPlace } from '../report/place-tables.js';
import { type FamilyPlan, planRun } from '../runner/plan.js';
import type { Family } from '../families/workload.js';
import type { CliServices } from './services.js';
import { type Flags, addMatrixOptions, requestFrom } from './matrix-options.js';
import { familiesOf, wordsOf } from './own-files.js';
import { print, terminalOf } from './terminal.js';

const EXAMPLES = `
Examples:
  npx boundary-bench list --all                             every cell
  npx boundary-bench list --workload 'query.*' --side napi  the queries through the addon
  npx boundary-bench list --json | jq -r '.[].id'           the ids alone
  npx boundary-bench list levenshtein.bench.mjs             your own code`;

export function addListCommand(program: Command, services: CliServices): void {
  addMatrixOptions(program.command('list'))
    .summary('show the matrix: the cells that run would measure')
    .description('Shows the cells that `run` with the same options would measure.')
    .option('--json', 'print JSON')
    .addHelpText('after', EXAMPLES)
    .action(async (words: readonly string[], flags: Flags) => {
      const { rows, files } = wordsOf(words);
      const request = requestFrom(rows, flags);
      const families = await familiesOf(files, services);
      const { plans } = planRun(families, request);
      const cells = plans.flatMap((plan) => plan.cells.map(({ cell, ...rest }) => ({ ...cell, ...rest })));
      print(flags['json'] === true, cells, () => renderTable(plans) + othersLine(families, plans));
    });
}

/** The headings of the column that counts the work. */
const HEADINGS = { rows: '>Rows', operations: '>Operations', calls: '>Calls', items: '>Items' } as const;

/** The line of the families that are shown only if asked for. */
function othersLine(families: readonly Family[], plans: readonly FamilyPlan[]): string {
  const others = families.filter(({ name }) => !plans.some(({ family }) => family.name === name));
  return others.length === 0 ? '' : `\nOther families, by --family: ${others.map(({ name }) => name).join(', ')}\n`;
}

function renderTable(plans: readonly FamilyPlan[]): string {
  return plans
    .map(({ family, cells }) => {
      const tables = tablesByPlace(cells, ({ cell }) => cell, cellsTable);
      const count = `${cells.length} ${cells.length === 1 ? 'cell' : 'cells'}`;
      return `${family.name}: ${family.description}\n\n${renderTerminal(tables, terminalOf(process.stdout))}\n${count}\n`;
    })
    .join('\n');
}

function cellsTable(cells: FamilyPlan['cells']): Table {
  const units = new Set(cells.map(({ cell }) => unitOf(cell)));
  return tableOf(cells, [
    { title: 'Cell', of: ({ cell }) => idBelowPlace(cell) },
    { title: 'Variant', of: ({ cell }) => cell.variant },
    {
      title: units.size === 1 ? HEADINGS[[...units][0]!] : HEADINGS.items,
      of: ({ cell }) => formatRows(itemsOf(cell)),
    },
    ...(cells.some(({ skip }) => skip !== undefined)
      ? [{ title: 'Not here', of: ({ skip }: FamilyPlan['cells'][number]) => skip ?? '' }]
      : []),
  ]);
}
