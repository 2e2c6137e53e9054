#!/usr/bin/env node
/**
 * How much should be sent at once? `node bench/lab/hyper-sweep.mjs [ROWS] [--forks N] [--out FILE]` (default 1,000,000 rows) sweeps, on
 * the `hyper` engine, from Rust and from Node:
 *
 * - in: the bytes of one COPY of an Arrow insert, from a batch of 1 Ki rows to 256 MiB;
 * - out: the rows of one batch that crosses, from 1 Ki to 1 Mi;
 * - the buffers of the sockets, from the system's own to 4 MiB, over TCP and the Unix domain socket.
 *
 * Each setting is a cell, measured in fresh processes that take turns with the processes of the other settings of its sweep. It prints the
 * rate of each, its ratio to the first setting with the 95% interval, and the knee of each sweep: the smallest size whose median rate
 * reaches 95% of the best. `--out` writes the run to FILE.
 */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';

import { count, parseRows } from '../../dist/families/option-values.js';
import { heading, list, paragraph, renderMarkdown } from '../../dist/report/document.js';
import { formatRows } from '../../dist/report/format.js';
import { hostLines } from '../../dist/report/host-block.js';
import { run } from '../../dist/run.js';
import { optionsOf, temporaryFolder } from './frame.mjs';
import * as families from './hyper-sweep-families.mjs';
import { sweepBlocks, sweepsOf } from './hyper-sweep-table.mjs';

const { values, positionals } = optionsOf({ forks: undefined, out: undefined }, true);
const rows = parseRows(positionals[0] ?? '1M');
const folder = temporaryFolder();
const { run: measured, directory } = await run({
  families: Object.values(families),
  directory: join(folder, 'run'),
  // Each process starts a server of its own with a database of its own, since a database has one server at a time.
  engines: { hyper: 'hyper:' },
  rows,
  forks: values.forks && count.parse(values.forks),
});
process.stdout.write(
  renderMarkdown([
    heading(1, 'How much to send at once'),
    paragraph(`\`node bench/lab/hyper-sweep.mjs ${rows}\`: ${formatRows(rows)} rows of measurements.`),
    ...list(hostLines(measured.context)),
    ...sweepsOf(measured.records).flatMap(([workload, sides]) => [heading(2, workload), ...sweepBlocks(sides)]),
  ]),
);
if (values.out !== undefined) copyFileSync(join(directory, 'run.json'), values.out);
for (const { id, outcome, error, reason } of measured.records) {
  if (outcome === 'completed') continue;
  process.stderr.write(`${id} ${outcome}: ${error?.message ?? reason}\n`);
  process.exitCode = 1;
}
