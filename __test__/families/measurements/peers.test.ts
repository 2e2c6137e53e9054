import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { whyUnusable } from '../../../src/clients/optional-package.js';
import { measurementsFamily } from '../../../src/families/measurements/family.js';
import { PEERS } from '../../../src/families/measurements/peers.js';
import { planMeasurements } from '../../../src/families/measurements/plan.js';
import type { OpenFamily } from '../../../src/families/workload.js';
import { checkCell } from './checked-stopwatch.js';

const options = { rows: 140_011, workers: 1, engines: {}, peers: true };
const cells = planMeasurements(options).filter(({ client = '' }) => client in PEERS);

describe('peers', () => {
  let family: OpenFamily;
  beforeAll(async () => {
    family = await measurementsFamily.open(options, cells);
  });
  afterAll(() => family.close());

  it('are planned for those who ask for them', () => {
    expect(new Set(cells.map(({ cell }) => cell.engine))).toEqual(new Set(Object.keys(PEERS)));
    const unasked = planMeasurements({ rows: 1000, workers: 1 });
    expect(unasked.filter(({ client = '' }) => client in PEERS)).toEqual([]);
  });

  it('are there, as far as development needs them', () => {
    expect(whyUnusable('nodejs-polars')).toBeUndefined();
  });

  const usable = cells.filter(({ skip }) => skip === undefined);
  it.each(usable.map((planned) => [planned.cell.id, planned] as const))('%s', async (_, planned) => {
    await expect(checkCell(family, planned)).resolves.toBeUndefined();
  });

  it('tell their versions', async () => {
    for (const [name, version] of Object.entries(await family.versions())) expect(version, name).toMatch(/^\d+\.\d+/);
  });
});

describe('whyUnusable', () => {
  it('says how to install what is not there', () => {
    expect(whyUnusable('no-such-package-here')).toBe(
      'no-such-package-here is not installed: npm install no-such-package-here',
    );
    expect(whyUnusable('node:no-such-module')).toMatch(/^Node\.js [\d.]+ has no node:no-such-module/);
    expect(whyUnusable('node:fs')).toBeUndefined();
  });

  it.each([
    ['>=20.0', true],
    ['>=9999', false],
    ['>= 20', true],
    ['8.x || 9.x', false],
    [`8.x || ${process.versions.node.split('.')[0]}.x`, true],
    ['*', true],
    [undefined, true],
  ])('keeps off packages made for other versions of Node: %s is %s', async (node, isUsable) => {
    const folder = mkdtempSync(join(tmpdir(), 'boundary-bench-peers-'));
    try {
      const home = join(folder, 'node_modules', 'some-peer');
      mkdirSync(home, { recursive: true });
      writeFileSync(join(home, 'index.js'), '');
      writeFileSync(
        join(home, 'package.json'),
        JSON.stringify({ name: 'some-peer', version: '1.2.3', main: 'index.js', engines: { node } }),
      );
      // Packages installed in the project that runs this package count, too; the module looks for them when it is
      // loaded.
      vi.spyOn(process, 'cwd').mockReturnValue(folder);
      vi.resetModules();
      const fresh = await import('../../../src/clients/optional-package.js');
      const needs = `some-peer 1.2.3 needs Node.js ${node}: install another version of one of them`;
      expect(fresh.whyUnusable('some-peer')).toBe(isUsable ? undefined : needs);
      expect(fresh.optionalVersion('some-peer')).toBe('1.2.3');
      expect(fresh.loadPackage('some-peer')).toEqual({});
    } finally {
      vi.restoreAllMocks();
      rmSync(folder, { recursive: true });
    }
  });
});
