// Counts how often `compare --builds` is right: an addon that does its work twice must be found, and the same addon built twice must be
// called unchanged. It does so on a quiet machine, and next to programs that disturb it. It needs a C compiler.
//
//   node bench/lab/builds.mjs [--runs N] [--on quiet,disturbed] [--out FILE]
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { renderMarkdown } from '../../dist/report/document.js';
import { SMALL_ADDON_WORKLOAD, buildSmallAddon } from '../../__test__/fixtures/small-addon.mjs';
import { buildsTable } from './tables.mjs';
import { onEachMachine, optionsOf, origin, temporaryFolder, writeResult } from './frame.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** How often the new build does the work, and for each such run the number of runs with the same build. */
const KINDS = { doubled: { times: 2, runs: 1 }, same: { times: 1, runs: 2 } };

const { values } = optionsOf({ runs: '10', on: 'quiet,disturbed', out: undefined });
const from = await origin();
const folder = temporaryFolder();
const results = [];
buildSmallAddon(join(folder, 'old.node'), 1);
for (const [kind, { times }] of Object.entries(KINDS)) buildSmallAddon(join(folder, `${kind}.node`), times);
writeFileSync(join(folder, 'work.bench.mjs'), SMALL_ADDON_WORKLOAD);
await onEachMachine(values.on, (machine) => {
  for (const [kind, { runs }] of Object.entries(KINDS)) {
    for (let run = 0; run < runs * Number(values.runs); run += 1) {
      results.push({ machine, kind, ...compare(kind) });
      console.error(`${machine}, ${kind}: run ${run + 1}`);
    }
  }
});
console.log(renderMarkdown(buildsTable(results)));
writeResult(values.out, { ...from, results });

/** Compares the old build with another one. Returns the ratio of the way through the addon, and the seconds that the command took. */
function compare(kind) {
  const startedAt = performance.now();
  const words = ['--builds', 'old.node', `${kind}.node`, 'work.bench.mjs', '--decide-within', '30', '--json'];
  const cli = [join(ROOT, 'dist', 'cli', 'main.js'), 'compare', ...words];
  const { stdout, stderr } = spawnSync(process.execPath, cli, { cwd: folder, encoding: 'utf8' });
  const pairs = stdout === '' ? undefined : JSON.parse(stdout);
  if (pairs === undefined) throw new Error(stderr);
  const { ratio, low, high, regressed } = pairs.find(({ isControl }) => !isControl);
  return { ratio, low, high, regressed, seconds: (performance.now() - startedAt) / 1000 };
}
