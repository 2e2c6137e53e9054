/** Behaviour that only shows in a process or a thread of its own; these tests run the built library in `dist`. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';

import { startScriptedRedis } from '../kv/scripted-redis.js';

const library = new URL('../../../dist/index.js', import.meta.url).href;

/** Runs a module with these flags of Node; resolves to its output, parsed as JSON. */
async function run(flags: readonly string[], source: string): Promise<unknown> {
  const cwd = fileURLToPath(new URL('../../..', import.meta.url));
  const all = [
    ...flags,
    '--input-type=module',
    '--eval',
    `import * as library from ${JSON.stringify(library)};\n${source}`,
  ];
  const { stdout } = await promisify(execFile)(process.execPath, all, { cwd });
  return JSON.parse(stdout);
}

test.each([
  ['numbers', 'range AS id, range * 0.5::DOUBLE AS value'],
  ['text', "'some text ' || range AS note"],
])('a result of %s that cannot fit is an error, and Node lives on', async (_, columns) => {
  const result = await run(
    ['--max-old-space-size=100'],
    `
    const connection = await library.connect();
    const error = await connection.executeQuery("SELECT ${columns} FROM range(100000000)").catch((error) => error);
    const rows = await connection.executeQuery('SELECT 1 AS one');
    console.log(JSON.stringify([error.code, rows]));
    await connection.close();`,
  );
  expect(result).toEqual(['BB_RESULT_TOO_LARGE', [{ one: 1 }]]);
});

test(
  'values of answers and of chunks that cannot fit are errors, and Node lives on',
  { timeout: 120_000 },
  async () => {
    const text = Buffer.concat([Buffer.from('$90000000\r\n'), Buffer.alloc(90_000_000, '€'), Buffer.from('\r\n')]);
    const list = Buffer.concat([Buffer.from('*4000000\r\n'), Buffer.alloc(60_000_000, '$9\r\nabcdefghi\r\n')]);
    const answers: Readonly<Record<string, Buffer>> = { text, list };
    const redis = await startScriptedRedis(([, key], socket) => void socket.write(answers[key ?? ''] ?? '+OK\r\n'));
    const result = await run(
      ['--max-old-space-size=64'],
      `
    const codeOf = (work) => { try { return work() && 'fits'; } catch (error) { return error.code; } };
    const kv = await library.KvClient.connect(${JSON.stringify(redis.url)});
    const [text, list] = [await kv.pipeline().get('text').execute(), await kv.pipeline().get('list').execute()];
    const codes = [() => text.value(0), () => text.values(), () => list.value(0)].map(codeOf);
    await kv.close();
    const connection = await library.connect();
    for await (const chunk of connection.executeQueryColumnar('SELECT range AS id FROM range(5000000)', { batchRows: 5e6 })) {
      codes.push(codeOf(() => chunk.values(0)), codeOf(() => chunk.row(0)));
    }
    await connection.close();
    console.log(JSON.stringify(codes));`,
    );
    redis.close();
    expect(result).toEqual([...Array<string>(4).fill('BB_RESULT_TOO_LARGE'), 'fits']);
  },
);

test('results that each take half the heap fit one after the other', async () => {
  const result = await run(
    ['--max-old-space-size=200'],
    `
    const connection = await library.connect();
    let rows = 0;
    for (let round = 0; round < 5; round++) {
      rows += (await connection.executeQuery('SELECT range AS id, range * 0.5::DOUBLE AS value FROM range(1000000)')).length;
    }
    console.log(JSON.stringify(rows));
    await connection.close();`,
  );
  expect(result).toBe(5_000_000);
});

test('works if functions cannot be made from text', async () => {
  const result = await run(
    ['--disallow-code-generation-from-strings'],
    `
    const connection = await library.connect('memory:');
    const table = new library.TableDefinition('t', [{ name: '__proto__', type: library.SqlType.int() }, { name: 'b', type: library.SqlType.text() }]);
    await connection.createTable(table);
    const inserter = new library.RowInserter(connection, table, { batchRows: 2 });
    inserter.addRows([[1, 'x'], { ['__proto__']: 2 }, [null, 'z']]);
    await inserter.execute();
    console.log(JSON.stringify((await connection.executeQuery('SELECT * FROM t')).map(Object.entries)));`,
  );
  expect(result).toEqual([
    [
      ['__proto__', 1],
      ['b', 'x'],
    ],
    [
      ['__proto__', 2],
      ['b', null],
    ],
    [
      ['__proto__', null],
      ['b', 'z'],
    ],
  ]);
});

test('a thousand rounds of open, insert, query and close leave nothing behind', async () => {
  const [before, after] = (await run(
    ['--expose-gc'],
    `
    const table = new library.TableDefinition('t', [{ name: 'id', type: library.SqlType.int() }, { name: 's', type: library.SqlType.text() }]);
    async function round() {
      const connection = await library.connect('memory:');
      await connection.createTable(table);
      const inserter = new library.RowInserter(connection, table, { batchRows: 64 });
      for (let id = 0; id < 200; id++) inserter.addRow([id, 'text']);
      await inserter.execute();
      new library.RowInserter(connection, table, { batchRows: 64 }).addRow([1, 'dropped']);
      for await (const row of connection.executeQueryStream('SELECT id, s FROM t')) if (row.id === 20) break;
      for await (const chunk of connection.executeQueryColumnar('SELECT id, s FROM t')) chunk.column('id');
      await connection.close();
    }
    async function measure(rounds) {
      for (let index = 0; index < rounds; index++) await round();
      for (let index = 0; index < 3; index++) { gc(); await new Promise((resolve) => setTimeout(resolve, 20)); }
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    }
    console.log(JSON.stringify([await measure(200), await measure(1000)]));`,
  )) as [number, number];
  expect(after - before).toBeLessThan(4 << 20);
});

test('worker threads fill tables of the engine that they share', async () => {
  const { attach, connect, RowInserter, SqlType, TableDefinition } = (await import(
    library
  )) as typeof import('../../../src/index.js');
  expect(attach).toBeTypeOf('function');
  await using connection = await connect();
  const table = (index: number) => new TableDefinition(`t${index}`, [{ name: 'id', type: SqlType.int() }]);
  const source = `
    const { workerData: { library, handle, index } } = require('node:worker_threads');
    import(library).then(async ({ attach, RowInserter }) => {
      const connection = attach(handle);
      const table = await connection.describeTable('t' + index);
      const inserter = new RowInserter(connection, table);
      for (let id = 0; id < 100000; id++) if (!inserter.addRow([id])) await inserter.drain();
      await inserter.execute();
      await connection.close();
    });`;
  await Promise.all(
    [0, 1, 2].map(async (index) => {
      await connection.createTable(table(index));
      const worker = new Worker(source, { eval: true, workerData: { library, handle: connection.share(), index } });
      const code = await new Promise((resolve, reject) => {
        worker.once('error', reject);
        worker.once('exit', resolve);
      });
      expect(code).toBe(0);
    }),
  );
  const sql = 'SELECT count(*) AS n FROM t0 UNION ALL SELECT count(*) FROM t1 UNION ALL SELECT count(*) FROM t2';
  expect(await connection.executeQuery(sql)).toEqual([{ n: 100_000n }, { n: 100_000n }, { n: 100_000n }]);
  const inserter = new RowInserter(connection, table(0));
  inserter.addRow([7]);
  expect(await inserter.execute()).toBe(1);
});
