/** Cells whose requests several worker threads or several processes send at once. */
import { readFileSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';

import { kvFamily } from '../../../src/families/kv/family.js';
import { requestsOf } from '../../../src/families/requests/grid.js';
import { restFamily } from '../../../src/families/rest/family.js';
import { sqlFamily } from '../../../src/families/sql/family.js';
import type {
  NativeTiming,
  OpenCell,
  OpenFamily,
  PlannedCell,
  RequestMeasures,
  Stopwatch,
} from '../../../src/families/workload.js';
import { verifyChecksum } from '../../../src/families/verify-checksum.js';
import { readRun } from '../../../src/records/run-file.js';
import { LatencyHistogram } from '../../../src/stats/latency-histogram.js';
import { builtMain, spawnCli } from '../../cli/spawn-cli.js';
import { mysqlOfSuite } from '../../mysql-server.js';
import { lacks } from '../../needs.js';
import { redisOfSuite } from '../../redis-server.js';
import { openCells, stopwatch } from '../sampled-cells.js';
import { errorWith } from '../../error-with.js';
import { folderOfTest } from '../../temporary-folder.js';

/** The measures of a sample. */
interface Taken {
  timing?: NativeTiming;
  measures?: RequestMeasures;
}

/** A stopwatch, and what it takes. */
function taking(): { stopwatch: Stopwatch; taken: Taken } {
  const taken: Taken = {};
  const add = (timing: NativeTiming): void => void (taken.timing = timing);
  const addRequests = (measures: RequestMeasures): void => void (taken.measures = measures);
  return { stopwatch: { ...stopwatch, add, addRequests }, taken };
}

const { signal } = new AbortController();

/** Takes two samples of each cell and verifies it; each sample must have the latency of each request. `look` gets the last one. */
async function sampled(
  family: OpenFamily,
  cells: readonly PlannedCell[],
  look: (timing: NativeTiming) => void = () => {},
  afterwards?: (id: string) => Promise<void>,
): Promise<void> {
  const work = async (cell: OpenCell, id: string, planned: PlannedCell): Promise<void> => {
    const { stopwatch, taken } = taking();
    const { processes = 1, operations = 1, batch } = planned.cell;
    const sent = processes * requestsOf({ operations: operations / processes, ...(batch !== undefined && { batch }) });
    for (let sample = 0; sample < 2; sample += 1) {
      verifyChecksum(await cell.sample(stopwatch, signal), cell.expected);
      const requests = LatencyHistogram.fromBase64(taken.measures!.latency!).count;
      expect({ id, requests }).toEqual({ id, requests: sent });
    }
    await cell.verify?.(stopwatch, signal);
    look(taken.timing!);
  };
  await openCells(family, cells, work, afterwards);
}

/** The processes that send requests for this one; none if the platform does not tell. */
function partProcesses(): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc').flatMap((id) => {
    try {
      const isPart = readFileSync(`/proc/${id}/cmdline`, 'utf8').includes('part-process.js');
      const parent = /^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${id}/status`, 'utf8'))?.[1];
      return isPart && Number(parent) === process.pid ? [Number(id)] : [];
    } catch {
      return [];
    }
  });
}

describe.skipIf(lacks('redis'))('a cell of kv', () => {
  const redis = redisOfSuite();
  const keys = async (): Promise<unknown> => (await redis.client.pipeline().command('DBSIZE').execute()).value(0);
  const expectNoKeys = async (id: string): Promise<void> => expect({ id, keys: await keys() }).toEqual({ id, keys: 0 });

  const options = { rows: 0, workers: 1, operations: 330, connections: [1, 5], batch: [1, 16] };

  test('is shared by worker threads, with all of its operations, and leaves no key', async () => {
    const asked = { ...options, engines: { redis: redis.url } };
    const cells = kvFamily.plan(asked).filter(({ cell }) => cell.side !== 'rust' && cell.driver === 'all-cores');
    expect(cells.length).toBeGreaterThan(8);
    const look = ({ mainThreadCpuSeconds }: NativeTiming): void => expect(mainThreadCpuSeconds).toBeGreaterThan(0);
    await sampled(await kvFamily.open(asked, cells), cells, look, expectNoKeys);
  });

  test('is measured by several processes on every side, each with all connections, and leaves no key', async () => {
    const asked = { ...options, connections: [3], engines: { redis: redis.url }, processes: 3 };
    const chosen = new Set(['rust/call/', 'rust/batch/', 'napi/call/', 'napi/batch/all-cores', 'js/call/ioredis']);
    const cells = kvFamily.plan(asked).filter(({ cell }) => {
      if (cell.engine !== 'redis') return false;
      expect(cell).toMatchObject({ processes: 3, operations: 3 * 330, connections: 3 });
      const way = cell.id.split('/').slice(5, -3).join('/');
      return ['get', 'set'].includes(cell.workload) && chosen.has(`${cell.side}/${cell.lane}/${way}`);
    });
    expect(cells.length).toBe(2 * chosen.size);
    const look = ({ cpuUserSeconds, cpuSystemSeconds }: NativeTiming): void =>
      expect(cpuUserSeconds! + cpuSystemSeconds!).toBeGreaterThan(0);
    await sampled(await kvFamily.open(asked, cells), cells, look, expectNoKeys);
    expect(partProcesses()).toEqual([]);
  });

  test('notices a value that one of its processes finds changed', async () => {
    const asked = { ...options, connections: [1], batch: [1], engines: { redis: redis.url }, processes: 2 };
    const planned = kvFamily.plan(asked).find(({ cell }) => cell.side === 'napi' && cell.workload === 'get')!;
    await openCells(await kvFamily.open(asked, [planned]), [planned], async (cell) => {
      const [first] = (await redis.client.pipeline().command('KEYS', '*').execute()).value(0) as string[];
      await redis.client.set(first!, '12345678');
      await expect(cell.sample(stopwatch, signal)).rejects.toMatchObject({ code: 'BB_CHECKSUM_MISMATCH' });
      await expect(cell.verify!(stopwatch, signal)).rejects.toMatchObject({ code: 'BB_CHECKSUM_MISMATCH' });
    });
  });

  test.runIf(process.platform === 'linux')(
    'fails with the reason when a process dies, and ends the others',
    async () => {
      const asked = {
        ...options,
        operations: 2_000_000,
        connections: [1],
        batch: [1],
        engines: { redis: redis.url },
        processes: 2,
      };
      const planned = kvFamily.plan(asked).find(({ cell }) => cell.side === 'js' && cell.workload === 'get')!;
      const small = { ...planned, cell: { ...planned.cell, operations: 200_000 } };
      const family = await kvFamily.open(asked, [small]);
      const cell = await family.openCell(small);
      const sample = cell.sample(stopwatch, signal);
      const failed = expect(sample).rejects.toThrow(errorWith('BB_FORK', 'SIGKILL'));
      const [first, ...others] = partProcesses();
      expect(others).toHaveLength(1);
      await sleep(100);
      process.kill(first!, 'SIGKILL');
      await failed;
      await cell.close().catch(() => {});
      await family.close();
      expect(partProcesses()).toEqual([]);
      // The process that died has left its keys.
      await redis.client.pipeline().command('FLUSHALL').execute();
    },
  );

  test.each([
    ['worker threads', 'all-cores', undefined],
    ['processes', undefined, 2],
  ])('that %s measure can be aborted under way', async (_, driver, processes) => {
    const asked = {
      ...options,
      operations: 300_000,
      connections: [2],
      batch: [1],
      engines: { redis: redis.url },
      processes,
    };
    const planned = kvFamily
      .plan(asked)
      .find(({ cell }) => cell.side === 'napi' && cell.workload === 'get' && cell.driver === driver)!;
    await openCells(await kvFamily.open(asked, [planned]), [planned], async (cell) => {
      const aborting = new AbortController();
      const sample = cell.sample(stopwatch, aborting.signal);
      const aborted = expect(sample).rejects.toMatchObject({ code: 'BB_ABORTED' });
      await sleep(100);
      aborting.abort();
      await aborted;
    });
    expect(await keys()).toBe(0);
  });

  test('has its processes in the record, the configuration and the report of a run', async () => {
    const cwd = folderOfTest();
    const cells = ['--family', 'kv', '--workload', 'get', '--side', 'napi,rust', '--lane', 'call'];
    const sizes = ['--connections', '2', '--batch', '1', '--operations', '200', '--processes', '2'];
    const once = ['--forks', '1', '--samples', '1', '--time-budget', '0'];
    const args = ['run', ...cells, ...sizes, ...once, '--out', 'out'];
    const { exitCode, stderr } = await spawnCli([...args, '--redis-url', redis.url], { cwd, script: builtMain });
    expect(exitCode, stderr).toBe(0);
    const { context, records } = await readRun(join(cwd, 'out/run.json'));
    expect(context.config).toMatchObject({ processes: 2 });
    expect(records.map(({ outcome, processes, operations }) => ({ outcome, processes, operations }))).toEqual(
      records.map(() => ({ outcome: 'completed', processes: 2, operations: 400 })),
    );
    expect(records.some(({ side, driver }) => side === 'napi' && driver === 'all-cores')).toBe(true);
    expect(readFileSync(join(cwd, 'out/run.md'), 'utf8')).toContain('| 2 × 2 |');
  }, 300_000);
});

test('families whose cells are not measured in parts refuse --processes', async () => {
  const args = ['run', '--family', 'boundary', '--processes', '2'];
  const { exitCode, stderr } = await spawnCli(args, { cwd: tmpdir(), script: builtMain });
  expect(exitCode).toBe(2);
  expect(stderr).toContain('--processes');
});

describe.skipIf(lacks('mysql'))('a cell of sql', () => {
  const mysql = mysqlOfSuite();

  test.each([
    ['worker threads', 'all-cores', undefined],
    ['processes', undefined, 2],
  ])(
    'is measured by %s, each with a table of its own',
    async (_, driver, processes) => {
      const engines = { mysql: mysql.url };
      const asked = { rows: 0, workers: 1, engines, operations: 60, connections: [3], batch: [1, 8], processes };
      const chosen = new Set(['select_pk', 'insert', 'oltp_write_only']);
      const sides = new Set(processes === undefined ? ['napi'] : ['napi', 'rust']);
      const cells = sqlFamily
        .plan(asked)
        .filter(({ cell, client }) => client === undefined && chosen.has(cell.workload) && sides.has(cell.side))
        .filter(({ cell }) => cell.driver === driver && (cell.lane === 'call' || cell.lane === 'batch'));
      expect(cells.length).toBeGreaterThan(4);
      await sampled(await sqlFamily.open(asked, cells), cells);
    },
    120_000,
  );
});

describe('a cell of rest', () => {
  const asked = { rows: 0, workers: 1, engines: {}, operations: 40, connections: [2], batch: [1, 8], processes: 2 };
  const ofWorkload = (name: string) =>
    restFamily.plan(asked).filter(({ cell, client }) => cell.workload === name && client === undefined);

  test('is measured by several processes', async () => {
    const cells = ofWorkload('pkread');
    expect(cells.length).toBeGreaterThan(4);
    await sampled(await restFamily.open(asked, cells), cells);
  }, 120_000);

  test('is not measured by several processes if each would have a second server of its own', async () => {
    const [planned] = ofWorkload('pkread.two_servers');
    const family = await restFamily.open(asked, [planned!]);
    await expect(family.openCell(planned!)).rejects.toMatchObject({ code: 'BB_UNSUPPORTED' });
    await family.close();
  });
});
