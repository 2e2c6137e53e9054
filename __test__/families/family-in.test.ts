import { expect, it } from 'vitest';

import { familyIn } from '../../src/families/family-in.js';

const MODULE = new URL('two-workloads.mjs', import.meta.url).href;

it('finds the workload of each cell among several workloads of one family', async () => {
  for (const [workload, id] of [
    ['read', '1'],
    ['write', '2'],
  ] as const) {
    const family = await familyIn(MODULE, 'orders', workload);
    const [planned] = family.plan({ rows: 10, workers: 1, engines: {} });
    expect(planned!.cell.id).toBe(`orders/${workload}/row/js/memory`);
    const open = await family.open({ rows: 10, workers: 1, engines: {} }, [planned!]);
    expect((await open.openCell(planned!)).expected.sums).toEqual({ id });
  }
  await expect(familyIn(MODULE, 'orders', 'drop')).rejects.toThrow('exports no family of the name orders with drop');
});
