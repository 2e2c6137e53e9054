/** A family whose cell counts what it was asked for, in order. */
import { openLoadCell } from '../../../src/families/requests/load-cell.js';

const CHECKSUM = { rows: 4, sums: {} };

export const calls: string[] = [];

export const countedFamily = {
  name: 'counted',
  plan: () => [],
  open: async () => ({
    openCell: async () =>
      openLoadCell({
        requesters: [{ request: async (index) => void calls.push(`request ${index}`) }],
        load: { requests: 2 },
        serverProcesses: [],
        expected: CHECKSUM,
        checksum: () => {
          calls.push('read back');
          return CHECKSUM;
        },
        close: async () => void calls.push('close'),
      }),
    close: async () => {},
  }),
};
