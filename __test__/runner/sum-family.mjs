// @ts-check
/**
 * A small family that does real work: it sums the integers below `rows` from a typed array and from an array. Plain
 * JavaScript, so that the tests of the command line can run it in a process of its own.
 */
import { setTimeout as delay } from 'node:timers/promises';

/** @typedef {import('../../src/families/workload.ts').Family} Family */
/** @typedef {import('../../src/families/workload.ts').PlannedCell} PlannedCell */
/** @typedef {import('../../src/records/record.ts').Checksum} Checksum */

/** @typedef {'open' | 'unsupported' | 'throw' | 'mismatch' | 'close' | 'hang' | 'deaf' | 'kill' | 'exit'} Breakage */

const WORKLOADS = /** @type {const} */ (['sum.typed', 'sum.boxed']);
const LANES = /** @type {const} */ (['forwards', 'backwards']);

/**
 * @param {{ broken?: Readonly<Record<string, Breakage>>, log?: string[] }} [options] `broken`: the fault of each cell,
 * by   cell id. `log` receives the runner's calls of the family.
 * @returns {Family}
 */
export function sumFamily({ broken = {}, log = [] } = {}) {
  return {
    name: 'sums',
    description: 'Sums of the integers below the number of rows',
    defaultRows: 1000,

    plan({ rows, workers }) {
      const cells = WORKLOADS.flatMap((workload) =>
        LANES.flatMap((lane) => [...new Set([1, workers])].map((count) => plannedCell(workload, lane, rows, count))),
      );
      return [...cells, { ...plannedCell('sum.typed', 'sideways', rows, 1), skip: 'no one sums sideways' }];
    },

    async open() {
      log.push('open');
      return {
        async versions() {
          return { adder: '1.0' };
        },
        async openCell({ cell }) {
          if (broken[cell.id] === 'open') throw Object.assign(new Error('the cell is stuck'), { code: 'BB_STUCK' });
          if (broken[cell.id] === 'unsupported') {
            throw Object.assign(new Error('the adder has no backwards'), { code: 'BB_UNSUPPORTED' });
          }
          log.push(`open ${cell.id}`);
          const values = valuesOf(cell.workload, cell.rows);
          return {
            expected: checksum(cell.rows, (cell.rows * (cell.rows - 1)) / 2),
            async sample(stopwatch, signal) {
              log.push(`sample ${cell.id}`);
              if (broken[cell.id] === 'throw') throw new Error('the adder broke');
              if (broken[cell.id] === 'hang') await delay(60_000, undefined, { signal });
              if (broken[cell.id] === 'deaf') await delay(60_000);
              if (broken[cell.id] === 'kill') process.kill(process.pid, 'SIGKILL');
              if (broken[cell.id] === 'exit') process.exit(3);
              stopwatch.start();
              const sum = cell.lane === 'forwards' ? sumForwards(values) : sumBackwards(values);
              stopwatch.stop();
              return checksum(cell.rows, broken[cell.id] === 'mismatch' ? sum + 1 : sum);
            },
            async close() {
              log.push(`close ${cell.id}`);
              if (broken[cell.id] === 'close') throw new Error('the cell does not close');
            },
          };
        },
        async close() {
          log.push('close');
        },
      };
    },
  };
}

/**
 * @param {string} workload
 * @param {string} lane
 * @param {number} rows
 * @param {number} workers
 * @returns {PlannedCell}
 */
function plannedCell(workload, lane, rows, workers) {
  return {
    cell: {
      id: `sums/${workload}/${lane}/js/arrays/w${workers}`,
      family: 'sums',
      workload,
      lane,
      side: 'js',
      variant: `${lane} loop`,
      engine: 'arrays',
      workers,
      rows,
      bytes: rows * 8,
    },
    group: `${workload}/w${workers}`,
  };
}

/**
 * @param {string} workload
 * @param {number} rows
 * @returns {ArrayLike<number>}
 */
function valuesOf(workload, rows) {
  const values = Array.from({ length: rows }, (_, index) => index);
  return workload === 'sum.typed' ? Float64Array.from(values) : values;
}

/** @param {ArrayLike<number>} values */
function sumForwards(values) {
  let sum = 0;
  for (let index = 0; index < values.length; index++) sum += Number(values[index]);
  return sum;
}

/** @param {ArrayLike<number>} values */
function sumBackwards(values) {
  let sum = 0;
  for (let index = values.length - 1; index >= 0; index--) sum += Number(values[index]);
  return sum;
}

/**
 * @param {number} rows
 * @param {number} sum
 * @returns {Checksum}
 */
function checksum(rows, sum) {
  return { rows, sums: { value: String(sum) } };
}
