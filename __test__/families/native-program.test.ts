import { describe, expect, onTestFinished, test } from 'vitest';

import { startNative, type NativeInput } from '../../src/families/native-program.js';
import type { RunningProgram } from '../../src/families/running-program.js';
import { mysqlOfSuite } from '../mysql-server.js';
import { lacks } from '../needs.js';

const CELL = { workload: 'query.full_scan', lane: 'columnar', flavor: 'sync', workers: 1, rows: 1000, table: 't' };

function onEngine(spec: object, uri = 'memory:'): NativeInput {
  return { kind: 'engine', uri, isShared: false, spec: { ...CELL, ...spec } };
}

async function use<T>(input: NativeInput, work: (program: RunningProgram) => Promise<T>): Promise<T> {
  const program = await startNative(input);
  onTestFinished(() => program.close());
  return await work(program);
}

describe('the program of the side rust', () => {
  test.each(['memory:', 'embedded:'])('loads, samples and checks the rows of %s', async (uri) => {
    await use(onEngine({}, uri), async (program) => {
      const sample = await program.sample(1);
      expect(sample).toMatchObject({ checksum: { rows: 1000 }, seconds: expect.any(Number) as number });
      expect('peakRssBytes' in sample).toBe(process.platform === 'linux');
      expect(await program.result()).toMatchObject({ rows: 1000 });
    });
  });

  test.each([
    onEngine({ rows: 1e18 }),
    onEngine({ rows: -1 }),
    onEngine({ workers: 0 }),
    onEngine({ workers: 1e9 }),
    onEngine({ lane: 'teleport' }),
    onEngine({ table: null }),
    onEngine({ table: 'z\0' }),
    onEngine({}, 'nothing:'),
    { kind: 'inProcess', spec: {} } as const,
    { kind: 'ingest', spec: [] } as const,
    { kind: 'soak', spec: { url: 1 } } as const,
    { kind: 'requests', spec: { family: 'kv', workload: 'get' } } as const,
    null as never,
  ])('refuses %j', async (input) => {
    await expect(startNative(input)).rejects.toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
  });

  test('tells work that it does not have only once it is asked for it', async () => {
    const spec = { family: 'boundary', workload: 'nothing at all', lane: 'call', batch: 1, calls: 1 };
    await use({ kind: 'inProcess', spec }, async (program) => {
      await expect(program.sample(1)).rejects.toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
    });
  });
});

describe.skipIf(lacks('mysql'))('the program on a server', () => {
  const mysql = mysqlOfSuite();

  function cell(operations: number): NativeInput {
    const spec = { family: 'sql', workload: 'select_pk', lane: 'call', connections: 1, batch: 1, operations };
    return { kind: 'requests', spec: { ...spec, url: mysql.url, prefix: 'bbtest' } };
  }

  async function tables(): Promise<number> {
    return (await mysql.client.query("SHOW TABLES LIKE 'bbtest%'")).rows().length;
  }

  test('gives a sample up when its signal is aborted, and removes its tables', async () => {
    const program = await startNative(cell(100_000_000));
    expect(await tables()).toBeGreaterThan(0);
    const aborting = new AbortController();
    const sampled = program.sample(1, aborting.signal);
    setTimeout(() => aborting.abort(), 100);
    await expect(sampled).rejects.toMatchObject({ code: 'BB_ABORTED' });
    await program.close();
    expect(await tables()).toBe(0);
  });

  test('removes its tables when its input ends', async () => {
    const program = await startNative(cell(100));
    await program.sample(1);
    expect(await tables()).toBeGreaterThan(0);
    await program.close();
    expect(await tables()).toBe(0);
  });
});
