/**
 * The sweeps of `bench/lab/hyper-sweep.mjs`, one family each. They are a module of their own, since each process that
 * measures a cell imports them. Their cells are the cells of the `measurements` family, opened with other sizes.
 */
import { defineWorkload } from '../../dist/bench.js';
import { openNapiCell, queryTablesOf } from '../../dist/families/measurements/addon-cells.js';
import { openRustCell } from '../../dist/families/measurements/rust-cells.js';
import { connect } from '../../dist/index.js';

const KIB = 1024;
const MIB = 1024 * KIB;
const SIDES = { rust: { flavor: 'sync' }, napi: { flavor: 'async' } };
const INSERT = { workload: 'insert.bulk', lane: 'arrow-ipc', variant: 'Arrow IPC in' };
const SCAN = { workload: 'query.full_scan', lane: 'columnar', variant: 'columns out' };

/** The bytes of the four columns of a row. */
const ROW_BYTES = 24;

const flushes = [24 * KIB, 96 * KIB, 384 * KIB, 1.5 * MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB].map((bytes) => ({
  lane: String(bytes),
  label: sizeOf(bytes),
  uriOptions: `&copy-bytes=${bytes}`,
}));
const batches = [1, 4, 16, 64, 256, 1024].map((factor) => ({
  lane: String(factor * KIB),
  label: `${factor} Ki rows`,
  batchRows: factor * KIB,
}));
const buffers = [0, 256 * KIB, MIB, 4 * MIB].map((bytes) => ({
  lane: String(bytes),
  label: bytes === 0 ? "the system's own" : sizeOf(bytes),
  uriOptions: `&socket-buffer-bytes=${bytes}`,
}));

export const insertFlush = sweep('insert.flush', INSERT, 'tcp', flushes);
export const scanBatch = sweep('scan.batch', SCAN, 'tcp', batches);
export const insertSocketTcp = sweep('insert.socket.tcp', INSERT, 'tcp', buffers);
export const scanSocketTcp = sweep('scan.socket.tcp', SCAN, 'tcp', buffers);
export const insertSocketIpc = sweep('insert.socket.ipc', INSERT, 'ipc', buffers);
export const scanSocketIpc = sweep('scan.socket.ipc', SCAN, 'ipc', buffers);

/** A family with a lane per setting, each from Rust and from Node. */
function sweep(name, { workload, lane: way, variant }, transport, settings) {
  return defineWorkload({
    family: `hyper-sweep.${name}`,
    name,
    module: import.meta.url,
    rows: 1_000_000,
    bytesPerRow: ROW_BYTES,
    lanes: settings.flatMap(({ label, ...setting }) =>
      Object.entries(SIDES).map(([side, { flavor }]) => ({
        ...setting,
        side,
        flavor,
        engine: 'hyper',
        variant: `${variant}, ${label}`,
      })),
    ),
    open: async ({ side, flavor, uriOptions = '', batchRows }, { rows, engines }) => {
      const uri = `${engines.hyper}?transport=${transport}${uriOptions}`;
      const cell = { workload, lane: way, side, flavor, engine: 'hyper', rows };
      if (side === 'rust') return openRustCell({ uri, isShared: false, batchRows }, cell);
      const connection = await connect(uri);
      try {
        const engine = { connection, tables: queryTablesOf(connection, false), batchRows };
        const opened = await openNapiCell(engine, cell);
        const close = async () => {
          await opened.close();
          await connection.close();
        };
        return { ...opened, close };
      } catch (error) {
        await connection.close();
        throw error;
      }
    },
  });
}

function sizeOf(bytes) {
  return bytes < MIB ? `${bytes / KIB} KiB` : `${bytes / MIB} MiB`;
}
