import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { whyUnusable } from '../../../src/clients/optional-package.js';
import { measurementsFamily } from '../../../src/families/measurements/family.js';
import { PEERS } from '../../../src/families/measurements/peers.js';
import { planMeasurements } from '../../../src/families/measurements/plan.js';
import type { OpenFamily } from '../../../src/families/workload.js';
import { checkCell } from './checked-stopwatch.js';
import { folderOfTest } from '../../temporary-folder.js';

const options = { rows: 140_011, workers: 1, engines: {}, peers: true };
const cells = planMeasurements(options).filter(({ client = '' }) => client in PEERS);

describe('peers', () => {
  let family: OpenFamily;
  beforeAll(async () => {
    family = await measurementsFamily.open(options, cells);
  });
  afterAll(() => family.close());

  it('are planned for those who ask for them', () => {
    expect(new Set(cells.map(({ client }) => client))).toEqual(new Set(Object.keys(PEERS)));
    const unasked = planMeasurements({ rows: 1000, workers: 1 });
    expect(unasked.filter(({ client = '' }) => client in PEERS)).toEqual([]);
  });

  it('are not compared with a server of the user if they start one of their own', () => {
    const planned = planMeasurements({ ...options, engines: { hyper: 'hyper://127.0.0.1:7483/some' } });
    const skips = planned
      .filter(({ client }) => client === 'hyperdb-api-node')
      .map(({ cell, skip }) => [cell.transport, skip]);
    expect(skips.length).toBeGreaterThan(0);
    for (const skip of skips)
      expect(skip).toEqual(['tcp', 'hyperdb-api-node is measured on a server of its own alone']);
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
    const folder = folderOfTest();
    try {
      const fresh = await withPackage(folder, { main: 'index.js', engines: { node } }, '');
      const needs = `some-peer 1.2.3 needs Node.js ${node} (this is ${process.versions.node})`;
      expect(fresh.whyUnusable('some-peer')).toBe(isUsable ? undefined : needs);
      expect(fresh.optionalVersion('some-peer')).toBe('1.2.3');
      expect(fresh.loadPackage('some-peer')).toEqual({});
    } finally {
      vi.restoreAllMocks();
    }
  });

  it.each([
    ['2.17', '2.999.1', true],
    ['2.2', '2.17', false],
  ])('looks up in an addon which glibc it needs: %s and %s', async (first, second, isTooNew) => {
    const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
    const folder = folderOfTest();
    try {
      const names = `\0GLIBC_${first}\0GLIBC_${second}\0`;
      const fresh = await withPackage(folder, { main: 'addon.node', engines: { node: '>=9999' } }, names);
      const needs = `some-peer 1.2.3 needs Node.js >=9999 (this is ${process.versions.node})`;
      const glibc = ` and glibc 2.999 (this is ${header.glibcVersionRuntime})`;
      // On a library other than glibc the addon can't be judged.
      const isSaid = isTooNew && header.glibcVersionRuntime !== undefined;
      expect(fresh.whyUnusable('some-peer')).toBe(isSaid ? needs + glibc : needs);
    } finally {
      vi.restoreAllMocks();
    }
  });
});

/** Installs `some-peer` in a project folder, with `main` of this content, and loads the module again, so that it looks there. */
async function withPackage(
  folder: string,
  manifest: { readonly main: string; readonly engines: object },
  content: string,
): Promise<typeof import('../../../src/clients/optional-package.js')> {
  const home = join(folder, 'node_modules', 'some-peer');
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, manifest.main), content);
  writeFileSync(join(home, 'package.json'), JSON.stringify({ name: 'some-peer', version: '1.2.3', ...manifest }));
  // Packages installed in the project that runs this package count, too; the module looks for them when it is loaded.
  vi.spyOn(process, 'cwd').mockReturnValue(folder);
  vi.resetModules();
  return import('../../../src/clients/optional-package.js');
}
