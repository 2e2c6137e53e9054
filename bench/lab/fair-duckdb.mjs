/** Lanes of bench/lab/fair.mjs: plain loops over DuckDB in the process, by our library and by `@duckdb/node-bindings`. */
import { DuckDbBindings } from '../../dist/clients/duckdb-node-bindings.js';
import { flechette, library } from '../../dist/clients/flechette.js';
import { sumFloat64, sumInt32, sumInt64, sumTexts } from '../../dist/families/measurements/checksum.js';
import { expectedOf } from '../../dist/families/measurements/closed-forms.js';
import { createSql } from '../../dist/families/measurements/duckdb-cells.js';
import { defaultUri } from '../../dist/families/measurements/engine-uris.js';
import { encodeStream } from '../../dist/families/measurements/input-stream.js';
import { measurementsTable } from '../../dist/families/measurements/lane.js';
import { matrix, queryOf } from '../../dist/families/measurements/matrix.js';
import { keptColumns, keptRows } from '../../dist/families/measurements/rows.js';
import { ArrowInserter, connect, RowInserter } from '../../dist/index.js';
import { SLICE_MS } from './in-turn.mjs';
import { OURS } from './peer-ways.mjs';

const { sensors, valueStep, timestampStart, timestampStep } = matrix;
const MEASURED = `SELECT i::INT AS id, (i % ${sensors})::INT AS sensor_id, i * ${valueStep}::DOUBLE AS value,
  ${timestampStart} + i * ${timestampStep} AS timestamp FROM`;
const CHECK = `SELECT count(*)::INT AS count, sum(id + sensor_id + value + timestamp - ${timestampStart})::DOUBLE AS sum FROM added`;
const SCAN = queryOf('query.full_scan', 'measured');
const TEXTS = queryOf('query.texts', 'measured');
/** `count` if the sum of all values is right, with times from the first one on. Each batch has `rows` rows. */
const right = (rows, count, sum) => {
  const mean = ((1 + valueStep + timestampStep) * (rows - 1) + sensors - 1) / 2;
  return Math.abs(sum / count - mean) < 1e-9 * mean ? count : 0;
};

/** The input of a lane, made once: a process has one lane, and so one number of rows. */
const lazily = (make) => {
  let made;
  return (count) => (made ??= make(count));
};
const columnsIn = lazily((count) => keptColumns(count).make({ start: 0, rows: count }));
const rowsIn = lazily((count) => keptRows(count).make({ start: 0, rows: count }));
const streamIn = lazily((count) => encodeStream(columnsIn(count)));

/** The work of the lanes by our library, with the methods that `Theirs` has. */
class Ours {
  static async open() {
    return Object.assign(new Ours(), { connection: await connect(defaultUri('embedded')) });
  }

  run(sql) {
    return this.connection.execute(sql);
  }

  objects(sql) {
    return this.connection.executeQuery(sql);
  }

  async *columns(sql, names, isText) {
    for await (const chunk of this.connection.executeQueryColumnar(sql)) {
      yield names.map((name) => (isText ? chunk.values(name) : chunk.column(name)));
      chunk.release();
    }
  }

  arrow(sql) {
    return this.connection.executeQueryToArrow(sql);
  }

  async writeRows(input) {
    const inserter = new RowInserter(this.connection, measurementsTable('added'));
    for (let at = 0; at < input.length; await inserter.drain()) at = addUntilFull(inserter, input, at);
    await inserter.execute();
  }

  async writeColumns(input) {
    const inserter = new RowInserter(this.connection, measurementsTable('added'));
    inserter.addColumns(input);
    await inserter.execute();
  }

  async writeArrow(bytes) {
    const inserter = new ArrowInserter(this.connection, measurementsTable('added'));
    inserter.insert(bytes);
    await inserter.execute();
  }
}

/** Adds rows until the inserter asks to wait. Returns the place of the next row. */
function addUntilFull(inserter, input, from) {
  let at = from;
  while (at < input.length && inserter.addRow(input[at])) at += 1;
  return at + 1;
}

/** The same by the bindings. */
class Theirs {
  static async open() {
    return Object.assign(new Theirs(), { client: await DuckDbBindings.open() });
  }

  run(sql) {
    return this.client.run(sql);
  }

  objects(sql) {
    return this.client.objects(sql);
  }

  columns(sql) {
    return this.client.columns(sql);
  }

  async arrow(sql) {
    const batches = [];
    for await (const [id, sensor_id, value, timestamp] of this.columns(sql))
      batches.push({ id, sensor_id, value, timestamp });
    return library.tableToIPC(flechette.fromBatches(batches), { format: 'stream' });
  }

  async writeRows(...batches) {
    this.#write(await this.client.writeRows('added'), batches);
  }

  async writeColumns(...batches) {
    this.#write(await this.client.writeColumns('added'), batches);
  }

  writeArrow(bytes) {
    return this.writeColumns(...flechette.toBatches(library.tableFromIPC(bytes, { useBigInt: true })));
  }

  #write(writer, batches) {
    for (const batch of batches) writer.add(batch);
    writer.finish();
  }
}

const readColumns = async (client, rows) => {
  let sum = 0;
  for await (const [id, sensorId, value, time] of client.columns(SCAN, ['id', 'sensor_id', 'value', 'timestamp'])) {
    const times = Number(sumInt64(time) - BigInt(timestampStart) * BigInt(time.length));
    sum += sumInt32(id) + sumInt32(sensorId) + sumFloat64(value) + times;
  }
  return right(rows, rows, sum);
};
const readObjects = async (client, rows) => {
  let sum = 0;
  for (const row of await client.objects(SCAN))
    sum += row.id + row.sensor_id + row.value + Number(row.timestamp) - timestampStart;
  return right(rows, rows, sum);
};
const readTexts = async (client, rows) => {
  let [sensors, measurements] = [0, 0];
  for await (const [sensor, measurement] of client.columns(TEXTS, ['sensor', 'measurement'], true)) {
    sensors += sumTexts(sensor);
    measurements += sumTexts(measurement);
  }
  const { sums } = expectedOf('query.texts', [{ start: 0, rows }]);
  return `${sensors}` === sums.sensor && `${measurements}` === sums.measurement ? rows : 0;
};

const MILLION = 1_000_000;

/**
 * The lanes: the work on a client, the workload, the lanes of our cell and of the bindings', and the number of rows. It
 * is the number of the cells where it changes the ratio.
 */
export const DUCKDB_LANES = {
  'insert-columns': [(client, rows) => client.writeColumns(columnsIn(rows)), 'insert.bulk', 'columns', 'columns'],
  'insert-rows': [(client, rows) => client.writeRows(rowsIn(rows)), 'insert.bulk', 'staged-row', 'row'],
  'insert-arrow': [(client, rows) => client.writeArrow(streamIn(rows)), 'insert.bulk', 'arrow-ipc'],
  'scan-columns': [readColumns, 'query.full_scan', 'columnar', 'columnar', 10 * MILLION],
  'scan-objects': [readObjects, 'query.full_scan', 'objects', 'objects'],
  'scan-arrow': [
    async (client) => library.tableFromIPC(await client.arrow(SCAN)).numRows,
    'query.full_scan',
    'arrow-ipc',
  ],
  'texts-columns': [readTexts, 'query.texts', 'columnar', 'columnar'],
};

/** The ways of a lane. `open` returns a function that takes a slice. */
export function duckDbWays(lane) {
  const [work, workload, ourLane, theirLane, rows = MILLION] = DUCKDB_LANES[lane];
  const cell = (name, client) => name && `measurements/${workload}/${name}/${client}/async/w1`;
  const way = (peer, name, id, client) => {
    return { peer, way: name, id, open: async () => slicer(workload, await client(), work, rows) };
  };
  return [
    way(OURS, ourLane, cell(ourLane, 'napi/embedded'), () => Ours.open()),
    way('DuckDB', 'bindings', cell(theirLane, 'js/embedded/duckdb-node-bindings'), () => Theirs.open()),
  ];
}

async function slicer(workload, client, work, rows) {
  const isInsert = workload === 'insert.bulk';
  await client.run(`CREATE TABLE measured AS ${MEASURED} range(${rows}) numbers(i)`);
  return async () => {
    if (isInsert) await client.run(createSql('added'));
    let [found, expected] = [0, 0];
    const start = performance.now();
    for (; performance.now() - start < SLICE_MS; expected += rows) found += (await work(client, rows)) ?? 0;
    const milliseconds = performance.now() - start;
    if (isInsert) {
      const [{ count, sum }] = await client.objects(CHECK);
      found = right(rows, count, sum);
    }
    if (found !== expected) throw new Error(`${found} of ${expected} rows are right`);
    return (1000 * found) / milliseconds;
  };
}
