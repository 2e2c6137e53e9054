// Tests the method on cells whose ratios are known: how often it gives a wrong verdict, how often it finds a difference, how wide its
// intervals are, and how long it takes. It does so on a quiet machine, and next to programs that disturb it. For comparison it tests the old
// method on the same cells: five processes of each, one after the other, whose samples are pooled.
//
//   node bench/lab/method.mjs [--runs N] [--on quiet,disturbed] [--out results/linux-x64/DATE-method.json]
import { join } from 'node:path';

import { cpuRatio, priorsOf, rateRatio, riskOf } from '../../dist/compare/rate-ratio.js';
import { run } from '../../dist/runner/run.js';
import { DEFAULT_MARGIN, verdictOf } from '../../dist/stats/ratio-interval.js';
import { KINDS, methodFamily } from './method-family.mjs';
import { renderMarkdown } from '../../dist/report/document.js';
import { methodNotes, methodTable } from './tables.mjs';
import { onEachMachine, optionsOf, origin, temporaryFolder, writeResult } from './frame.mjs';

/** The processes of each cell by the old method. */
const OLD_FORKS = 5;

/** The methods: how the cells are planned, and how a cell is compared with the reference. */
const METHODS = {
  'in turns': {
    options: {},
    plan: (cells) => cells,
    how: { risk: riskOf({ config: {} }) },
  },
  'one after the other': {
    options: { forks: OLD_FORKS },
    plan: (cells) => cells.map((planned) => ({ ...planned, isExclusive: true })),
    how: { isApart: true },
  },
};

const { values } = optionsOf({ runs: '5', on: 'quiet,disturbed', out: undefined });
const from = await origin();
const folder = temporaryFolder();
const results = [];
await onEachMachine(values.on, async (machine) => {
  // The methods take turns, too.
  for (let number = 0; number < Number(values.runs); number += 1) {
    for (const [method, how] of Object.entries(METHODS)) {
      results.push({ machine, method, ...(await measure(how)) });
      console.error(`${machine}, ${method}: run ${number + 1} of ${values.runs}`);
    }
  }
});
console.log(renderMarkdown([...methodTable(results), methodNotes(results)]));
writeResult(values.out, { ...from, results });

/** The outcomes of one run, for each kind of cell. */
async function measure({ options, plan, how }) {
  const family = { ...methodFamily, plan: (given) => plan(methodFamily.plan(given)) };
  const startedAt = performance.now();
  const { run: finished } = await run({
    families: [family],
    directory: join(folder, String(results.length)),
    ...options,
  });
  const seconds = (performance.now() - startedAt) / 1000;
  const byId = new Map(finished.records.map((record) => [record.id, record]));
  const reference = byId.get('reference');
  const others = finished.records.filter(({ id, outcome }) => id !== 'reference' && outcome === 'completed');
  const priors = priorsOf(others.map((record) => ({ numerator: reference, denominator: record })));
  const found = Object.entries(KINDS).map(([kind, { cells }]) => [
    kind,
    Array.from({ length: cells }, (_, number) => {
      const record = byId.get(`${kind} ${number + 1}`);
      if (record.outcome !== 'completed') return { outcome: record.error.code };
      if (record.noVerdict !== undefined) return { outcome: record.noVerdict };
      // The rate of the reference divided by the rate of the cell: above 1, the cell is slower.
      const interval = rateRatio(reference, record, { ...how, priors });
      const byCpu = cpuRatio(reference, record, { ...how, priors });
      return {
        outcome: verdictOf(interval, DEFAULT_MARGIN),
        byCpu: byCpu && verdictOf(byCpu, DEFAULT_MARGIN),
        width: Math.log(interval.high / interval.low),
      };
    }),
  ]);
  const processes = new Set(
    finished.records.flatMap(({ id, samples = [] }) => samples.map(({ fork }) => `${id} ${fork}`)),
  );
  return { seconds, processes: processes.size, found: Object.fromEntries(found) };
}
