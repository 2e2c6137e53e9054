#!/usr/bin/env node
/**
 * How much is to be sent at once? `node bench/lab/hyper-sweep.mjs [ROWS] [--out DIR]` (default 1,000,000 rows) sweeps, on the engine
 * `hyper`, from Rust and from Node:
 *
 * - in: the bytes of one COPY of an Arrow insert, from a batch of 1 Ki rows to 256 MiB;
 * - out: the rows of one batch that crosses, from 1 Ki to 1 Mi;
 * - the buffers of the sockets, from the system's own to 4 MiB, over TCP and the Unix domain socket.
 *
 * It prints the knee of each sweep: the smallest size that reaches 95% of the best rate.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { connect, defineWorkload, run } from '../../dist/index.js';
import { parseRows } from '../../dist/families/option-values.js';
import { ColumnSums } from '../../dist/families/measurements/checksum.js';
import { expectedOf } from '../../dist/families/measurements/closed-forms.js';
import { prepareLane } from '../../dist/families/measurements/lanes.js';
import { queryOf, workloadEntry } from '../../dist/families/measurements/matrix.js';
import { loadTables, runNative } from '../../dist/families/measurements/native-suite.js';
import { readBack } from '../../dist/families/measurements/read-back.js';
import { createTables } from '../../dist/families/measurements/tables.js';
import { hostLines } from '../../dist/report/host-block.js';
import { columns, heading, list, paragraph, renderMarkdown, tableBlock } from '../../dist/report/document.js';
import { formatRate, formatRows } from '../../dist/report/format.js';

const KIB = 1024;
const MIB = 1024 * KIB;
const KNEE = 0.95;
const FLUSH_BYTES = [24 * KIB, 96 * KIB, 384 * KIB, 1.5 * MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB];
const BATCH_ROWS = [1, 4, 16, 64, 256, 1024].map((factor) => factor * KIB);
const SOCKET_BUFFERS = [0, 256 * KIB, MIB, 4 * MIB];
const SOURCE = 'measurements';
const TARGET = 'measurements_insert';

const { values, positionals } = parseArgs({ allowPositionals: true, options: { out: { type: 'string' } } });
const rows = parseRows(positionals[0] ?? '1M');
const folder = mkdtempSync(join(tmpdir(), 'bb-sweep-'));
const out = values.out ?? join(folder, 'run');

/** @param {string} transport */
const uri = (transport, options = '') => `hyper:${folder}/sweep.hyper?transport=${transport}${options}`;

const keeper = await connect(uri('tcp'));
try {
  await loadTables(keeper, { table: SOURCE, rows, workers: 1 });
  const { records, context } = (await run({ families: sweeps(), directory: out, rows })).run;
  const document = renderMarkdown(report(records, context));
  writeFileSync(join(out, 'sweep.md'), document);
  process.stdout.write(document);
  if (records.some(({ outcome }) => outcome !== 'completed')) process.exitCode = 1;
} finally {
  await keeper.close();
  rmSync(folder, { recursive: true, force: true });
}

function sweeps() {
  return [
    sweep('insert.flush', FLUSH_BYTES, (bytes) => ({
      label: sizeOf(bytes),
      transport: 'tcp',
      options: `&copy-bytes=${bytes}`,
    })),
    sweep('scan.batch', BATCH_ROWS, (batchRows) => ({
      label: `${batchRows / KIB} Ki rows`,
      transport: 'tcp',
      batchRows,
    })),
    ...['tcp', 'ipc'].flatMap((transport) =>
      ['insert.socket', 'scan.socket'].map((name) =>
        sweep(`${name}.${transport}`, SOCKET_BUFFERS, (bytes) => ({
          label: bytes === 0 ? "the system's own" : sizeOf(bytes),
          transport,
          options: `&socket-buffer-bytes=${bytes}`,
        })),
      ),
    ),
  ];
}

/** A workload with a lane per size, each from Rust and from Node. */
function sweep(name, sizes, settingOf) {
  const isInsert = name.startsWith('insert');
  const lanes = sizes.flatMap((size) =>
    ['rust', 'napi'].map((side) => {
      const setting = settingOf(size);
      const variant = `${isInsert ? 'Arrow IPC in' : 'columns out'}, ${setting.label}`;
      return { lane: String(size), side, engine: 'hyper', variant, size, ...setting };
    }),
  );
  return defineWorkload({
    family: 'hyper-sweep',
    name,
    rows,
    bytesPerRow: 24,
    lanes,
    open: isInsert ? openInsert : openScan,
  });
}

async function openInsert(lane) {
  const connection = await connect(uri(lane.transport, lane.options));
  const spec = { workload: 'insert.bulk', lane: 'arrow-ipc', flavor: 'sync', table: TARGET, rows, workers: 1 };
  const task = { workload: 'insert.bulk', lane: 'arrow-ipc', table: TARGET, range: { start: 0, rows } };
  const fromNode = await prepareLane(connection, task);
  return {
    expected: expectedOf('insert.bulk', [{ start: 0, rows }]),
    sample: async (stopwatch, signal) => {
      if (lane.side === 'rust') return native(connection, spec, stopwatch);
      await createTables(connection, [TARGET]);
      try {
        await fromNode(stopwatch, signal);
        return await readBack(connection, [TARGET]);
      } finally {
        await connection.dropTable(TARGET);
      }
    },
    close: () => connection.close(),
  };
}

async function openScan(lane) {
  const connection = await connect(uri(lane.transport, lane.options));
  const { batchRows = 64 * KIB } = lane;
  const [workload, sql] = ['query.full_scan', queryOf('query.full_scan', SOURCE)];
  const spec = { workload, lane: 'columnar', flavor: 'async', table: SOURCE, rows, workers: 1, batchRows };
  const names = workloadEntry(workload).columns;
  return {
    expected: expectedOf(workload, [{ start: 0, rows }]),
    sample: async (stopwatch) => {
      if (lane.side === 'rust') return native(connection, spec, stopwatch);
      const sums = new ColumnSums(names);
      stopwatch.start();
      for await (const chunk of connection.executeQueryColumnar(sql, { batchRows })) {
        sums.addRows(chunk.rowCount);
        names.forEach((name, position) => sums.addColumn(position, chunk.column(name)));
        chunk.release();
      }
      stopwatch.stop();
      return sums.checksum;
    },
    close: () => connection.close(),
  };
}

async function native(connection, spec, stopwatch) {
  const { checksum, ...timing } = await runNative(connection, spec);
  stopwatch.add(timing);
  return checksum;
}

function report(records, context) {
  const workloads = [...new Set(records.map(({ workload }) => workload))];
  return [
    heading(1, 'How much to send at once'),
    paragraph(`\`node bench/lab/hyper-sweep.mjs ${rows}\`: ${formatRows(rows)} rows of measurements, medians.`),
    ...list(hostLines(context)),
    ...workloads.flatMap((workload) => {
      const own = records.filter((record) => record.workload === workload && record.outcome === 'completed');
      const labels = [...new Set(own.map(({ variant }) => variant))];
      const rate = (variant, side) =>
        own.find((record) => record.variant === variant && record.side === side)?.summary.rowsPerSecond ?? 0;
      const knees = ['rust', 'napi'].map((side) => {
        const best = Math.max(...labels.map((label) => rate(label, side)));
        return `${side}: ${labels.find((label) => rate(label, side) >= KNEE * best)}`;
      });
      return [
        heading(2, workload),
        ...tableBlock({
          columns: columns('Setting', '>Rust', '>Node'),
          rows: labels.map((label) => [label, formatRate(rate(label, 'rust')), formatRate(rate(label, 'napi'))]),
        }),
        paragraph(`Knee (95% of the best): ${knees.join('; ')}.`),
      ];
    }),
  ];
}

function sizeOf(bytes) {
  return bytes < MIB ? `${bytes / KIB} KiB` : `${bytes / MIB} MiB`;
}
