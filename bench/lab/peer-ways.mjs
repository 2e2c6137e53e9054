/**
 * The tasks of bench/lab/peers.mjs and bench/lab/fair.mjs, and the documented ways of other clients from npm for them.
 * Cells are ways. Ways that no cell uses do the work of cells too: `OTHER_SETTINGS` change the plan of a cell, by a
 * setting that its client has, or by a client of this module. `OTHER_CELLS` open cells themselves.
 */
import { Agent, request } from 'node:http';
import { Writable } from 'node:stream';

import { BIGINT, DOUBLE, DuckDBDataChunk, DuckDBInstance, INTEGER } from '@duckdb/node-api';
import bindings from '@duckdb/node-bindings';
import { createClient } from '@redis/client';
import * as mariadb from 'mariadb';
import * as mysql2 from 'mysql2/promise';
import * as undici from 'undici';

import { apacheArrow } from '../../dist/clients/apache-arrow.js';
import { CHUNK_ROWS, DUCKDB_SETTINGS } from '../../dist/clients/duckdb-client.js';
import { columnsOf, DuckDbBindings, typesOf } from '../../dist/clients/duckdb-node-bindings.js';
import { flechette } from '../../dist/clients/flechette.js';
import { answerOf, connectionOptions } from '../../dist/clients/js-sql-client.js';
import { UndiciClient } from '../../dist/clients/undici.js';
import { expectedOf } from '../../dist/families/measurements/closed-forms.js';
import { columnTables } from '../../dist/families/measurements/column-table-cells.js';
import { createSql, duckDbPlace } from '../../dist/families/measurements/duckdb-cells.js';
import { checksumOfSums, sumsQuery } from '../../dist/families/measurements/read-back.js';
import { bigintRows, keptColumns, keptRows } from '../../dist/families/measurements/rows.js';
import { tablePlace } from '../../dist/families/measurements/table-cells.js';
import { loadFamilies } from '../../dist/families/registry.js';
import { verifyChecksum } from '../../dist/families/verify-checksum.js';
import { SLICE_MS } from './in-turn.mjs';
import { AT_ONCE } from './tables.mjs';

/** The callers of tasks that share a pool of connections. */
const POOL = 8;

const pooledSql = (open, method, rowsOf) => (url) => {
  const pool = open({ ...connectionOptions(url), connectionLimit: POOL });
  let ended;
  return {
    request: async ({ sql, parameters }) => answerOf(rowsOf(await pool[method](sql, parameters))),
    close: () => (ended ??= pool.end()),
  };
};
const post = (read) => (url, options) => {
  const answer = read(url, options);
  return { post: async (path, body) => ({ status: 200, text: await answer(path, body) }), close: async () => {} };
};
const undiciPool =
  (dispatches) =>
  (url, { headers }) =>
    new UndiciClient(url, { connections: POOL, pipelining: 1, headers, dispatches });
const fetched = (fetch) =>
  post(
    (url, { headers }) =>
      async (path, body) =>
        (await fetch(url + path, { method: 'POST', headers, body })).text(),
  );

/** The clients of this module, by the setting that names them. All requesters of a cell share one. */
const CLIENTS = {
  'multi().exec()': async (url) => {
    const client = await createClient({ url }).connect();
    const getMany = (keys) => keys.reduce((multi, key) => multi.get(key), client.multi()).exec();
    return { getMany, close: async () => client.isOpen && client.destroy() };
  },
  'mysql2 pool.execute': pooledSql(mysql2.createPool, 'execute', ([rows]) => rows),
  'mysql2 pool.query': pooledSql(mysql2.createPool, 'query', ([rows]) => rows),
  'mariadb pool.execute': pooledSql(mariadb.createPool, 'execute', (rows) => rows),
  'mariadb pool.query': pooledSql(mariadb.createPool, 'query', (rows) => rows),
  'one pool of 8 connections, request': undiciPool(false),
  'one pool of 8 connections, dispatch': undiciPool(true),
  'one pool of 8 connections, stream': post((url, { headers }) => {
    const pool = new undici.Pool(url, { connections: POOL });
    return async (path, body) => {
      const pieces = [];
      const write = (piece, _, done) => done(void pieces.push(piece));
      await pool.stream({ method: 'POST', path, headers, body }, () => new Writable({ write }));
      return Buffer.concat(pieces).toString();
    };
  }),
  'undici fetch': fetched(undici.fetch),
  fetch: fetched(fetch),
  'node:http': post((url, { headers }) => {
    const agent = new Agent({ keepAlive: true, maxSockets: POOL });
    return (path, body) =>
      new Promise((resolve, reject) => {
        const take = (answer) =>
          answer
            .setEncoding('utf8')
            .toArray()
            .then((pieces) => resolve(pieces.join('')), reject);
        request(url + path, { method: 'POST', agent, headers }, take)
          .on('error', reject)
          .end(body);
      });
  }),
};
const connected = new Map();

/** The client of the families, which take it for one of the user's. */
export default {
  connect(url, options) {
    const name = options.setting ?? options;
    if (!connected.has(name)) connected.set(name, CLIENTS[name](url, options));
    return connected.get(name);
  },
};

const own = (client, ...names) =>
  names.map((setting) => [client, setting, { clientModule: import.meta.filename, setting }]);
const shared = (...clients) => clients.map((client) => [client, 'one connection', { setting: 'shared' }]);

/** For each task the client, the name of the way, and what of the plan of a cell of the client it changes. */
export const OTHER_SETTINGS = {
  'redis-get-64': [...shared('ioredis'), ...own('node-redis', 'multi().exec()')],
  'mysql-select': [
    ['mysql2', 'query', { setting: 'text' }],
    ...shared('mysql2'),
    ...own('mysql2', 'mysql2 pool.execute', 'mysql2 pool.query'),
    ['mariadb', 'query', { setting: 'text' }],
    ...own('mariadb', 'mariadb pool.execute', 'mariadb pool.query'),
  ],
  'http-read': [
    ...own(
      'undici',
      ...['request', 'dispatch', 'stream'].map((name) => `one pool of 8 connections, ${name}`),
      'undici fetch',
    ),
    ...own('Node', 'fetch', 'node:http'),
  ],
};

/** A database with the ways of both packages of DuckDB that no cell uses. `chunks` reads chunks by `run` or `stream`. */
class OtherDuckDb {
  versions = {};

  static async open() {
    const instance = await DuckDBInstance.create(':memory:', DUCKDB_SETTINGS);
    return Object.assign(new OtherDuckDb(), { connection: await instance.connect() });
  }

  run(sql) {
    return this.connection.run(sql);
  }

  async objects(sql) {
    return (await this.run(sql)).getRowObjects();
  }

  async writeRows(table) {
    const appender = bindings.appender_create(this.connection.connection, null, table);
    const add = (rows) => {
      for (const row of rows) {
        bindings.append_int32(appender, row[0]);
        bindings.append_int32(appender, row[1]);
        bindings.append_double(appender, row[2]);
        bindings.append_int64(appender, row[3]);
        bindings.appender_end_row(appender);
      }
    };
    return { add, finish: () => bindings.appender_close_sync(appender) };
  }

  async writeColumns(table) {
    return this.writeChunks(table, ({ id }) => id.length, setItems);
  }

  async writeChunks(table, countOf, fill) {
    const appender = await this.connection.createAppender(table);
    const chunk = DuckDBDataChunk.create([INTEGER, INTEGER, DOUBLE, BIGINT]);
    const add = (batch) => {
      for (let start = 0; start < countOf(batch); start += CHUNK_ROWS) {
        fill(chunk, batch, start, Math.min(start + CHUNK_ROWS, countOf(batch)));
        appender.appendDataChunk(chunk);
      }
    };
    return { add, finish: () => appender.closeSync() };
  }

  async *streamed(sql) {
    const statement = await bindings.prepare(this.connection.connection, sql);
    const result = await bindings.execute_prepared_streaming(statement);
    const types = typesOf(result);
    let next = bindings.fetch_chunk(result);
    for (let chunk = await next; chunk && bindings.data_chunk_get_size(chunk) > 0; chunk = await next) {
      next = bindings.fetch_chunk(result);
      yield columnsOf(chunk, types);
    }
  }

  async *chunks(sql, method, get) {
    const result = await this.connection[method](sql);
    for (let chunk = await result.fetchChunk(); chunk?.rowCount > 0; chunk = await result.fetchChunk())
      yield get(chunk);
  }

  close() {}
}

function setItems(chunk, { id, sensor_id, value, timestamp }, start, end) {
  chunk.rowCount = end - start;
  for (const [place, column] of [id, sensor_id, value, timestamp].entries()) {
    const vector = chunk.getColumnVector(place);
    for (let at = start; at < end; at += 1) vector.setItem(at - start, column[at]);
    vector.flush();
  }
}
const setRows = (chunk, rows, start, end) => chunk.setRows(rows.slice(start, end));
const getColumns = (chunk) => chunk.getColumns();
const getItems = (chunk) =>
  Array.from({ length: chunk.columnCount }, (_, column) => {
    const vector = chunk.getColumnVector(column);
    return Array.from({ length: chunk.rowCount }, (_, row) => vector.getItem(row));
  });

async function objectsByLoop(chunks) {
  const objects = [];
  for await (const [ids, sensorIds, values, timestamps] of chunks) {
    for (let at = 0; at < ids.length; at += 1)
      objects.push({ id: ids[at], sensor_id: sensorIds[at], value: values[at], timestamp: timestamps[at] });
  }
  return objects;
}
async function yieldedObjects({ connection }, sql) {
  const objects = [];
  for await (const some of (await connection.stream(sql)).yieldRowObjects()) objects.push(...some);
  return objects;
}
async function objectsOfRows(client, sql) {
  const rows = await (await client.run(sql)).getRows();
  return rows.map(([id, sensor_id, value, timestamp]) => ({ id, sensor_id, value, timestamp }));
}

/** A way that replaces methods of a client of DuckDB. */
const duckDb = (name, methodsOf = () => ({}), Client = OtherDuckDb) => [
  'DuckDB',
  name,
  async (cell) => {
    const client = await Client.open();
    return duckDbPlace(Object.assign(client, methodsOf(client)), bigintRows).openCell(cell);
  },
];
const chunked = (name, method, get) =>
  duckDb(name, (client) => ({ columns: (sql) => client.chunks(sql, method, get) }));
const objects = (name, read, Client) => duckDb(name, (client) => ({ objects: (sql) => read(client, sql) }), Client);

/** Inserts of all rows at once, without a transaction and within one. */
const atOnce = (method, kept) =>
  ['bindings: all rows in one batch', AT_ONCE].map((name) => [
    'DuckDB',
    name,
    async ({ rows }) => {
      const [client, all] = [await DuckDbBindings.open(), { start: 0, rows }];
      const [begin, commit] = name === AT_ONCE ? ['BEGIN', 'COMMIT'] : [];
      const sample = async (clock) => {
        await client.run(createSql('added'));
        const batch = kept(rows).make(all);
        clock.start();
        if (begin) await client.run(begin);
        const writer = await client[method]('added');
        writer.add(batch);
        writer.finish();
        if (commit) await client.run(commit);
        clock.stop();
        return checksumOfSums((await client.objects(sumsQuery('added')))[0]);
      };
      return { expected: expectedOf('insert.bulk', [all]), sample };
    },
  ]);

const columnWays = [
  duckDb('bindings: streamed', (client) => ({ columns: (sql) => client.streamed(sql) })),
  ...['run', 'stream'].flatMap((method) => [
    chunked(`api: ${method}, chunk.getColumns`, method, getColumns),
    chunked(`api: ${method}, vector.getItem`, method, getItems),
  ]),
];

/** A way that replaces how a library of tables reads rows or columns. */
const tableWay = (client, name, methods) => [
  client.name,
  name,
  (cell) => tablePlace({}, columnTables({ ...client, ...methods })).openCell(cell),
];
const byIndex = (method) => ({
  toObjects: (table) => Array.from({ length: table.numRows }, (_, row) => table[method](row)),
});
const toArrays = {
  toBatches: (table) => {
    const [id, sensor_id, value, timestamp] = ['id', 'sensor_id', 'value', 'timestamp'].map((name) =>
      table.getChild(name).toArray(),
    );
    return [{ id, sensor_id, value, timestamp }];
  },
};

/** For each task the client, the name of the way, and the function that opens a cell like a given one. */
export const OTHER_CELLS = {
  'duckdb-rows-in': [
    ...atOnce('writeRows', keptRows),
    duckDb('bindings: append_int32, ..., appender_end_row'),
    duckDb('api: chunk.setRows', (client) => ({
      writeRows: (table) => client.writeChunks(table, (rows) => rows.length, setRows),
    })),
  ],
  'duckdb-columns-in': [...atOnce('writeColumns', keptColumns), duckDb('api: vector.setItem')],
  'duckdb-objects-out': [
    objects('bindings: streamed, a loop', (client, sql) => objectsByLoop(client.streamed(sql))),
    objects('bindings: materialized, a loop', (client, sql) => objectsByLoop(client.columns(sql)), DuckDbBindings),
    objects('api: run, getRowObjectsJS', async (client, sql) => (await client.run(sql)).getRowObjectsJS()),
    objects('api: runAndReadAll, getRowObjects', async ({ connection }, sql) =>
      (await connection.runAndReadAll(sql)).getRowObjects(),
    ),
    objects('api: stream, yieldRowObjects', yieldedObjects),
    objects('api: run, getRows', objectsOfRows),
  ],
  'duckdb-columns-out': columnWays,
  'duckdb-texts-out': columnWays,
  'arrow-objects': [
    tableWay(apacheArrow, 'table.toArray', { toObjects: (table) => table.toArray() }),
    tableWay(apacheArrow, 'table.get', byIndex('get')),
    tableWay(flechette, '[...table]', { toObjects: (table) => [...table] }),
    tableWay(flechette, 'table.at', byIndex('at')),
  ],
  'arrow-columns': [tableWay(apacheArrow, 'vector.toArray', toArrays), tableWay(flechette, 'column.toArray', toArrays)],
};

/** The rows of a table, so few that a slice has several calls of most ways, and the requests of a sample. */
const [ROWS, REQUESTS] = [500_000, 1000];
const OPTIONS = { rows: ROWS, workers: 1, engines: {}, peers: true, scale: 1e-3 };
/** The name of our side among clients. */
export const OURS = 'boundary-bench';
const measurements = (workload, lane, ...engines) => ({ family: 'measurements', engines, workload, lane });
export const requests = (family, engine, workload, lane, connections, ...batches) => {
  return { family, engines: [engine], workload, lane, connections: [connections], batches };
};

/** The tasks: the cells that do each. The first word names a group of tasks. */
export const TASKS = {
  'duckdb-rows-in': measurements('insert.bulk', 'row', 'embedded'),
  'duckdb-columns-in': measurements('insert.bulk', 'columns', 'embedded'),
  'duckdb-objects-out': measurements('query.full_scan', 'objects', 'embedded'),
  'duckdb-columns-out': measurements('query.full_scan', 'columnar', 'embedded'),
  'duckdb-texts-out': measurements('query.texts', 'columnar', 'embedded'),
  'redis-get': requests('kv', 'redis', 'get', 'call', 32, 1),
  'redis-get-64': requests('kv', 'redis', 'get', 'batch', 32, 64),
  'redis-mget-64': requests('kv', 'redis', 'mget', 'batch', 32, 64),
  'mysql-select': requests('sql', 'mysql', 'select_pk', 'call', 8, 1),
  'http-read': requests('rest', 'rest', 'pkread', 'call', 8, 1),
  'http-pipelining': requests('rest', 'rest', 'pkread.pipelined', 'batch', 1, 1, 8, 32),
  'grpc-get': requests('hybrid', 'shards', 'point_lookup', 'call', 8, 1),
  'arrow-objects': measurements('query.full_scan', 'objects', 'apache-arrow', 'flechette'),
  'arrow-columns': measurements('query.full_scan', 'columnar', 'apache-arrow', 'flechette'),
};

/**
 * Opens a task: the ways of other clients for it, each a cell or another way, and with `sides` our own cells.
 * `families` are the families that are open. There are no ways if the matrix has no such cells.
 */
export async function openTask(families, { task, family: name, sides = ['js'], ...meant }) {
  const family = (await loadFamilies()).find((one) => one.name === name);
  const cells = plannedCells(family, sides, meant);
  if (cells.length === 0) return { ways: [] };
  if (!families.has(name)) families.set(name, await family.open({ ...OPTIONS, engines: meant.uris ?? {} }, cells));
  const openCell = (planned) => families.get(name).openCell(planned);
  const ofCells = cells.map((planned) => {
    const { variant, batch } = planned.cell;
    const way = meant.batches?.length > 1 ? `${variant}, ${batch} in flight` : variant;
    return { peer: peerOf(planned), way, isCell: true, cell: planned.cell, open: () => openCell(planned) };
  });
  const of = (peer) => cells.find(({ client }) => client === peer) ?? cells.find(({ cell }) => cell.side === 'js');
  const others = [
    ...(OTHER_SETTINGS[task] ?? []).map(([peer, way, change]) => [
      peer,
      way,
      () => openCell({ ...of(peer), ...change }),
    ]),
    ...(OTHER_CELLS[task] ?? []).map(([peer, way, open]) => [peer, way, () => open(of(peer).cell)]),
  ].map(([peer, way, open]) => ({ peer, way, isCell: false, cell: of(peer).cell, open }));
  return { ways: [...ofCells, ...others], versions: () => families.get(name).versions() };
}

/** The cells of these sides that do a task by one thread and one call of JavaScript. */
function plannedCells(family, sides, { engines, workload, lane, batches = [1], connections, uris = {} }) {
  const options = { ...OPTIONS, engines: uris, connections };
  const isMeant = ({ cell, skip }) =>
    sides.includes(cell.side) && cell.driver === undefined && skip === undefined && engines.includes(cell.engine);
  return batches
    .flatMap((batch) => family.plan({ ...options, batch: [batch], operations: REQUESTS * batch }))
    .filter((planned) => isMeant(planned) && planned.cell.workload === workload && planned.cell.lane === lane);
}

/** The name of the client of a cell: the two packages of DuckDB are one, and a cell without a client is ours. */
function peerOf({ client = OURS }) {
  return client.startsWith('duckdb-') ? 'DuckDB' : client;
}

/** Returns a function that takes samples of an open cell until their time is a slice, and returns items per second. */
export function sampler({ expected, sample }, items) {
  const { signal } = new AbortController();
  return async () => {
    let [milliseconds, started] = [0, 0];
    const clock = {
      start: () => (started = performance.now()),
      stop: () => (milliseconds += performance.now() - started),
      add: ({ seconds }) => (milliseconds += 1000 * seconds),
      apart: (_, execute) => execute(),
      addRequests() {},
    };
    for (let samples = 1; ; samples += 1) {
      verifyChecksum(await sample(clock, signal), expected);
      if (milliseconds >= SLICE_MS) return (1000 * samples * items) / milliseconds;
    }
  };
}
