#!/usr/bin/env node
/**
 * How much should be sent at once? `node bench/lab/hyper-sweep.mjs [ROWS] [--forks N] [--out DIR]` (default 1,000,000
 * rows) sweeps, on the `hyper` engine, from Rust and from Node:
 *
 * - in: the bytes of one COPY of an Arrow insert, from a batch of 1 Ki rows to 256 MiB;
 * - out: the rows of one batch that crosses, from 1 Ki to 1 Mi;
 * - the buffers of the sockets, from the system's own to 4 MiB, over TCP and the Unix domain socket.
 *
 * Each setting is a cell, measured in fresh processes that take turns with the processes of the other settings of its sweep. It prints the
 * rate of each, its ratio to the first setting with the 95% interval, and the knee of each sweep: the smallest size whose median rate
 * reaches 95% of the best. The run with its samples is written to DIR, as is `sweep.md`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { rateRatio } from '../../dist/compare/rate-ratio.js';
import { count, parseRows } from '../../dist/families/option-values.js';
import { columns, heading, list, paragraph, renderMarkdown, tableBlock } from '../../dist/report/document.js';
import { UNKNOWN, formatFactorInterval, formatRateOf, formatRows } from '../../dist/report/format.js';
import { hostLines } from '../../dist/report/host-block.js';
import { run } from '../../dist/run.js';
import { rateOf } from '../../dist/stats/summary.js';
import * as families from './hyper-sweep-families.mjs';
import { optionsOf, temporaryFolder } from './frame.mjs';

const KNEE = 0.95;
const SIDES = ['rust', 'napi'];

const { values, positionals } = optionsOf({ forks: undefined, out: undefined }, true);
const rows = parseRows(positionals[0] ?? '1M');
const folder = temporaryFolder();
const { run: measured, directory } = await run({
  families: Object.values(families),
  directory: values.out ?? join(folder, 'run'),
  // Each process starts a server of its own on the database.
  engines: { hyper: `hyper:${join(folder, 'sweep.hyper')}` },
  rows,
  forks: values.forks && count.parse(values.forks),
});
const document = renderMarkdown(report(measured));
writeFileSync(join(directory, 'sweep.md'), document);
process.stdout.write(document);
for (const { id, outcome, error, reason } of measured.records) {
  if (outcome === 'completed') continue;
  process.stderr.write(`${id} ${outcome}: ${error?.message ?? reason}\n`);
  process.exitCode = 1;
}

function report({ context, records }) {
  const workloads = [...new Set(records.map(({ workload }) => workload))];
  return [
    heading(1, 'How much to send at once'),
    paragraph(`\`node bench/lab/hyper-sweep.mjs ${rows}\`: ${formatRows(rows)} rows of measurements.`),
    ...list(hostLines(context)),
    ...workloads.flatMap((workload) => [heading(2, workload), ...sweepBlocks(records, workload)]),
  ];
}

/** The table of one sweep and its knees. */
function sweepBlocks(records, workload) {
  const bySide = SIDES.map((side) =>
    records.filter((record) => record.workload === workload && record.side === side && record.outcome === 'completed'),
  );
  const labels = [...new Set(bySide.flat().map(({ variant }) => variant))];
  const cells = (label) =>
    bySide.flatMap((own) => {
      const record = own.find(({ variant }) => variant === label);
      if (record === undefined) return [UNKNOWN, UNKNOWN];
      return [formatRateOf(record), record === own[0] ? UNKNOWN : formatFactorInterval(rateRatio(record, own[0]))];
    });
  const knees = bySide.flatMap((own, place) => {
    const best = Math.max(...own.map(rateOf));
    const knee = own.find((record) => rateOf(record) >= KNEE * best);
    return knee === undefined ? [] : [`${SIDES[place]}: ${knee.variant}`];
  });
  return [
    ...tableBlock({
      columns: columns('Setting', '>Rust', '>/ first (95%)', '>Node', '>/ first (95%)'),
      rows: labels.map((label) => [label, ...cells(label)]),
    }),
    paragraph(`Knee (95% of the best): ${knees.join('; ')}.`),
  ];
}
