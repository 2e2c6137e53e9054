/** Servers that the user names are reached once, before anything is measured. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';

import { loadFamilies } from '../../../src/families/registry.js';
import { openTarget, type ServerKind } from '../../../src/families/requests/target-server.js';
import { run, type RunOptions } from '../../../src/runner/run.js';
import { lacks } from '../../needs.js';
import { folderOfTest } from '../../temporary-folder.js';

vi.setConfig({ testTimeout: 60_000 });

let folder: string;

beforeEach(() => void (folder = folderOfTest()));

/** The error with which a run ends before it has measured anything. */
async function refusal(request: Partial<RunOptions>): Promise<unknown> {
  const directory = join(folder, 'out');
  const events: string[] = [];
  const families = await loadFamilies();
  const error: unknown = await run({ families, directory, onEvent: ({ type }) => events.push(type), ...request }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(events).toEqual([]);
  expect(existsSync(directory)).toBe(false);
  return error;
}

describe('a server that does not answer', () => {
  it.each([
    ['kv', { redis: 'redis://user:geheim@127.0.0.1:1' }],
    ['kv', { redis: 'geheim' }],
    ['sql', { mysql: 'mysql://user:geheim@127.0.0.1:1/db' }],
    ['rest', { rest: 'http://:geheim@127.0.0.1:1' }],
    ['ingest', { ingest: 'http://:geheim@127.0.0.1:1' }],
    ['hybrid', { shards: 'http://:geheim@127.0.0.1:1' }],
    ['measurements', { mysql: 'mysql://user:geheim@127.0.0.1:1/db' }],
    ['measurements', { embedded: 'embedded:/nowhere/at/all.duckdb' }],
  ])('ends a run of %s: %j', async (family, engines) => {
    const error = await refusal({ filters: { family: [family] }, engines });
    expect(error).toMatchObject({
      code: 'BB_SERVER_UNUSABLE',
      message: expect.stringContaining(`the family ${family} can't be measured: `),
      cause: { code: expect.stringMatching(/^BB_/) },
    });
    expect(String(error)).not.toContain('geheim');
  });

  it('is not asked if no cell uses it', async () => {
    const filters = { workload: ['query.aggregation'], engine: ['memory'] };
    const directory = join(folder, 'out');
    const families = await loadFamilies();
    // The environment names it; what the caller names must be measured.
    const fallbacks = { engines: { mysql: 'mysql://127.0.0.1:1' } };
    const { run: finished } = await run({ families, directory, filters, fallbacks });
    // Bare memory has no SQL.
    expect(new Set(finished.records.map(({ outcome }) => outcome))).toEqual(new Set(['skipped']));
  });
});

const KEY = ['--api-key', `${'k'.repeat(16)}.${'s'.repeat(64)}`];

const GUARDED: readonly [kind: ServerKind, family: string, words: readonly string[]][] = [
  ['redis', 'kv', []],
  ['mysql', 'sql', []],
  ['rest', 'rest', KEY],
  ['ingest', 'ingest', KEY],
];

describe('a wrong password', () => {
  for (const [kind, family, words] of GUARDED) {
    it.skipIf((kind === 'redis' || kind === 'mysql') && lacks(kind))(`of a server of ${kind} ends a run`, async () => {
      const server = await openTarget(kind, {}, words);
      onTestFinished(() => server.close());
      const wrong = new URL(server.url);
      wrong.password = 'geheim';
      const error = await refusal({ filters: { family: [family] }, engines: { [kind]: wrong.href } });
      expect(error).toMatchObject({ code: 'BB_SERVER_UNUSABLE' });
      expect(String(error)).not.toContain('geheim');
    });
  }
});
