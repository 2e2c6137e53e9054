// Measures the gain of undici by pipelining on one connection: pkread on one private REST server, one request at a time and 1, 8, 32, 128 in
// flight, by the same `dispatch`. Prints requests per second, and the ratio to one at a time with its interval of 95%, from
// processes that take turns. The server is another process: it and undici share the cores of the machine.
//
//   node bench/lab/undici-pipelining.mjs [FORKS] [OPERATIONS]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { rateRatio } from '../../dist/compare/rate-ratio.js';
import { restFamily } from '../../dist/families/rest/family.js';
import { formatFactor, formatInterval } from '../../dist/report/format.js';
import { run } from '../../dist/run.js';
import { rateOf } from '../../dist/stats/summary.js';
import { shownRate } from './in-turn.mjs';

const IN_FLIGHT = [1, 8, 32, 128];

const [forks = 9, operations = 20_000] = process.argv.slice(2).map(Number);
const isOneAtATime = ({ cell, setting }) =>
  cell.workload === 'pkread' && cell.lane === 'call' && setting === 'dispatch';
const isPipelined = ({ cell }) => cell.workload === 'pkread.pipelined';
const family = {
  ...restFamily,
  onlyIfNamed: false,
  plan: (options) =>
    restFamily
      .plan(options)
      .filter((planned) => planned.cell.side === 'js' && (isOneAtATime(planned) || isPipelined(planned)))
      // Of one group, so that their processes take turns.
      .map((planned) => ({ ...planned, group: 'undici' })),
};
const directory = mkdtempSync(join(tmpdir(), 'undici-pipelining-'));
try {
  const { run: measured } = await run({
    families: [family],
    directory: join(directory, 'run'),
    connections: [1],
    batch: IN_FLIGHT,
    all: true,
    forks,
    operations,
  });
  const failed = measured.records.find(({ outcome }) => outcome !== 'completed');
  if (failed !== undefined) throw new Error(`${failed.id}: ${failed.error?.message ?? failed.reason}`);
  const base = measured.records.find(({ workload }) => workload === 'pkread');
  console.log('| undici on one connection | requests/s | / one at a time | 95% interval |');
  console.log('| --- | ---: | ---: | ---: |');
  console.log(`| one at a time | ${shownRate(rateOf(base))} | — | — |`);
  for (const record of measured.records.filter((each) => each !== base)) {
    const ratio = rateRatio(record, base);
    const shown = [shownRate(rateOf(record)), formatFactor(ratio.ratio), formatInterval(ratio)];
    console.log(`| ${record.batch} in flight | ${shown.join(' | ')} |`);
  }
  console.log(`\n${forks} processes per row.`);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
