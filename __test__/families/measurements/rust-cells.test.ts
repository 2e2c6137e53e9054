import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { measurementsFamily } from '../../../src/families/measurements/family.js';
import { planMeasurements } from '../../../src/families/measurements/plan.js';
import type { OpenFamily } from '../../../src/families/workload.js';
import { lacks } from '../../needs.js';
import { checkCell, expectRefused, isRefused } from './checked-stopwatch.js';

lacks('hyperd');
lacks('mysql');
const withoutSail = lacks('sail');

describe('every cell of Rust does its work', () => {
  const options = { rows: 4011, workers: 2, engines: {} };
  const cells = planMeasurements(options).filter(({ skip, cell }) => skip === undefined && cell.side === 'rust');
  /** The run, which starts the servers once, and the process of its cells. */
  let run: OpenFamily;
  let fork: OpenFamily;
  beforeAll(async () => {
    run = await measurementsFamily.open(options, cells);
    fork = await measurementsFamily.open({ ...options, ...(await run.shared!()) }, cells);
  }, 120_000);
  afterAll(async () => {
    await fork.close();
    await run.close();
  });

  const taken = cells.filter((planned) => !isRefused(planned));
  it.each(taken.map((planned) => [planned.cell.id, planned] as const))('%s', async (_, planned) => {
    await expect(checkCell(fork, planned)).resolves.toBeUndefined();
  });

  it.skipIf(withoutSail)('or is refused in the words of its server', async () => {
    await expectRefused(fork, cells.filter(isRefused));
  });
});
