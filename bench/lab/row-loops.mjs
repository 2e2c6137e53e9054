// Measures the cost of a loop over rows by itself, on bare memory. Prints millions of rows per second, the median of the rounds. A cursor is
// read by two loops, in a function of its own and in an asynchronous one, and by one `for await`: over an iterator that returns the same
// promise at each step (the least that the language allows), and over an asynchronous generator.
//
//   node bench/lab/row-loops.mjs [ROWS] [ROUNDS]
import { loadTables } from '../../dist/families/measurements/query-tables.js';
import { connect } from '../../dist/index.js';
import { mediansInTurn } from './in-turn.mjs';

/** All rows of batches, one by one. As each step has the same object, each can have the same promise of it. */
class SamePromise {
  #batches;
  #batch;
  #step;

  constructor(batches) {
    this.#batches = batches;
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  next() {
    if (this.#batch !== undefined && !this.#batch.next().done) return this.#step;
    return this.#nextBatch();
  }

  async #nextBatch() {
    const { value, done } = await this.#batches.next();
    if (done) return { value: undefined, done };
    this.#batch = value;
    const first = value.next();
    this.#step = Promise.resolve({ value: first.value, done: false });
    return this.#step;
  }
}

const [rows = 5_000_000, rounds = 9] = process.argv.slice(2).map(Number);
const connection = await connect('memory:');
await loadTables(connection, { table: 'measurements', rows, workers: 1 });
const batches = () =>
  connection.executeQueryStream('SELECT id, sensor_id, value, timestamp FROM measurements').cursor();

const rates = await mediansInTurn(
  {
    'two loops, the inner in a function': () => rateOf(byFunctions),
    'two loops': () => rateOf(byLoops),
    'for await, one promise': () => rateOf(() => byRows(new SamePromise(batches()))),
    'for await, a generator': () => rateOf(() => byRows(generated())),
  },
  rounds,
);
console.log('| Loop | M rows/s |');
console.log('| --- | ---: |');
for (const [name, rate] of Object.entries(rates)) console.log(`| ${name} | ${(rate / 1e6).toFixed(1)} |`);
await connection.close();

async function rateOf(read) {
  const start = performance.now();
  const sum = await read();
  const seconds = (performance.now() - start) / 1000;
  if (sum !== (rows * (rows - 1)) / 2) throw new Error(`the ids sum to ${sum}`);
  return rows / seconds;
}

async function byFunctions() {
  let sum = 0;
  for await (const batch of batches()) sum += sumOf(batch);
  return sum;
}

function sumOf(batch) {
  let sum = 0;
  for (const row of batch) sum += row.id;
  return sum;
}

async function byLoops() {
  let sum = 0;
  for await (const batch of batches()) {
    for (const row of batch) sum += row.id;
  }
  return sum;
}

async function byRows(all) {
  let sum = 0;
  for await (const row of all) sum += row.id;
  return sum;
}

async function* generated() {
  for await (const batch of batches()) yield* batch;
}
