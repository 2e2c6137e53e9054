#!/usr/bin/env node
/**
 * Writes runs on hyperd as a platform's section of the HyperDB benchmark guide, with that guide's tables in its order:
 * `node bench/lab/hyper-guide.mjs --sweep SWEEP.json RUN.json... > SECTION.md`. The runs are `run.json` files of
 * `bench/benchmark.mjs 10000000 --engine hyper --transport tcp,ipc`, whole or workload by workload, made on one machine. The
 * sweep comes from `bench/lab/hyper-sweep.mjs`.
 */
import { rateRatio } from '../../dist/compare/rate-ratio.js';
import { readRun } from '../../dist/records/run-file.js';
import { columns, heading, list, paragraph, renderMarkdown, tableBlock } from '../../dist/report/document.js';
import { formatFactor, formatInterval, formatRateOf, formatRows } from '../../dist/report/format.js';
import { headToHeadTable } from '../../dist/report/head-to-head.js';
import { hostLines } from '../../dist/report/host-block.js';
import { nameOf } from '../../dist/report/labels.js';
import { resultsTable } from '../../dist/report/results-table.js';
import { verdictOf } from '../../dist/stats/ratio-interval.js';
import { optionsOf } from './frame.mjs';

const { values, positionals } = optionsOf({ sweep: undefined }, true);
if (values.sweep === undefined || positionals.length === 0) {
  process.stderr.write('usage: node bench/lab/hyper-guide.mjs --sweep SWEEP.json RUN.json...\n');
  process.exit(2);
}
const runs = await Promise.all(positionals.map((path) => readRun(path)));
const sweep = await readRun(values.sweep);
const records = runs.flatMap((run) => run.records).filter(({ outcome }) => outcome === 'completed');
const most = Math.max(...records.map(({ rows }) => rows));
const best = headToHeadTable(
  runs.flatMap(({ comparisons }) => comparisons).filter(({ kind }) => kind === 'best'),
  (id) => records.find((record) => record.id === id),
);

process.stdout.write(
  renderMarkdown([
    heading(2, 'Platform: Linux (x86_64)'),
    heading(3, 'Hardware / software'),
    ...list(hostLines(runs[0].context).filter((line) => !/^(Build|Commit|Date): /.test(line))),
    paragraph('The runs:'),
    ...list([...runs, sweep].map(({ context, records }) => `${workloadsOf(records)}: ${buildOf(context)}`)),
    ...suite('tcp', 'TCP loopback'),
    ...transports(),
    heading(3, `Node.js bench — ${formatRows(most)} rows, TCP loopback`),
    ...tableBlock(resultsTable(records.filter(({ side, transport }) => side !== 'rust' && transport === 'tcp'))),
    heading(3, `Rust vs Node.js — ${formatRows(most)} apples-to-apples`),
    ...tableBlock(best.table),
    ...best.notes.map(paragraph),
    ...socketBuffers(),
  ]),
);

function suite(transport, title) {
  const workers = Math.max(...records.map((record) => record.workers ?? 1));
  return [
    heading(3, `Rust suite — ${formatRows(most)} rows per workload, ${workers} parallel workers, ${title}`),
    ...tableBlock(resultsTable(records.filter((record) => record.side === 'rust' && record.transport === transport))),
  ];
}

function workloadsOf(records) {
  return [...new Set(records.map(({ workload }) => workload))].join(', ');
}

function buildOf(context) {
  return hostLines(context)
    .filter((line) => /^(Build|Commit|Date): /.test(line))
    .join('; ');
}

/** The same cells over the Unix domain socket and over TCP. */
function transports() {
  const pairs = records.flatMap((tcp) => {
    if (tcp.transport !== 'tcp') return [];
    const ipc = records.find(({ id }) => id === tcp.id.replace('/tcp/', '/ipc/'));
    return ipc === undefined ? [] : [[tcp, ipc]];
  });
  return [
    heading(3, 'Same hardware, Unix domain socket'),
    ...tableBlock({
      columns: columns('Workload', 'Variant', '>TCP', '>IPC', '>IPC / TCP', '>95% interval', 'Verdict'),
      rows: pairs.map(([tcp, ipc]) => [
        tcp.workload,
        `${nameOf(tcp)} (${tcp.lane})`,
        formatRateOf(tcp),
        formatRateOf(ipc),
        ...comparison(ipc, tcp),
      ]),
    }),
  ];
}

/** The comparison of 4 MiB of `SO_RCVBUF` and `SO_SNDBUF` with the system's own, the guide's open question. */
function socketBuffers() {
  const settings = sweep.records.filter(({ workload }) => workload.includes('.socket.'));
  const pairs = settings.flatMap((large) => {
    if (!large.variant.endsWith('4 MiB')) return [];
    const isBase = ({ workload, side, variant }) =>
      workload === large.workload && side === large.side && variant.endsWith("the system's own");
    return [[large, settings.find(isBase)]];
  });
  return [
    heading(3, 'Are socket buffers of 4 MiB neutral on Linux?'),
    paragraph(
      `Measured by bench/lab/hyper-sweep.mjs with ${formatRows(settings[0].rows)} rows, on the client's end of the connection, ` +
        'against the buffers that the system gives. What is asked for is cut to net.core.rmem_max and wmem_max.',
    ),
    ...tableBlock({
      columns: columns('Sweep', 'Side', ">System's own", '>4 MiB', '>4 MiB / own', '>95% interval', 'Verdict'),
      rows: pairs.map(([large, own]) => [
        large.workload,
        large.side,
        formatRateOf(own),
        formatRateOf(large),
        ...comparison(large, own),
      ]),
    }),
  ];
}

function comparison(numerator, denominator) {
  const ratio = rateRatio(numerator, denominator);
  return [formatFactor(ratio.ratio), formatInterval(ratio), verdictOf(ratio)];
}
