import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { verifyChecksum } from '../../../src/families/verify-checksum.js';
import { connect } from '../../../src/library/engine/connection.js';
import { measurementsFamily } from '../../../src/families/measurements/family.js';
import { matrix } from '../../../src/families/measurements/matrix.js';
import { planMeasurements } from '../../../src/families/measurements/plan.js';
import { lacks } from '../../needs.js';
import { CheckedStopwatch, checkCell, expectRefused, isRefused } from './checked-stopwatch.js';
import type { FamilyOptions, OpenFamily } from '../../../src/families/workload.js';
import { folderOfTest } from '../../temporary-folder.js';

const openFamily = (options: FamilyOptions): Promise<OpenFamily> =>
  measurementsFamily.open(options, planMeasurements(options));

const signal = new AbortController().signal;

const withoutHyperd = lacks('hyperd');
const withoutMysql = lacks('mysql');
const withoutSail = lacks('sail');

describe('every cell of Node does its work', () => {
  const options = { rows: 4011, workers: 2, engines: {} };
  let family: OpenFamily;
  beforeAll(async () => {
    family = await openFamily(options);
  });
  afterAll(() => family.close());

  // The cells of Rust are tested in a process of their own: a process that holds several databases of DuckDB can't always start another.
  const runnable = planMeasurements(options).filter(({ skip, cell }) => skip === undefined && cell.side !== 'rust');
  const taken = runnable.filter((planned) => !isRefused(planned));
  it.each(taken.map((planned) => [planned.cell.id, planned] as const))('%s', async (_, planned) => {
    await expect(checkCell(family, planned)).resolves.toBeUndefined();
  });

  it.skipIf(withoutSail)('or is refused in the words of its server', async () => {
    await expectRefused(family, runnable.filter(isRefused));
  });

  const told = [
    '@duckdb/node-api',
    '@duckdb/node-bindings',
    'apache-arrow',
    'embedded',
    'flechette',
    'flight',
    ...(withoutHyperd ? [] : ['hyper']),
    'memory',
    ...(withoutMysql ? [] : ['mysql', 'mysql2']),
    ...(withoutSail ? [] : ['sail']),
  ];
  it(`tells the versions of ${told.join(', ')}`, async () => {
    const versions = await family.versions();
    expect(Object.keys(versions).toSorted()).toEqual(told);
    for (const version of Object.values(versions)) expect(version).toMatch(/\d+\.\d+/);
  });
});

describe('rows of several batches', () => {
  const options = { rows: 140_011, workers: 2, engines: {} };
  let family: OpenFamily;
  beforeAll(async () => {
    family = await openFamily(options);
  });
  afterAll(() => family.close());

  const lanes = new Set([
    'staged-row',
    'row-writer',
    'columns',
    'arrow-ipc',
    'stream',
    'chunks',
    'cursor',
    'columnar',
    'row',
  ]);
  const cells = planMeasurements(options).filter(
    (planned) =>
      planned.skip === undefined &&
      !isRefused(planned) &&
      planned.cell.side !== 'rust' &&
      lanes.has(planned.cell.lane) &&
      planned.cell.workload !== 'query.aggregation',
  );
  it.each(cells.map((planned) => [planned.cell.id, planned] as const))('%s', async (_, planned) => {
    await expect(checkCell(family, planned)).resolves.toBeUndefined();
  });
});

describe('what cells leave behind', () => {
  const options = { rows: 1000, workers: 2, engines: { embedded: 'embedded:' } };
  const plan = planMeasurements(options);
  const find = (id: string): (typeof plan)[number] => {
    const planned = plan.find(({ cell }) => cell.id === `measurements/${id}`);
    if (planned === undefined) throw new Error(`no cell ${id}`);
    return planned;
  };

  it('an abort ends a sample of several workers with its code, and the cell can be closed', async () => {
    const family = await openFamily(options);
    const cell = await family.openCell(find('query.full_scan/stream/napi/memory/async/w2'));
    const aborted = AbortSignal.abort();
    await expect(cell.sample(new CheckedStopwatch(), aborted)).rejects.toThrow(
      expect.objectContaining({ name: 'AbortError' }),
    );
    verifyChecksum(await cell.sample(new CheckedStopwatch(), signal), cell.expected);
    await cell.close();
    await family.close();
  });

  const missing: Readonly<Record<string, boolean>> = { hyper: withoutHyperd, mysql: withoutMysql, sail: withoutSail };
  it.each(Object.entries(matrix.engines).filter(([name]) => missing[name] !== true))(
    'plans with what %s says of itself',
    async (name, { can }) => {
      await using connection = await connect(`${name}:`);
      expect(connection.engine.sql).toBe(can.includes('sql'));
    },
  );

  it('closes what is open when cells were not closed, and twice does no harm', async () => {
    const family = await openFamily(options);
    await family.openCell(find('insert.bulk/columns/napi/memory/async/w1'));
    await family.openCell(find('query.full_scan/columnar/js/flechette/sync/w1'));
    await family.close();
    await expect(family.close()).resolves.toBeUndefined();
  });

  it('an engine that cannot be opened fails its own cells only', async () => {
    const family = await openFamily({
      ...options,
      engines: { embedded: 'embedded:/no/such/folder/x.duckdb' },
    });
    await expect(family.openCell(find('insert.bulk/columns/napi/embedded/async/w1'))).rejects.toThrow(
      expect.objectContaining({ code: 'BB_ENGINE' }),
    );
    await checkCell(family, find('insert.bulk/columns/napi/memory/async/w1'));
    await family.close();
  });

  it.skipIf(withoutHyperd)('no server, which a run starts for itself', async () => {
    const servers = (): string[] => childrenOf(process.pid).filter((name) => name.includes('hyperd'));
    const family = await openFamily(options);
    await checkCell(family, find('insert.bulk/columns/napi/hyper/tcp/async/w1'));
    await checkCell(family, find('query.full_scan/columnar/napi/hyper/ipc/async/w2'));
    expect(servers()).toHaveLength(1);
    await family.close();
    await vi.waitFor(() => expect(servers()).toEqual([]), { timeout: 60_000 });
  });

  it('no tables in a file that was there before', async () => {
    const folder = folderOfTest();
    const uri = `embedded:${join(folder, 'bench.duckdb')}`;

    const family = await openFamily({ ...options, engines: { embedded: uri } });
    await checkCell(family, find('insert.bulk/columns/napi/embedded/async/w2'));
    await checkCell(family, find('query.full_scan/columnar/napi/embedded/async/w2'));
    await family.close();
    const connection = await connect(uri);
    expect(await connection.listTables()).toEqual([]);
    await connection.close();
  });
});

/** The programs of a process's child processes. */
function childrenOf(parent: number): string[] {
  if (process.platform !== 'linux') {
    const lines = execFileSync('ps', ['-A', '-o', 'ppid=,comm='], { encoding: 'utf8' }).split('\n');
    return lines.filter((line) => line.trim().startsWith(`${parent} `));
  }
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return processes.flatMap((id) => {
    try {
      const stat = readFileSync(`/proc/${id}/stat`, 'utf8');
      const [, name = '', itsParent = ''] = /\((.*)\) \S+ (\d+)/s.exec(stat) ?? [];
      return Number(itsParent) === parent ? [name] : [];
    } catch {
      // The process has ended meanwhile.
      return [];
    }
  });
}
