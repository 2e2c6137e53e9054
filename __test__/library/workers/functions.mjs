/** The functions that the tests of a pool of workers call. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';

export const NUMBER = 7;

const port = parentPort;
let calls = 0;

/** How often this thread has called it. */
export function counted() {
  calls += 1;
  return calls;
}

/** Sends what looks like answers, as a module may that has a protocol of its own. */
export function chatty(value) {
  for (const type of ['ready', 'returned', 'failed']) port.postMessage({ type, value: 'no answer', error: {} });
  return value;
}

export function whichWorker(_, { index, count }) {
  return { index, count };
}

export function add({ left, right }) {
  return left + right;
}

export async function rowsOf(table, { connection }) {
  const [{ rows }] = await connection.executeQuery(`SELECT count(*) AS rows FROM ${table}`, { int64: 'number' });
  return rows;
}

/** Inserts the columns of a share, whose typed arrays were handed over. */
export async function insertColumns({ table, id }, { connection }) {
  const { RowInserter } = await import('../../../dist/index.js');
  const inserter = new RowInserter(connection, await connection.describeTable(table));
  inserter.addColumns({ id });
  await inserter.drain();
  return inserter.execute();
}

/** Runs until its query is cancelled, or for minutes. */
export async function longQuery(_, { connection, signal }) {
  return connection.executeQuery('SELECT count(*) AS n FROM range(100000000000) WHERE hash(range) = 42', { signal });
}

export async function closeConnection(_, { connection }) {
  await connection.close();
  return connection.executeQuery('SELECT 1 AS one');
}

export function sumAndReturn(values, { transfer }) {
  const sum = values.reduce((all, value) => all + value, 0);
  transfer(values.buffer);
  return { sum, values };
}

export async function wait(ms, { signal }) {
  await sleep(ms, undefined, { signal });
  return ms;
}

export async function waitDeaf(ms) {
  await sleep(ms);
  return ms;
}

export function spin() {
  for (;;);
}

export function fail(message) {
  throw Object.assign(new TypeError(message), { code: 'ENOTHING' });
}

export function failUncloneable() {
  throw Object.assign(new Error('with a function'), { work: () => {} });
}

export function failOddly() {
  // oxlint-disable-next-line no-throw-literal -- anything may be thrown.
  throw null;
}

export function unsendable() {
  return () => {};
}

export function exit(code) {
  process.exit(code);
}

/** Throws where nobody awaits it, while the call is in progress. */
export function crash() {
  setTimeout(() => {
    throw new RangeError('nobody awaits this');
  }, 1);
  return sleep(60_000);
}

/** Sends messages that are none of the pool's. */
export async function babble() {
  const { parentPort } = await import('node:worker_threads');
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread has no origin.
  for (const message of [null, { type: 'hello' }]) parentPort.postMessage(message);
  await sleep(20);
  return 'done';
}
