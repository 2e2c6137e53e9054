// Is the time of a call the same with few and with many calls in a sample? Runs the `boundary` family with 1 to a million.
//
//   node bench/lab/ladder.mjs [--out results/linux-x64/DATE-ladder.json]
import { join } from 'node:path';

import { loadFamilies } from '../../dist/families/registry.js';
import { itemsOf } from '../../dist/records/record.js';
import { renderMarkdown } from '../../dist/report/document.js';
import { run } from '../../dist/runner/run.js';
import { ladderTable } from './tables.mjs';
import { optionsOf, origin, temporaryFolder, writeResult } from './frame.mjs';

/** The calls of a sample that a run is asked for. */
const LADDER = [1, 10, 1000, 1_000_000];

/** The processes of each cell. */
const FORKS = 5;

const { values } = optionsOf({ out: undefined });
const from = await origin();
const folder = temporaryFolder();
const ladder = [];
for (const calls of LADDER) ladder.push({ calls, cells: await cellsWith(calls) });
console.log(renderMarkdown(ladderTable(ladder)));
writeResult(values.out, { ...from, ladder });

/** The seconds of a call by each way, with this number of calls in a sample. */
async function cellsWith(calls) {
  const family = (await loadFamilies()).find(({ name }) => name === 'boundary');
  const { run: finished } = await run({
    families: [family],
    directory: join(folder, String(calls)),
    rows: calls,
    forks: FORKS,
    filters: { workload: ['numbers'], lane: ['call'] },
  });
  return finished.records
    .filter(({ outcome }) => outcome === 'completed')
    .map((record) => ({
      id: record.id,
      seconds: record.summary.medianSeconds / itemsOf(record),
      ...(record.noVerdict && { noVerdict: record.noVerdict }),
    }));
}
