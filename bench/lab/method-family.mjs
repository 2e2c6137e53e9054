// Cells whose true ratios are known: loops of a fixed number of steps. The family of bench/lab/method.mjs; each process imports it.
//
// The `rust` side is only a name here: all cells are the same JavaScript, so that only the number of steps differs.

/** The steps of the reference, which take some 25 ms. */
const STEPS = 12_000_000;

/** The extra seconds of the first executions of a cell that warms up slowly, and the number of those executions. */
const SLOW_START = 40;

/** The cells of one kind: their number, and their steps as a multiple of the reference's steps. */
export const KINDS = {
  equal: { cells: 8, steps: () => 1 },
  'plus 3 %': { cells: 3, steps: () => 1.03 },
  'plus 10 %': { cells: 4, steps: () => 1.1 },
  'times 2': { cells: 2, steps: () => 2 },
  // Executions are longer at first, and by less each time: a program whose code is optimized step by step.
  warming: { cells: 1, steps: (execution) => 1 + 2 * Math.max(0, 1 - execution / SLOW_START) },
  // Each process takes one of two times for all of its executions.
  bimodal: { cells: 1, steps: (_, isOdd) => (isOdd ? 1.1 : 1 / 1.1) },
  empty: { cells: 1, steps: () => 0 },
};

/** @type {import('../../dist/families/workload.js').Family} */
export const methodFamily = {
  name: 'method',
  module: import.meta.url,
  description: 'Loops whose ratios are known',
  defaultRows: 1_000_000,
  onlyIfNamed: true,
  plan: ({ rows }) => [
    planned('reference', 'rust', rows),
    ...Object.entries(KINDS).flatMap(([kind, { cells }]) =>
      Array.from({ length: cells }, (_, number) => planned(`${kind} ${number + 1}`, 'napi', rows)),
    ),
  ],
  open: async () => ({
    versions: async () => ({}),
    openCell: async ({ cell }) => openCell(cell),
    close: async () => {},
  }),
};

function planned(name, side, rows) {
  const cell = { id: name, family: 'method', workload: 'loop', lane: name, side, variant: name, engine: 'none', rows };
  return { cell, group: 'loop', ...(side === 'rust' ? {} : { rustLane: 'reference' }) };
}

function openCell({ lane, rows }) {
  const kind = KINDS[lane.replace(/ \d+$/, '')];
  const isOdd = Math.random() < 0.5;
  let execution = 0;
  const expected = { rows, sums: {} };
  return {
    expected,
    sample: async (stopwatch) => {
      const steps = Math.round(STEPS * (kind?.steps(execution++, isOdd) ?? 1));
      stopwatch.start();
      const last = steps === 0 ? 1 : spin(steps);
      stopwatch.stop();
      if (last === 0) throw new Error('the generator ended');
      return expected;
    },
    close: async () => {},
  };
}

/** Steps of a generator, each of which needs the previous step (Marsaglia, "Xorshift RNGs", 2003). */
function spin(steps) {
  let state = 2463534242;
  for (let step = 0; step < steps; step += 1) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
  }
  return state;
}
