/**
 * The lanes of bench/lab/lanes.mjs, and the process that measures one of them: it imports the library of a checkout,
 * opens the lane, and takes a sample each time it is told to.
 */

/** The four processes of a round warm up at the same time. */
const WARM_UP_MS = 500;

/** The rows of a piece of input, the keys of a server, the keys of a batch, the points of a body, and the rows of shards. */
const [PIECE, KEYS, BATCH, POINTS] = [5000, 1024, 64, 1000];
export const SHARD_ROWS = 20_000;
/** The rows of an engine: fewer with a server, which takes longer for each. */
const rowsIn = (uri, rows) => (/^(memory|embedded):/.test(uri) ? rows : rows / 20);
const NAME = 'a name';
/** The sum over rows of three numbers, each the index of its row, and of the length of a name. */
const sumOfRows = (rows) => (3 * rows * (rows - 1)) / 2 + NAME.length * rows;
const VALUE_BYTES = 16;
const valueOf = (index) => String(index).padStart(VALUE_BYTES, '0');

const indices = (count) => Array.from({ length: count }, (_, index) => index);
const batchAt = (index) => indices(BATCH).map((offset) => (index * BATCH + offset) % KEYS);

function total(values) {
  let sum = 0;
  for (let index = 0; index < values.length; index += 1) sum += values[index];
  return sum;
}

/** The sum of 64-bit integers below 2^31, by their halves: making a bigint of each would take most of the time. */
const totalOfHalves = ({ buffer, byteOffset, length }) => total(new Int32Array(buffer, byteOffset, 2 * length));

/**
 * Work in units of one call of each of some callers, which make one call after the other. `call` gets an index below
 * KEYS, and gives a sum that must be `each`, or a promise of it.
 */
const calls = (callers, each, call) => ({
  each: callers * each,
  async work(units) {
    const sums = indices(callers).map(async (caller) => {
      let sum = 0;
      for (let index = caller; index < units * callers; index += callers) {
        const part = call(index % KEYS);
        sum += typeof part === 'number' ? part : await part;
      }
      return sum;
    });
    return total(await Promise.all(sums));
  },
});

async function openTable(lib, uri, rows) {
  const connection = await lib.connect(uri);
  const { int, double, bigInt, text } = lib.SqlType;
  const types = Object.entries({ id: int(), value: double(), time: bigInt(), name: text() });
  const definition = types.map(([name, type]) => ({ name, type, nullable: false }));
  const table = new lib.TableDefinition(`lanes_${process.pid}`, definition);
  const offsets = Int32Array.from(indices(rows + 1), (row) => row * NAME.length);
  const name = { offsets, values: Buffer.from(NAME.repeat(rows)) };
  const [id, value] = [Int32Array.from(indices(rows)), Float64Array.from(indices(rows))];
  const columns = { id, value, time: BigInt64Array.from(id, BigInt), name };
  const create = () => connection.createTable(table, { mode: 'replace' });
  const fill = async () => {
    // Sail takes no rows.
    const made = `CAST(id AS INT) AS id, CAST(id AS DOUBLE) AS value, id AS time, '${NAME}' AS name FROM range(${rows})`;
    if (uri.startsWith('sail')) return connection.execute(`CREATE TABLE ${table.name} AS SELECT ${made}`);
    await create();
    const inserter = new lib.RowInserter(connection, table);
    inserter.addColumns(columns);
    return inserter.execute();
  };
  const close = () => connection.dropTable(table.name).then(() => connection.close());
  return { connection, table, columns, create, fill, close, sql: `SELECT id, value, time, name FROM ${table.name}` };
}

/** A lane in: `add` gives one piece of input, which `inputOf` makes, to an inserter of the class `Inserter`. */
const into = (Inserter, add, inputOf) => async (lib, uri) => {
  const rows = rowsIn(uri, PIECE);
  const opened = await openTable(lib, uri, rows);
  const input = await inputOf(opened);
  const work = async (units) => {
    const inserter = new lib[Inserter](opened.connection, opened.table);
    for (let unit = 0; unit < units; unit += 1) if (!add(inserter, input)) await inserter.drain();
    return inserter.execute();
  };
  return { before: opened.create, work, each: rows, close: opened.close };
};

/** A lane out: `read` reads all rows of a table, `most` at most, and returns their sum. */
const outOf = (most, read) => async (lib, uri) => {
  const rows = rowsIn(uri, most);
  const { connection, sql, fill, close } = await openTable(lib, uri, rows);
  await fill();
  return { ...calls(1, sumOfRows(rows), () => read(connection, sql, rows)), close };
};

/** The sum over rows: objects, or the one object of a cursor. A process has rows of one kind. */
function sumOf(rows) {
  let sum = 0;
  for (const row of rows) sum += row.id + row.value + Number(row.time) + row.name.length;
  return sum;
}

const streamed = (pieces) => async (connection, sql) => {
  let sum = 0;
  for await (const rows of connection.executeQueryStream(sql)[pieces]()) sum += sumOf(rows);
  return sum;
};

async function columnar(connection, sql) {
  let sum = 0;
  for await (const chunk of connection.executeQueryColumnar(sql)) {
    const offsets = chunk.offsets('name');
    sum += total(chunk.column('id')) + total(chunk.column('value')) + totalOfHalves(chunk.column('time'));
    sum += offsets[chunk.rowCount] - offsets[0];
    chunk.release();
  }
  return sum;
}

/** The bytes are not decoded. They must be as many as the values need, and little more. */
async function arrow(connection, sql, rows) {
  const { length } = await connection.executeQueryToArrow(sql);
  const needed = rows * (4 + 8 + 8 + 4 + NAME.length);
  return length >= needed && length < 1.5 * needed ? sumOfRows(rows) : length;
}

const addRows = (inserter, rows) => rows.reduce((_, row) => inserter.addRow(row), true);
const addColumns = (inserter, columns) => inserter.addColumns(columns);
const rowsOf = ({ columns: { id } }) => Array.from(id, (row) => [row, row, row, NAME]);
const arrowOf = ({ connection, sql, fill }) => fill().then(() => connection.executeQueryToArrow(sql));

const ENGINE_LANES = {
  'rows-in': into('RowInserter', addRows, rowsOf),
  'columns-in': into('RowInserter', addColumns, ({ columns }) => columns),
  'arrow-in': into('ArrowInserter', (inserter, bytes) => inserter.insert(bytes), arrowOf),
  'objects-out': outOf(10_000, async (connection, sql) => sumOf(await connection.executeQuery(sql))),
  'chunks-out': outOf(10_000, streamed('chunks')),
  'cursor-out': outOf(20_000, streamed('cursor')),
  'columns-out': outOf(50_000, columnar),
  'arrow-out': outOf(50_000, arrow),
};

const engine = (lib, uri, name) => ENGINE_LANES[name](lib, uri);

async function kv(lib, url, name) {
  const client = await lib.KvClient.connect(url);
  const keys = indices(KEYS).map((index) => `lanes:${process.pid}:${index}`);
  await client.mset(keys.map((key, index) => [key, valueOf(index)]));
  const get = async (index) => (await client.getText(keys[index])).length;
  const mget = async (index) => {
    const values = await client.mget(batchAt(index).map((key) => keys[key]));
    return total(indices(BATCH).map((place) => values.text(place).length));
  };
  const works = {
    get: calls(1, VALUE_BYTES, get),
    'get-32-callers': calls(32, VALUE_BYTES, get),
    'mget-64': calls(1, BATCH * VALUE_BYTES, mget),
  };
  return { ...works[name], close: () => client.close() };
}

async function sql(lib, url, name) {
  const client = await lib.SqlClient.connect(url, { connections: 16 });
  const table = `lanes_${process.pid}`;
  // In the memory of the server, so that no sample waits for a disk.
  await client.query(`CREATE TABLE ${table} (id INT NOT NULL PRIMARY KEY, name VARCHAR(16) NOT NULL) ENGINE=MEMORY`);
  const rowsAt = (at) => indices(KEYS).map((row) => [at * KEYS + row, valueOf(row)]);
  const insert = (at) => client.insertRows(table, ['id', 'name'], rowsAt(at));
  await insert(0);
  const query = `SELECT id, name FROM ${table} WHERE id = ?`;
  const lengthOf = (result) => total(result.rows().map((row) => row.name.length));
  const select = async (id) => lengthOf(await client.execute(query, [id]));
  const parametersAt = (at) => batchAt(at).map((id) => [id]);
  const many = async (at) => lengthOf(await client.queryMany(query, parametersAt(at)));
  const works = {
    select: calls(1, VALUE_BYTES, select),
    'select-many-64': calls(1, BATCH * VALUE_BYTES, many),
    'insert-rows': { ...calls(1, KEYS, insert), before: () => client.query(`TRUNCATE TABLE ${table}`) },
  };
  return { ...works[name], close: () => client.query(`DROP TABLE ${table}`).then(() => client.close()) };
}

async function rest(lib, { url, path, bodies, bytes }, name) {
  const headers = { 'content-type': 'application/json' };
  const client = await lib.HttpClient.connect(url, { connections: 16, headers });
  const requests = bodies.map((body) => ({ path, body }));
  const sizeOf = ({ status, body }) => (status === 200 ? body.length : 0);
  const read = async (index) => sizeOf(await client.request(requests[index % BATCH]));
  const many = async () => {
    const responses = await client.requestMany(requests);
    return total(indices(BATCH).map((index) => sizeOf(responses.response(index))));
  };
  const works = {
    read: calls(1, bytes, read),
    'read-many-64': calls(1, BATCH * bytes, many),
  };
  return { ...works[name], close: () => client.close() };
}

function codec(lib, _, name) {
  const series = { measurement: 'lanes', tags: { host: 'a', region: 'b' }, field: 'v' };
  const values = Float64Array.from(indices(POINTS), (point) => point / 4);
  const times = BigInt64Array.from(indices(POINTS), (point) => 1_700_000_000_000_000_000n + BigInt(point));
  const lines = indices(POINTS).map((point) => `lanes,host=a,region=b v=${values[point]} ${times[point]}\n`);
  const text = Buffer.from(lines.join(''));
  const packed = lib.encodeColumns(series, values, times);
  const memory = new Uint8Array(2 * text.length);
  const [lineEncoder, columnsEncoder] = [new lib.LineEncoder(series), new lib.ColumnsEncoder(series)];
  const [lineParser, columnsDecoder] = [new lib.LineParser(), new lib.ColumnsDecoder()];
  const works = {
    'lines-decode': calls(1, total(values), () => total(lineParser.parse(text).tables[0].fields.v)),
    'lines-encode': calls(1, text.length, () => lineEncoder.encodeInto(memory, values, times)),
    'columns-encode': calls(1, packed.length, () => columnsEncoder.encodeInto(memory, values, times)),
    'columns-decode': calls(1, values[POINTS - 1], () => columnsDecoder.decode(packed).values[POINTS - 1]),
  };
  return works[name];
}

async function shards(lib, addresses, name) {
  const isHere = typeof addresses === 'string';
  const client = await lib.ShardClient.connect(isHere ? [1, 2, 3].map(() => lib.ShardStore.inMemory()) : addresses);
  if (isHere) await client.populate(SHARD_ROWS);
  const isOf = (key) => (row) => Number(row.key === BigInt(key));
  const many = async (index) => {
    const rows = await client.multiGet(Int32Array.from(indices(4 * BATCH), (offset) => index * 16 + offset));
    const { found } = rows;
    rows.release();
    return found;
  };
  const scan = async () => {
    let sum = 0;
    for await (const chunk of client.scan()) {
      sum += totalOfHalves(chunk.column('key'));
      chunk.release();
    }
    return sum;
  };
  const works = {
    get: isHere
      ? calls(1, 1, (key) => isOf(key)(client.tryGet(key)))
      : calls(1, 1, (key) => client.get(key).then(isOf(key))),
    'multi-get': calls(1, 4 * BATCH, many),
    scan: calls(1, (SHARD_ROWS * (SHARD_ROWS - 1)) / 2, scan),
  };
  return { ...works[name], close: () => client.close() };
}

/** Lanes that `open` opens, with the URL of their server if they need one. */
const lanesOf = (group, open, names, server) =>
  names.map((name) => {
    return { name: `${group}-${name}`, server, open: (lib, url = `${group}:`) => open(lib, url, name) };
  });

const ENGINE = Object.keys(ENGINE_LANES);
const SHARDS = ['get', 'multi-get', 'scan'];
/** The lanes of an engine with a server: `--more` has less time for each. */
const SHORT = ENGINE.filter((name) => !/arrow-in|chunks|cursor/.test(name));

/** The headline lanes. `server` names the server that a lane needs. */
export const LANES = [
  ...lanesOf('memory', engine, ENGINE),
  ...lanesOf('embedded', engine, ENGINE),
  ...lanesOf('kv', kv, ['get', 'get-32-callers', 'mget-64'], 'redis'),
  ...lanesOf('sql', sql, ['select', 'select-many-64', 'insert-rows'], 'mysql'),
  ...lanesOf('rest', rest, ['read', 'read-many-64'], 'rest'),
  ...lanesOf('codec', codec, ['lines-decode', 'lines-encode', 'columns-encode', 'columns-decode']),
  ...lanesOf('shards', shards, SHARDS),
];

/** The lanes of `--more`, whose servers start slowly or are seldom there. */
export const MORE = [
  ...lanesOf('hyper', engine, SHORT, 'hyper'),
  ...lanesOf('flight', engine, SHORT, 'flight'),
  ...lanesOf('sail', engine, SHORT.slice(2), 'sail'),
  ...lanesOf('mysql', engine, SHORT, 'mysql'),
  ...lanesOf('cluster', kv, ['get', 'get-32-callers', 'mget-64'], 'redis-cluster'),
  ...lanesOf('grpc-shards', shards, SHARDS, 'shards'),
];

/** Takes a sample. Throws if the work has not the sum that it must have. */
async function sampleOf({ before, work, each }, units) {
  await before?.();
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  const sum = await work(units);
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  if (sum !== units * each) throw new Error(`the sum of ${units} units of work is ${sum} instead of ${units * each}`);
  return { units, seconds, cpu: (user + system) / 1e6 };
}

/** Opens a lane and warms it up. Returns it with the seconds of a unit of work, or the reason why the build lacks the lane. */
async function opened({ lane, library, url, seconds: wanted }) {
  const { open } = [...LANES, ...MORE].find(({ name }) => name === lane);
  try {
    const measured = await open(await import(library), url);
    let units = 1;
    const end = performance.now() + WARM_UP_MS;
    for (;;) {
      const { seconds } = await sampleOf(measured, units);
      if (performance.now() > end) return { measured, unitSeconds: seconds / units };
      units = Math.max(1, Math.round((units * wanted) / seconds));
    }
  } catch (error) {
    if (error.name === 'TypeError' || /^BB_(NOT_INSTALLED|ADDON_|UNSUPPORTED)/.test(error.code))
      return { lacks: error.message };
    throw error;
  }
}

if (process.argv[2] === 'worker') {
  let measured;
  process.once('disconnect', () => process.exit());
  process.on('message', async (message) => {
    if (message.lane !== undefined) {
      const { measured: open, ...answer } = await opened(message);
      measured = open;
      process.send(answer);
    } else if (message.units !== undefined) {
      if (message.collects) globalThis.gc();
      process.send(await sampleOf(measured, message.units));
    } else {
      await measured?.close?.();
      process.exit();
    }
  });
}
