import { itemsOf, unitOf } from '../records/record.js';
import type { Command } from 'commander';
import { groupBy } from '../compare/cell-groups.js';
import { columns, heading, renderTerminal, tableBlock } from '../report/document.js';
import { formatRows } from '../report/format.js';
import { idBelowPlace, placeOf } from '../report/labels.js';
import { type FamilyPlan, planRun } from '../runner/plan.js';
import type { Family } from '../families/workload.js';
import type { CliServices } from './services.js';
import type { Flags } from './flags.js';
import { addMatrixOptions, requestFrom } from './matrix-options.js';
import { familiesOf, wordsOf } from './own-files.js';
import { print } from './print.js';
import { terminalWidth } from './terminal-width.js';

const EXAMPLES = `
Examples:
  boundary-bench list --all                             every cell
  boundary-bench list --workload 'query.*' --side napi  the queries through the addon
  boundary-bench list --json | jq -r '.[].id'           the ids alone
  boundary-bench list levenshtein.bench.mjs             your own code`;

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
      const tables = groupBy(cells, ({ cell }) => placeOf(cell)).flatMap((same) => {
        const units = new Set(same.map(({ cell }) => unitOf(cell)));
        const counted = units.size === 1 ? HEADINGS[[...units][0]!] : HEADINGS.items;
        const notHere = same.some(({ skip }) => skip !== undefined) ? ['Not here'] : [];
        const table = {
          columns: columns('Cell', 'Variant', counted, ...notHere),
          rows: same.map(({ cell, skip }) => [
            idBelowPlace(cell),
            cell.variant,
            formatRows(itemsOf(cell)),
            ...notHere.map(() => skip ?? ''),
          ]),
        };
        return [heading(3, placeOf(same[0]!.cell)), ...tableBlock(table)];
      });
      const count = `${cells.length} ${cells.length === 1 ? 'cell' : 'cells'}`;
      return `${family.name}: ${family.description}\n\n${renderTerminal(tables, terminalWidth(process.stdout))}\n${count}\n`;
    })
    .join('\n');
}
