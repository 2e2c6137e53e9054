#!/usr/bin/env node
/**
 * Direct, batching or scatter-gather? `node bench/lab/hybrid-crossover.mjs [--forks N] [--out FILE]` gets rows of three
 * shards one by one, with ten in flight, and by multiGet of 10, 100 and 1000, all behind gRPC and partly in the
 * reader's process, from Rust, by the addon and by grpc-js, at delays of 0, 100, 500 and 2000 µs each way. Each way is
 * measured in fresh processes that take turns with the processes of the other ways at its delay.
 *
 * It prints the median time per row of each way, and the delays at which a way is faster than another, with the ratio at every delay. A way
 * is faster if the whole 95% interval of the ratio is above 1. `--out` writes the records of all delays to a file.
 * `bench/lab/compact-run.mjs` makes the file in `results/` from it, and `bench/docs.mjs` makes the table from that.
 */
import { join } from 'node:path';

import { count } from '../../dist/families/option-values.js';
import { run } from '../../dist/bench.js';
import { list, paragraph, renderTerminal, tableBlock } from '../../dist/report/document.js';
import { networkText } from '../../dist/report/host-block.js';
import { hybridFamily } from '../../dist/families/hybrid/family.js';
import { crossoverFindings, crossoverTable } from './crossover.mjs';
import { optionsOf, originOf, temporaryFolder, writeResult } from './frame.mjs';

const DELAYS_US = [0, 100, 500, 2000];

/** The ways to get rows: few requests each, since a request takes as long as the network. */
const WAYS = [
  { workload: 'point_lookup', connections: [1], batch: [1], operations: 30 },
  { workload: 'point_lookup', connections: [10], batch: [1], operations: 300 },
  { workload: 'multi_get', connections: [1], batch: [10], operations: 300 },
  { workload: 'multi_get', connections: [1], batch: [100], operations: 3000 },
  { workload: 'multi_get', connections: [1], batch: [1000], operations: 20_000 },
];

/** The operations of direct shards, which take very little time each. */
const DIRECT_OPERATIONS = 20_000;

/** The scale of 150 000 rows: few, since the network is measured, not the store. */
const SCALE = 0.002;

const { values } = optionsOf({ forks: undefined, out: undefined });
const forks = values.forks && count.parse(values.forks);
const folder = temporaryFolder();
const runs = [];
let context;
for (const delayUs of DELAYS_US) {
  const directory = join(folder, String(delayUs));
  const families = [crossover(delayUs)];
  const { run: measured } = await run({ families, directory, forks, scale: SCALE, netDelayUs: delayUs });
  const { records } = measured;
  context = measured.context;
  const simulated = context.networks?.shards;
  for (const { id, outcome, error, reason } of records) {
    if (outcome !== 'completed') throw new Error(`${id} ${outcome}: ${error?.message ?? reason}`);
  }
  runs.push({ delayUs, ...(simulated === undefined ? {} : { network: simulated }), records });
}
writeResult(values.out, { ...originOf(context), runs });
const { table, notes } = crossoverTable(runs);
const networks = runs.flatMap(({ network }) => (network === undefined ? [] : [`${networkText(network)}.`]));
process.stdout.write(
  renderTerminal([...tableBlock(table), ...notes.map(paragraph), ...list(crossoverFindings(runs)), ...list(networks)]),
);

/**
 * The family with the cells of all ways, each with its own number of operations. Direct cells are measured only without
 * a delay. All cells are of one group, so that their processes take turns.
 */
function crossover(delayUs) {
  const plan = (options) =>
    WAYS.flatMap(({ workload, operations, ...way }) => {
      // One client per side: tonic's client has no other way than gRPC to compare with.
      const isWanted = ({ cell, client }) => cell.workload === workload && client !== 'tonic';
      const cells = (count) => hybridFamily.plan({ ...options, ...way, operations: count }).filter(isWanted);
      const direct = delayUs === 0 ? cells(DIRECT_OPERATIONS) : [];
      const ofWay = [
        ...direct.filter(({ cell }) => cell.transport === 'direct'),
        ...cells(operations).filter(({ cell }) => cell.transport !== 'direct'),
      ];
      return ofWay.map((planned) => ({ ...planned, group: 'crossover' }));
    });
  return { ...hybridFamily, onlyIfNamed: false, plan };
}
