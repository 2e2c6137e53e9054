import { expect, it } from 'vitest';

import { isFound, lacks } from './needs.js';
import { requiredNeeds } from './needs.mjs';
import { pythonClients } from './python-clients.js';

// `npm run test:all` runs this file first: missing needs are reported before the other tests run for minutes.
it('is there, whatever BOUNDARY_BENCH_REQUIRE names', async () => {
  const missing: string[] = [];
  for (const need of requiredNeeds()) {
    try {
      if (need === 'python') await pythonClients();
      else if (isFound(need)) lacks(need);
      // The other needs are looked for by the tests in Rust that have them.
    } catch (error) {
      missing.push((error as Error).message);
    }
  }
  expect(missing.join('\n')).toBe('');
}, 600_000);
