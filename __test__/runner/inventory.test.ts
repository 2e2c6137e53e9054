import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Family, PlannedCell } from '../../src/families/workload.js';
import { runtimePackage } from '../../src/host/runtimes.js';
import { inventoryOf } from '../../src/runner/inventory.js';
import { sumFamily } from './sum-family.mjs';
import { folderOfTest } from '../temporary-folder.js';

let cache: string;

beforeEach(async () => {
  cache = folderOfTest();
  vi.stubEnv('BOUNDARY_BENCH_CACHE', cache);
});

afterEach(() => void vi.unstubAllEnvs());

it('is what the families plan, and the reasons for which they skip it', async () => {
  const family = sumFamily();
  const [first] = family.plan({ rows: 1, workers: 1, engines: {} });
  const cell = (id: string, engine: string, fields: Partial<PlannedCell> = {}): PlannedCell => ({
    ...first!,
    ...fields,
    cell: { ...first!.cell, id, engine },
  });
  const planned: Family = {
    ...family,
    onlyIfNamed: true,
    plan: () => [
      cell('a', 'arrays'),
      // A cell that an engine can't have is no engine that is missing.
      cell('b', 'arrays', { skip: 'arrays have no SQL', client: 'summer' }),
      cell('c', 'arrays', { client: 'summer' }),
      cell('d', 'server', { skip: 'no server: install it' }),
      cell('e', 'server', { skip: 'no server: install it', client: 'talker' }),
      cell('f', 'arrays', { skip: 'no adder: npm install adder', client: 'adder' }),
    ],
  };
  const { program } = runtimePackage('node@22')!;
  await mkdir(dirname(program), { recursive: true });
  await writeFile(program, '');

  expect(inventoryOf([planned])).toEqual({
    engines: ['arrays'],
    clients: ['summer'],
    runtimes: ['node@22'],
    missing: [
      { reason: 'no server: install it', names: ['server', 'talker'] },
      { reason: 'no adder: npm install adder', names: ['adder'] },
      { reason: 'the runtime bun is not installed: run `npx boundary-bench setup runtime bun`', names: ['bun'] },
      { reason: 'the runtime deno is not installed: run `npx boundary-bench setup runtime deno`', names: ['deno'] },
    ],
  });
});
