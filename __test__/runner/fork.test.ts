import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

import type { Family } from '../../src/families/workload.js';
import type { CompletedRecord, RunRecord } from '../../src/records/record.js';
import { readLog } from '../../src/records/run-log.js';
import type { RunEvent } from '../../src/runner/events.js';
import { type RunOptions, run } from '../../src/runner/run.js';
import { folderOfTest } from '../temporary-folder.js';
import { abortedAt } from './aborted-at.js';

const TYPED = 'sums/sum.typed/forwards/js/arrays/w1';
const TYPED_BACK = 'sums/sum.typed/backwards/js/arrays/w1';
const FORWARDS = { workload: ['sum.typed'], lane: ['forwards'] };

let folder: string;

beforeEach(() => void (folder = folderOfTest()));

/** The family as its module exports it to forks: it knows what is broken, and its forks write down what they are. */
async function forkedSums(broken: Readonly<Record<string, string>> = {}): Promise<Family> {
  const url = new URL('forked-sums.mjs', import.meta.url);
  url.searchParams.set('broken', JSON.stringify(broken));
  url.searchParams.set('log', join(folder, 'processes'));
  const module = (await import(url.href)) as { readonly forkedSums: Family };
  // Vitest serves modules under URLs of its own.
  return { ...module.forkedSums, module: url.href };
}

async function start(broken: Readonly<Record<string, string>> = {}, options: Partial<RunOptions> = {}) {
  return run({
    families: [await forkedSums(broken)],
    directory: join(folder, 'out'),
    workers: [1],
    forks: 2,
    samples: 3,
    timeBudgetSeconds: 0.01,
    filters: { workload: ['sum.typed'], lane: ['forwards', 'backwards'] },
    ...options,
  });
}

interface Opened {
  readonly pid: number;
  readonly ids: readonly string[];
  readonly engines: Readonly<Record<string, string>>;
}

/** The forks so far. */
async function processes(): Promise<Opened[]> {
  const text = await readFile(join(folder, 'processes'), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Opened);
}

function errorOf(records: readonly RunRecord[], id: string): { readonly code: string; readonly message: string } {
  const record = records.find((each) => each.id === id);
  if (record?.outcome !== 'failed') throw new Error(`${id} has not failed, but is ${record?.outcome}`);
  return record.error;
}

describe('a cell of a family that names its module', () => {
  it('is measured by several processes, each of which opens it alone', async () => {
    const { run: finished } = await start();
    const [typed, back] = finished.records as CompletedRecord[];
    expect(typed!.samples.map(({ fork }) => fork)).toEqual([1, 1, 1, 2, 2, 2]);
    expect(back!.samples.map(({ fork }) => fork)).toEqual([1, 1, 1, 2, 2, 2]);
    expect(typed!.checksum).toEqual({ rows: 1000, sums: { value: '499500' } });
    const forks = await processes();
    expect(forks.flatMap(({ ids }) => ids).toSorted()).toEqual([TYPED_BACK, TYPED_BACK, TYPED, TYPED]);
    expect(new Set([process.pid, ...forks.map(({ pid }) => pid)]).size).toBe(5);
  });

  it('takes turns with the others, block by block', async () => {
    const events: RunEvent[] = [];
    const { run: finished } = await start({}, { onEvent: (event) => events.push(event), samples: 5 });
    const [typed, back] = finished.records as CompletedRecord[];
    const blocks = (record: CompletedRecord): (number | undefined)[] => record.samples.map(({ block }) => block);
    expect(blocks(typed!)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(blocks(back!)).toEqual(blocks(typed!));
    const ids = events.flatMap((event) => (event.type === 'sample' ? [event.cell.id] : []));
    for (let at = 0; at < ids.length; at += 2) {
      expect([ids[at], ids[at + 1]].toSorted()).toEqual([TYPED_BACK, TYPED]);
    }
  });

  it('that stands for two has two processes in the same turns', async () => {
    const { run: finished } = await start({}, { aa: true, forks: 1, filters: FORWARDS });
    const [typed] = finished.records as CompletedRecord[];
    expect(typed!.samples.map(({ fork, block }) => [fork, block])).toEqual([
      [1, 1],
      [1, 2],
      [1, 3],
      [2, 1],
      [2, 2],
      [2, 3],
    ]);
  });

  it('gets the options of the servers that the process of the run has started', async () => {
    await start({}, { engines: { arrays: 'arrays://own' } });
    for (const { engines } of await processes()) expect(engines).toEqual({ arrays: 'arrays://shared' });
  });

  it('is measured on other runtimes too, each a cell of its own', async () => {
    const { run: finished } = await start({}, { runtimes: [process.execPath, '/nowhere/bun', 'node@0', 'perl'] });
    const ofTyped = finished.records.filter(({ id }) => id.startsWith(TYPED));
    expect(ofTyped.map(({ runtime }) => runtime)).toEqual([
      undefined,
      process.execPath,
      '/nowhere/bun',
      'node@0',
      'perl',
    ]);
    const [usual, other, ...missing] = ofTyped as (CompletedRecord & { reason?: string })[];
    expect(other!.checksum).toEqual(usual!.checksum);
    expect(other!.samples.map(({ fork }) => fork)).toEqual([1, 1, 1, 2, 2, 2]);
    expect(missing.map(({ reason }) => reason)).toEqual([
      'there is no runtime at /nowhere/bun',
      'the runtime node@0 is not installed: run `npx boundary-bench setup runtime node@0`',
      'perl is no runtime: it must be a path, or node, bun or deno, with a version such as node@22',
    ]);
  });

  it('tells its steps', async () => {
    const events: RunEvent[] = [];
    await start({}, { onEvent: (event) => events.push(event), filters: FORWARDS });
    const steps = events.flatMap((event) => {
      if (event.type === 'cell-opening') return [`fork ${event.fork}`];
      return event.type === 'sample' ? [`sample ${event.number}`] : [];
    });
    expect(steps).toEqual(['fork 1', 'sample 1', 'sample 2', 'sample 3', 'fork 2', 'sample 1', 'sample 2', 'sample 3']);
  });

  it('fails with the error that it had in its process, and is not measured again', async () => {
    const { run: finished } = await start({ [TYPED]: 'mismatch' });
    expect(errorOf(finished.records, TYPED)).toEqual({
      code: 'BB_CHECKSUM_MISMATCH',
      message: 'the sum of value: read 499501, expected 499500',
    });
    expect(finished.records[1]).toMatchObject({ outcome: 'completed' });
    expect((await processes()).filter(({ ids }) => ids[0] === TYPED && ids.length === 1)).toHaveLength(1);
  });

  it('is skipped with the reason if it cannot be served', async () => {
    const { run: finished } = await start({ [TYPED_BACK]: 'unsupported' });
    expect(finished.records[1]).toMatchObject({ outcome: 'skipped', reason: 'the adder has no backwards' });
  });

  it('fails if its process crashes or ends, with how it ended', async () => {
    const { run: finished } = await start({ [TYPED]: 'kill', [TYPED_BACK]: 'exit' });
    const ended = (how: string) => ({ code: 'BB_FORK', message: `the process that measured the cell ended by ${how}` });
    expect(errorOf(finished.records, TYPED)).toEqual(ended('SIGKILL'));
    expect(errorOf(finished.records, TYPED_BACK)).toEqual(ended('exit code 3'));
  });

  it('fails if it takes too long, also if it does not listen', async () => {
    const { run: finished } = await start({ [TYPED]: 'deaf' }, { timeoutSeconds: 5 });
    expect(errorOf(finished.records, TYPED)).toEqual({
      code: 'BB_TIMEOUT',
      message: 'the cell was not measured within 5 seconds',
    });
    expect(finished.records[1]).toMatchObject({ outcome: 'completed' });
  });
});

describe('an interrupted run of forks', () => {
  it('keeps what whole processes measured, and goes on with the others', async () => {
    const isSecond = (event: RunEvent): boolean => event.type === 'cell-opening' && event.fork === 2;
    const before = await start({}, abortedAt(isSecond));
    expect(before.unmeasured).toEqual([TYPED, TYPED_BACK]);
    const { forks } = await readLog(join(folder, 'out', 'run.jsonl'));
    expect(
      forks
        .map(({ id, samples }) => [id, samples.length])
        .toSorted()
        .toReversed(),
    ).toEqual([
      [TYPED, 3],
      [TYPED_BACK, 3],
    ]);
    const opened = (await processes()).length;
    const after = await start({}, { resume: true });
    expect(after.unmeasured).toEqual([]);
    const [typed] = after.run.records as CompletedRecord[];
    expect(typed!.samples.slice(0, 3)).toEqual(forks.find(({ id }) => id === TYPED)!.samples);
    expect(typed!.samples.map(({ fork }) => fork)).toEqual([1, 1, 1, 2, 2, 2]);
    expect((await processes()).length - opened).toBe(2);
    expect((await readLog(join(folder, 'out', 'run.jsonl'))).forks).toEqual([]);
  });

  it('does not wait for a cell that does not listen', async () => {
    const isWarmUp = ({ type }: RunEvent): boolean => type === 'warm-up';
    const result = await start({ [TYPED]: 'hang' }, abortedAt(isWarmUp));
    expect(result.aborted).toBe(true);
    expect(result.run.records).toEqual([]);
  });
});
