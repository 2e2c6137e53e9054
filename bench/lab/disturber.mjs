// Disturbs the machine until it is killed: burns a core, or fills the memory's bandwidth, for random stretches.
//
//   node bench/lab/disturber.mjs cpu|memory
import { setTimeout as delay } from 'node:timers/promises';

/** The bounds of a stretch in milliseconds, of work and of rest. */
const SHORTEST_MS = 100;
const LONGEST_MS = 3000;

/** More than the caches of a processor hold. */
const memory = process.argv[2] === 'memory' ? new Float64Array(16 << 20) : undefined;

for (;;) {
  const until = performance.now() + stretch();
  let sum = 0;
  while (performance.now() < until) {
    if (memory === undefined) for (let step = 0; step < 1e6; step += 1) sum += step % 7;
    else memory.fill(sum++);
  }
  await delay(stretch());
}

function stretch() {
  return SHORTEST_MS + Math.random() * (LONGEST_MS - SHORTEST_MS);
}
