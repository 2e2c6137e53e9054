/**
 * Terminates threads in the middle of their work. Takes the kind of work and the number of threads; prints whether the
 * engine that they share still works, and the threads of the addon that their work left running.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

import { addon } from '../../../dist/addon.js';
import { openEngine } from '../../../dist/library/engine/open-engine.js';

const ENDLESS = 'SELECT range AS id FROM range(1000000000000)';
/** A query that runs for minutes before its first row. */
const SILENT = 'SELECT count(*) AS n FROM range(100000000000) WHERE hash(range) = 42';
/** A query that returns a row now and then, so that its reader waits. */
const SLOW = 'SELECT range AS id FROM range(100000000000) WHERE hash(range) % 100000000 = 3';
const table = { name: 't', columns: [{ name: 'id', kind: 'int', nullable: false }] };
const ROWS = 1 << 20;
const parts = [null, null, new Uint8Array(4 * ROWS)];
const rows = Array.from({ length: 1000 }, (_, id) => [id]);

async function forEver(step) {
  for (;;) await step();
}

/** The work of a thread until it is terminated. */
const WORK = {
  async next(engine) {
    const reader = await engine.query(ENDLESS, 1000);
    await forEver(() => reader.next());
  },
  async waitingNext(engine) {
    const reader = await engine.query(SLOW, 1);
    await Promise.all(Array.from({ length: 20 }, () => reader.next()));
  },
  async naiveNext(engine) {
    const reader = await engine.queryNaive(ENDLESS, 1000);
    await forEver(() => reader.next());
  },
  query: (engine) => engine.query(SILENT),
  queryNaive: (engine) => engine.queryNaive(SILENT),
  queryToArrow: (engine) => engine.queryToArrow(SILENT),
  execute: (engine) => engine.execute(`CREATE TEMP TABLE x AS ${SILENT}`),
  async prepared(engine) {
    const statement = await engine.prepare(`${SILENT} AND $1`);
    await Promise.all([statement.query([true]), statement.queryToArrow([true]), statement.execute([true])]);
  },
  statements: (engine) =>
    forEver(async () => {
      const statement = await engine.prepare('SELECT $1');
      await Promise.all([statement.execute([1]), statement.queryToArrow(['x']), statement.query([2n])]);
      await statement.close();
    }),
  async insert(engine) {
    const inserter = engine.inserter(table);
    await forEver(() => inserter.writeColumns(ROWS, parts) || inserter.drained());
  },
  async naiveInsert(engine) {
    const inserter = engine.naiveInserter(table);
    await forEver(() => inserter.addRows(rows) || inserter.drained());
  },
  inserts: (engine) =>
    forEver(() => {
      const [kept, dropped] = [engine.inserter(table), engine.inserter(table)];
      kept.writeColumns(ROWS, parts);
      dropped.writeColumns(ROWS, parts);
      return Promise.all(
        [kept.drained(), dropped.drained(), kept.abort(), dropped.abort(), dropped.drained()].map(settled),
      );
    }),
  tables: (engine) =>
    forEver(() => Promise.all([engine.listTables(), engine.describeTable('t'), engine.dropTable('no')])),
  opens: () => forEver(() => openEngine('embedded:')),
};

/** The inserter's calls after its end are refused; here they only have to be harmless. */
const settled = (promise) => promise.catch(() => {});

/** The addon's threads that run a query or an insert; undefined if the platform does not tell. */
function threadsAtWork() {
  if (process.platform !== 'linux') return undefined;
  const names = readdirSync('/proc/self/task').map((thread) => {
    try {
      return readFileSync(`/proc/self/task/${thread}/comm`, 'utf8').trim();
    } catch {
      return '';
    }
  });
  return names.filter((name) => name === 'bb-query' || name === 'bb-insert');
}

if (isMainThread) {
  const [work, threads] = process.argv.slice(2);
  const engine = await openEngine('embedded:');
  await engine.createTable(table, 'create');
  for (let thread = 0; thread < Number(threads); thread++) {
    const worker = new Worker(new URL(import.meta.url), { workerData: { handle: engine.share(), work } });
    await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
    await sleep(thread * 7);
    await worker.terminate();
  }
  // The work of the terminated threads ends, since nothing waits for it; how soon depends on the machine.
  const deadline = performance.now() + 30_000;
  while (threadsAtWork()?.length > 0 && performance.now() < deadline) await sleep(20);
  const left = threadsAtWork() ?? [];
  await engine.createTable(table, 'replace');
  const inserter = engine.inserter(table);
  inserter.writeColumns(ROWS, parts);
  const stored = await inserter.execute();
  console.log(JSON.stringify({ stored, left }));
  process.exit(0);
}
const engine = addon.Engine.attach(workerData.handle);
parentPort.postMessage('started', []);
await WORK[workerData.work](engine);
