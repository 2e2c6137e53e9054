// Measures the costs of a pool of workers: to start with and without an engine, to close, to call a function, and to
// hand a column over by copy, by transfer and as shared memory. Prints the medians of the rounds, in milliseconds.
//
//   node bench/lab/workers.mjs [ROUNDS]
import { availableParallelism } from 'node:os';

import { connect, createWorkers } from '../../dist/index.js';
import { median } from '../../dist/stats/quantile.js';
import { mediansInTurn } from './in-turn.mjs';

const MIB = 1 << 20;
const CALLS = 500;

const MODULE = new URL('workers-functions.mjs', import.meta.url);

const [rounds = 15] = process.argv.slice(2).map(Number);
console.log('| Step | ms |');
console.log('| --- | ---: |');
for (const count of new Set([1, availableParallelism()])) await startAndClose(count);
await calls();

/** Starts and closes pools of `count` threads, without an engine and with one. */
async function startAndClose(count) {
  const connection = await connect();
  const closed = { bare: [], attached: [] };
  const side = (name, options) => async () => {
    let pool;
    const started = await timed(async () => (pool = await createWorkers({ module: MODULE, count, ...options })));
    closed[name].push(await timed(() => pool.close()));
    return started;
  };
  const started = await mediansInTurn({ bare: side('bare', {}), attached: side('attached', { connection }) }, rounds);
  await connection.close();
  const threads = count === 1 ? '1 thread' : `${count} threads`;
  show(`start ${threads}`, started.bare);
  show(`start ${threads} that attach to an engine`, started.attached);
  show(`close ${threads}`, median(closed.bare));
  show(`close ${threads} that are attached to an engine`, median(closed.attached));
}

/** Calls functions one after the other, in one thread. */
async function calls() {
  const pool = await createWorkers({ module: MODULE, count: 1 });
  const { call } = await mediansInTurn(
    {
      call: async () => {
        const ms = await timed(async () => {
          for (let done = 0; done < CALLS; done += 1) await pool.run('nothing');
        });
        return ms / CALLS;
      },
    },
    rounds,
  );
  show('a call', call);
  for (const mib of [1, 16]) {
    const values = new Float64Array((mib * MIB) / 8);
    const shared = new Float64Array(new SharedArrayBuffer(mib * MIB));
    let moved = new Float64Array(values.length);
    const medians = await mediansInTurn(
      {
        copied: () => timed(() => pool.run('lengthOf', values)),
        transferred: () => timed(async () => (moved = await pool.run('giveBack', moved, { transfer: [moved.buffer] }))),
        inShared: () => timed(() => pool.run('lengthOf', shared)),
      },
      rounds,
    );
    show(`a call with a column of ${mib} MiB, copied`, medians.copied);
    show(`a call with a column of ${mib} MiB, transferred there and back`, medians.transferred);
    show(`a call with a column of ${mib} MiB in shared memory`, medians.inShared);
  }
  await pool.close();
}

async function timed(work) {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function show(step, ms) {
  console.log(`| ${step} | ${ms.toFixed(3)} |`);
}
