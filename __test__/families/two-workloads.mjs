/** Two workloads of one family, which one module exports. */
import { defineWorkload } from '../../dist/bench.js';

const workloadOf = (name, checksum) =>
  defineWorkload({
    family: 'orders',
    name,
    module: import.meta.url,
    rows: 10,
    lanes: [{ lane: 'row', side: 'js', engine: 'memory', variant: 'array' }],
    open: () => ({
      expected: checksum,
      sample: async (stopwatch) => {
        stopwatch.start();
        stopwatch.stop();
        return checksum;
      },
    }),
  });

export const reads = workloadOf('read', { rows: 10, sums: { id: '1' } });
export const writes = workloadOf('write', { rows: 10, sums: { id: '2' } });
