import { readdir, readlink, symlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startOfProcess } from '../../src/host/process-start.js';
import { type ForkRecord, readLog } from '../../src/records/run-log.js';
import { RunDirectory } from '../../src/runner/run-directory.js';
import { LOCK, RunLock } from '../../src/runner/run-lock.js';
import { sampleRun } from '../records/sample-run.js';
import { folderOfTest } from '../temporary-folder.js';

let folder: string;
let before: string;

beforeEach(async () => {
  before = process.cwd();
  folder = folderOfTest();
  process.chdir(folder);
});

afterEach(async () => {
  process.chdir(before);
});

describe('a run without a directory', () => {
  it('gets one of its own, also if others start in the same second', async () => {
    const { context } = sampleRun();
    const runs = await Promise.all([1, 2, 3].map(() => RunDirectory.create(undefined, context)));
    const names = ['2026-05-02T10-00-00Z', '2026-05-02T10-00-00Z-2', '2026-05-02T10-00-00Z-3'];
    expect(runs.map(({ path }) => path).toSorted()).toEqual(names.map((name) => join('results', 'runs', name)));
    for (const run of runs) await run.close();
    expect((await readdir(join('results', 'runs'))).toSorted()).toEqual(names);
  });
});

describe('the log of a run', () => {
  it('has all that is appended at the same time, and is closed with the directory', async () => {
    const { context } = sampleRun();
    const directory = await RunDirectory.create('run', context);
    const forkOf = (index: number): ForkRecord => ({
      id: `cell ${index}`,
      samples: [{ fork: 1, seconds: 1 }],
      checksum: { rows: 1, sums: {} },
    });
    const appended = Array.from({ length: 20 }, (_, index) => directory.appendFork(forkOf(index)));
    await Promise.all([...appended, directory.setContext({ ...context, loopSeconds: 1 })]);
    await directory.close();
    const log = await readLog(join('run', 'run.jsonl'));
    expect(log.forks.map(({ id }) => id)).toEqual(Array.from({ length: 20 }, (_, index) => `cell ${index}`));
    expect(log.context.loopSeconds).toBe(1);
    if (process.platform !== 'linux') return;
    const open = await Promise.all(
      (await readdir('/proc/self/fd')).map((name) => readlink(join('/proc/self/fd', name)).catch(() => '')),
    );
    expect(open.filter((path) => path.startsWith(folder))).toEqual([]);
  });
});

describe('the lock of a directory', () => {
  const heldBy = (processId: number, started: string | undefined, host = hostname()): Promise<void> =>
    symlink(`${processId}/${started}/${host}`, LOCK);

  it('is held until it is released', async () => {
    const lock = await RunLock.take(folder);
    await expect(RunLock.take(folder)).rejects.toMatchObject({
      code: 'BB_OUT_BUSY',
      message: `another run writes into ${folder} (process ${process.pid})`,
    });
    await lock.release();
    await (await RunLock.take(folder)).release();
    expect(await readdir(folder)).toEqual([]);
  });

  it('is not held by a process that has ended, or by a later one with its id', async () => {
    await heldBy(2 ** 30, '1');
    await (await RunLock.take(folder)).release();
    await heldBy(process.pid, 'another time');
    await (await RunLock.take(folder)).release();
    expect(await readdir(folder)).toEqual([]);
  });

  it('goes to one of several that find a dead one', async () => {
    for (let round = 0; round < 200; round++) {
      await heldBy(2 ** 30, '1');
      const taken = await Promise.allSettled([1, 2, 3, 4].map(() => RunLock.take(folder)));
      const locks = taken.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
      expect(locks).toHaveLength(1);
      await locks[0]!.release();
    }
  });

  it('of another machine is held for all that is known', async () => {
    await heldBy(1, '1', 'elsewhere');
    await expect(RunLock.take(folder)).rejects.toMatchObject({
      message: `another run writes into ${folder} (process 1 on elsewhere)`,
      hint: expect.stringContaining(`Delete ${join(folder, LOCK)} if it has ended`),
    });
  });
});

describe('the start of a process', () => {
  it('is known of one that runs, stays the same, and of others is not known', () => {
    expect(startOfProcess(process.pid)).toMatch(/\S/);
    expect(startOfProcess(process.pid)).toBe(startOfProcess(process.pid));
    expect(startOfProcess(process.ppid)).not.toBe(startOfProcess(process.pid));
    expect(startOfProcess(2 ** 30)).toBeUndefined();
  });
});
