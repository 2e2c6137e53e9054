import { expect, test } from 'vitest';
import { run } from '../src/bench.js';
import { sumFamily } from './runner/sum-family.mjs';

test('a name that no option has is refused, with the closest one', async () => {
  const misspelt = [
    [{ fork: 1 }, "unknown option 'fork'; did you mean forks?"],
    [{ filters: { lanes: ['row'] } }, "unknown option 'filters.lanes'; did you mean filters.lane?"],
    [{ sampels: 1, families: [sumFamily()] }, "unknown option 'sampels'; did you mean samples?"],
  ] as const;
  for (const [options, message] of misspelt) {
    await expect(run(options as never)).rejects.toMatchObject({ code: 'BB_INVALID_ARGUMENT', message });
  }
});
