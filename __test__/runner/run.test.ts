import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { appendFile, readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { CompletedRecord } from '../../src/records/record.js';
import { readRun } from '../../src/records/run-file.js';
import { readLog } from '../../src/records/run-log.js';
import type { RunEvent } from '../../src/runner/events.js';
import { type RunOptions, run } from '../../src/runner/run.js';
import { LatencyHistogram } from '../../src/stats/latency-histogram.js';
import { type FilledValues, type OptionTable, option } from '../../src/families/option.js';
import { kinds } from '../../src/families/option-values.js';
import { REQUEST_OPTIONS, type RequestValues } from '../../src/families/requests/options.js';
import type { Family, FamilyOptions, OpenCell, OpenFamily } from '../../src/families/workload.js';
import { network } from '../records/sample-run.js';
import { abortedAt } from './aborted-at.js';
import { sumFamily } from './sum-family.mjs';
import { errorWith } from '../error-with.js';
import { folderOfTest } from '../temporary-folder.js';
import { listening } from '../listening.js';

const TYPED = 'sums/sum.typed/forwards/js/arrays/w1';
const TYPED_BACK = 'sums/sum.typed/backwards/js/arrays/w1';
const BOXED = 'sums/sum.boxed/forwards/js/arrays/w1';
const BOXED_BACK = 'sums/sum.boxed/backwards/js/arrays/w1';
const SIDEWAYS = 'sums/sum.typed/sideways/js/arrays/w1';

/** Whether an event is the record of the first cell. */
const isTyped = (event: RunEvent): boolean => event.type === 'record' && event.record.id === TYPED;

let directory: string;

beforeEach(() => void (directory = join(folderOfTest(), 'out')));

function start(options: Partial<RunOptions> = {}) {
  return run({
    families: [sumFamily()],
    directory,
    workers: [1],
    forks: 1,
    samples: 2,
    timeBudgetSeconds: 0.01,
    ...options,
  });
}

/** The family with other functions once it is open. */
function opened<Values extends object>(
  family: Family<Values>,
  change: (open: OpenFamily, options: FamilyOptions & Partial<Values>) => Partial<OpenFamily>,
): Family<Values> {
  const open: typeof family.open = async (options, cells) => {
    const before = await family.open(options, cells);
    return { ...before, ...change(before, options) };
  };
  return { ...family, open };
}

/** The family whose samples are taken by `sample`. */
function sampled<Values extends object>(
  family: Family<Values>,
  sample: (cell: OpenCell, id: string, options: Partial<Values>) => OpenCell['sample'],
): Family<Values> {
  return opened(family, (open, options) => ({
    openCell: async (planned) => {
      const cell = await open.openCell(planned);
      return { ...cell, sample: sample(cell, planned.cell.id, options) };
    },
  }));
}

const outcomes = (records: readonly { id: string; outcome: string }[]): Record<string, string> =>
  Object.fromEntries(records.map(({ id, outcome }) => [id, outcome]));

describe('run', () => {
  it('measures every cell, in groups, and writes the three files', async () => {
    const log: string[] = [];
    const result = await start({ families: [sumFamily({ log })], rows: 5000 });

    expect(result.aborted).toBe(false);
    expect(result.run.records.map(({ id }) => id)).toEqual([TYPED, TYPED_BACK, BOXED, BOXED_BACK, SIDEWAYS]);
    expect(outcomes(result.run.records)[SIDEWAYS]).toBe('skipped');
    const record = result.run.records[0] as CompletedRecord;
    expect(record.samples).toHaveLength(2);
    expect(record.checksum).toEqual({ rows: 5000, sums: { value: '12497500' } });
    expect(record.summary.rowsPerSecond).toBeGreaterThan(0);
    expect(record.samples[0]).toMatchObject({
      seconds: expect.any(Number),
      cpuUserSeconds: expect.any(Number),
      peakRssBytes: expect.any(Number),
      gcSeconds: expect.any(Number),
      longestStallMs: expect.any(Number),
    });

    expect((await readdir(directory)).toSorted()).toEqual(['run.html', 'run.json', 'run.jsonl', 'run.md']);
    expect(await readRun(join(directory, 'run.json'))).toEqual(result.run);
    expect((await readLog(join(directory, 'run.jsonl'))).records).toHaveLength(5);
    expect(await readFile(join(directory, 'run.md'), 'utf8')).toContain('sum.typed');
    expect(result.run.context).toMatchObject({
      versions: { node: process.versions.node, adder: '1.0' },
      config: { rows: { sums: 5000 }, workers: [1], samples: 2, timeBudgetSeconds: expect.any(Number) },
    });

    const steps = log.filter((entry, index) => entry !== log[index - 1]);
    const ofCells = [TYPED, TYPED_BACK, BOXED, BOXED_BACK].flatMap((id) => [
      `open ${id}`,
      `sample ${id}`,
      `close ${id}`,
    ]);
    expect(steps).toEqual(['open', ...ofCells, 'close']);
  });

  it('measures the cells of a group in rounds, in another order each time', async () => {
    const log: string[] = [];
    const { run: finished } = await start({ families: [sumFamily({ log })], forks: 3 });
    const opened = log.filter((entry) => entry.startsWith('open sums/sum.typed'));
    const rounds = [TYPED, TYPED_BACK, TYPED_BACK, TYPED, TYPED, TYPED_BACK];
    expect(opened).toEqual(rounds.map((id) => `open ${id}`));
    const [record] = finished.records as CompletedRecord[];
    expect(record!.samples.map(({ fork }) => fork)).toEqual(Array(6).fill(undefined));
  });

  it('measures a slow cell in fewer rounds', async () => {
    const log: string[] = [];
    const slow = sampled(sumFamily({ log }), (cell, id) => async (stopwatch, signal) => {
      const checksum = await cell.sample(stopwatch, signal);
      if (id === TYPED) stopwatch.add({ seconds: 2 });
      return checksum;
    });
    const { run: finished } = await start({ families: [slow], forks: 4, slowForks: 3 });
    const opened = (id: string): number => log.filter((entry) => entry === `open ${id}`).length;
    expect([TYPED, TYPED_BACK].map(opened)).toEqual([3, 4]);
    expect((finished.records as CompletedRecord[])[0]!.samples).toHaveLength(6);
  });

  it('records a cell that fails, whatever goes wrong with it, and measures the others', async () => {
    const broken = { [TYPED]: 'throw', [TYPED_BACK]: 'mismatch', [BOXED]: 'open', [BOXED_BACK]: 'close' } as const;
    const { run: finished } = await start({ families: [sumFamily({ broken })], workers: [1, 2], rows: 10 });
    const errors = finished.records.flatMap((record) =>
      record.outcome === 'failed' ? [[record.id, record.error]] : [],
    );
    expect(Object.fromEntries(errors)).toEqual({
      [TYPED]: { code: 'BB_UNEXPECTED', message: 'the adder broke' },
      [TYPED_BACK]: { code: 'BB_CHECKSUM_MISMATCH', message: 'the sum of value: read 46, expected 45' },
      [BOXED]: { code: 'BB_STUCK', message: 'the cell is stuck' },
      [BOXED_BACK]: { code: 'BB_UNEXPECTED', message: 'the cell does not close' },
    });
    expect(finished.records.filter(({ outcome }) => outcome === 'completed')).toHaveLength(4);
  });

  it('fails the cells of a family that does not open, or does not know its versions', async () => {
    const log: string[] = [];
    const sums = sumFamily({ log });
    const closed = { ...sums, open: () => Promise.reject(new Error('no engine')) };
    const nameless = opened(sums, () => ({ versions: () => Promise.reject(new Error('no engine')) }));
    for (const [index, family] of [closed, nameless].entries()) {
      const { run: finished } = await start({ families: [family], directory: join(directory, String(index)) });
      expect(finished.records.map(({ outcome }) => outcome)).toEqual([...Array(4).fill('failed'), 'skipped']);
    }
    expect(log).toEqual(['open', 'close']);
  });

  it('fails a cell that misuses the stopwatch', async () => {
    const family = sampled(sumFamily(), (cell) => async () => cell.expected);
    const { run: finished } = await start({ families: [family], filters: { workload: ['sum.boxed'] } });
    expect(finished.records[0]).toMatchObject({
      error: { code: 'BB_STOPWATCH', message: 'the stopwatch of this cell was never started' },
    });
  });

  it('tells what happens, in order', async () => {
    const events: RunEvent[] = [];
    await start({ filters: { workload: ['sum.boxed'], lane: ['forwards'] }, onEvent: (event) => events.push(event) });
    const types = events.map(({ type }) => type).filter((type) => type !== 'warm-up');
    expect(types).toEqual([
      'run-started',
      'family-opening',
      'cell-opening',
      'sample',
      'sample',
      'record',
      'run-finished',
    ]);
    expect(events.filter(({ type }) => type === 'warm-up').length).toBeGreaterThan(0);
    expect(events.at(-2)).toMatchObject({ doneCells: 1, totalCells: 1 });
  });

  it('collects the young garbage before each sample', async () => {
    const collections: string[] = [];
    const log: string[] = [];
    const collectGarbage = (which: string) => void collections.push(which);
    const events: RunEvent[] = [];
    await start({ families: [sumFamily({ log })], collectGarbage, onEvent: (event) => events.push(event) });
    const executions = log.filter((entry) => entry.startsWith('sample')).length;
    const countOf = (which: string): number => collections.filter((each) => each === which).length;
    const samples = events.reduce((sum, event) => {
      if (event.type === 'warm-up') return sum + 1;
      // A short sample follows one that is not recorded.
      return event.type === 'sample' ? sum + 2 + (event.sample.retaken ?? 0) : sum;
    }, 0);
    // If other tests of this process have left much, all is collected too, and the young generation once or twice more.
    const more = countOf('young') - countOf('all') - samples;
    expect(more).toBeGreaterThanOrEqual(0);
    expect(more).toBeLessThanOrEqual(countOf('all'));
    // The executions of a sample follow each other.
    expect(executions).toBeGreaterThan(samples);
  });

  it('runs a short cell once more, not measured, if collecting all garbage threw its code away', async () => {
    const log: string[] = [];
    const kept: ArrayBuffer[] = [];
    const greedy = sampled(sumFamily({ log }), (cell) => (stopwatch, signal) => {
      kept.push(new ArrayBuffer(40 << 20));
      return cell.sample(stopwatch, signal);
    });
    const events: RunEvent[] = [];
    const onEvent = (event: RunEvent): void => void events.push(event);
    const { run: result } = await start({
      families: [greedy],
      collectGarbage: () => {},
      onEvent,
      timeBudgetSeconds: 0,
    });
    const ofCell = (entries: readonly string[]): number =>
      entries.filter((entry) => entry === `sample ${TYPED}`).length;
    const executions = events.filter((event) => 'cell' in event && event.cell.id === TYPED);
    const measured = executions.filter(({ type }) => type === 'warm-up' || type === 'sample').length;
    expect(result.records.find(({ id }) => id === TYPED)).toMatchObject({ samples: [{}, {}] });
    // How often V8 collects the buffers is its own decision.
    expect(ofCell(log)).toBeGreaterThan(measured);
  });

  it('warns when a family does not close, and keeps the results', async () => {
    const family = opened(sumFamily(), () => ({ close: () => Promise.reject(new Error('jammed')) }));
    const events: RunEvent[] = [];
    await start({ families: [family], onEvent: (event) => events.push(event) });
    expect(events).toContainEqual({
      type: 'warning',
      message: 'closing the family sums failed: BB_UNEXPECTED: jammed',
    });
    expect((await readRun(join(directory, 'run.json'))).records).toHaveLength(5);
  });

  it('refuses a directory that holds a run', async () => {
    await start();
    await expect(start()).rejects.toMatchObject({ code: 'BB_OUT_EXISTS' });
  });
});

describe('an aborted run', () => {
  it('writes what is done, and records no cell that was under way', async () => {
    const controller = new AbortController();
    const log: string[] = [];
    const result = await start({
      families: [sumFamily({ log, broken: { [BOXED_BACK]: 'hang' } })],
      signal: controller.signal,
      onEvent: (event) => {
        // The last warm-up begins to hang right after this.
        if (event.type === 'warm-up' && event.cell.id === BOXED_BACK) setImmediate(() => controller.abort());
      },
    });
    expect(result.aborted).toBe(true);
    expect(result.unmeasured).toEqual([BOXED_BACK]);
    expect(outcomes(result.run.records)).toEqual({
      [TYPED]: 'completed',
      [TYPED_BACK]: 'completed',
      [BOXED]: 'completed',
      [SIDEWAYS]: 'skipped',
    });
    expect(await readRun(join(directory, 'run.json'))).toEqual(result.run);
    expect(log.slice(-2)).toEqual([`close ${BOXED_BACK}`, 'close']);
  });

  it('measures nothing when it was aborted before it began', async () => {
    const log: string[] = [];
    const result = await start({ families: [sumFamily({ log })], signal: AbortSignal.abort() });
    expect(log).toEqual([]);
    expect(result.unmeasured).toHaveLength(5);
  });
});

describe("a cell that its server can't serve", () => {
  it('is skipped with its reason, and the others go on', async () => {
    const { run: finished } = await start({
      families: [sumFamily({ broken: { [TYPED_BACK]: 'unsupported', [BOXED]: 'open' } })],
    });
    expect(finished.records[1]).toMatchObject({ outcome: 'skipped', reason: 'the adder has no backwards' });
    expect(finished.records[2]).toMatchObject({ outcome: 'failed', error: { code: 'BB_STUCK' } });
    expect(finished.records[3]).toMatchObject({ outcome: 'completed' });
  });
});

describe('a named server that ends', () => {
  /** The sums with a server, which a cell reaches and which ends with the cell `ending`. */
  async function served(ending: string): Promise<{ family: Family; port: number; reached: () => number }> {
    const server = createServer((socket) => socket.end()).unref();
    const port = await listening(server);
    const sums = sumFamily({ broken: { [ending]: 'throw' } });
    let reached = 0;
    const family = opened(sums, (open) => ({
      openCell: (planned) => {
        if (planned.cell.id === ending) server.close();
        return open.openCell(planned);
      },
    }));
    const reach = async (): Promise<void> => {
      reached += 1;
      await once(connect(port, '127.0.0.1'), 'connect');
    };
    return { family: { ...family, reach }, port, reached: () => reached };
  }

  it('is told once, skips the cells that are left, and has them measured by a resumed run', async () => {
    const { family, port } = await served(TYPED_BACK);
    const events: RunEvent[] = [];
    const { run: finished } = await start({ families: [family], onEvent: (event) => events.push(event) });
    expect(outcomes(finished.records)).toEqual({
      [TYPED]: 'completed',
      [TYPED_BACK]: 'failed',
      [BOXED]: 'skipped',
      [BOXED_BACK]: 'skipped',
      [SIDEWAYS]: 'skipped',
    });
    const reason = `the server of arrays has not been usable since ${TYPED_BACK} failed: connect ECONNREFUSED 127.0.0.1:${port}`;
    expect(finished.records.slice(2, 4)).toMatchObject([
      { reason, serverEnded: true },
      { reason, serverEnded: true },
    ]);
    expect(finished.records[4]).not.toHaveProperty('serverEnded');
    const warnings = events.filter(({ type }) => type === 'warning');
    expect(warnings).toEqual([expect.objectContaining({ message: expect.stringContaining('is skipped') })]);
    expect(await readRun(join(directory, 'run.json'))).toEqual(finished);
    const { run: resumed } = await start({ resume: true });
    expect(outcomes(resumed.records)).toMatchObject({
      [TYPED_BACK]: 'completed',
      [BOXED]: 'completed',
      [BOXED_BACK]: 'completed',
      [SIDEWAYS]: 'skipped',
    });
  });

  it('is asked again after a cell has failed, and its cells go on if it answers', async () => {
    const { family, reached } = await served('none');
    const broken = { ...family, open: sumFamily({ broken: { [TYPED]: 'throw' } }).open };
    const { run: finished } = await start({ families: [broken] });
    expect(finished.records.filter(({ outcome }) => outcome === 'completed')).toHaveLength(3);
    expect(reached()).toBe(2);
  });
});

describe('a run of requests', () => {
  const latencyOf = (nanoseconds: number): string => {
    const histogram = new LatencyHistogram();
    histogram.record(nanoseconds);
    return histogram.toBase64();
  };

  /** A family whose samples have latencies of 10 ns, 20 ns, ... */
  function echoes(): Family<RequestValues> {
    const sums: Family<RequestValues> = { ...sumFamily(), options: REQUEST_OPTIONS };
    let samples = 0;
    return sampled(sums, (cell, _, { rate }) => (stopwatch, signal) => {
      samples += 1;
      const late = rate === undefined ? {} : { behind: latencyOf(samples) };
      stopwatch.addRequests({ latency: latencyOf(samples * 10), serverCpuUserSeconds: 0.25, ...late });
      return cell.sample(stopwatch, signal);
    });
  }

  it('keeps the latencies of each sample, and merges them in the record', async () => {
    const { run: finished } = await start({ families: [echoes()], filters: { workload: ['sum.typed'] }, rate: 5 });
    const [first] = finished.records as CompletedRecord[];
    expect(first!.samples.map(({ serverCpuUserSeconds }) => serverCpuUserSeconds)).toEqual([0.25, 0.25]);
    const all = LatencyHistogram.merged(first!.samples.map(({ latency }) => latency!))!;
    expect(first!.latency).toEqual(all.summary());
    expect(all.count).toBe(first!.samples.reduce((sum, { executions = 1 }) => sum + executions, 0));
    expect(first!.latency!.max / first!.behind!.max).toBeCloseTo(10, 1);
    expect(await readRun(join(directory, 'run.json'))).toEqual(finished);
    expect(finished.context.config).toMatchObject({ rate: 5 });
  });

  it('writes no secret of a URL down, and wants it again to go on', async () => {
    const arrays = 'arrays://user:geheim@host?password=geheim';
    const { run: before } = await start({ engines: { arrays }, ...abortedAt(isTyped) });
    expect(before.context.config['engines']).toEqual({ arrays: 'arrays://***@host?password=***' });
    for (const file of await readdir(directory)) {
      expect(await readFile(join(directory, file), 'utf8')).not.toContain('geheim');
    }
    await expect(start({ resume: true })).rejects.toMatchObject({
      code: 'BB_RESUME_MISMATCH',
      hint: 'Give the URL of arrays again.',
    });
    await expect(start({ resume: true, engines: { arrays: 'arrays://other' } })).rejects.toMatchObject({
      code: 'BB_RESUME_MISMATCH',
      message: expect.not.stringContaining('geheim'),
    });
    const { unmeasured } = await start({ resume: true, engines: { arrays } });
    expect(unmeasured).toEqual([]);
  });
});

it('writes down the networks that a family simulates, and what it did otherwise', async () => {
  const family = opened(sumFamily(), () => ({
    networks: async () => ({ arrays: network }),
    adaptations: async () => ({ arrays: ['arrays are emptied by hand'] }),
  }));
  const { run: measured } = await start({ families: [family] });
  expect(measured.context.networks).toEqual({ arrays: network });
  expect(measured.context.adaptations).toEqual({ arrays: ['arrays are emptied by hand'] });
  expect((await readRun(join(directory, 'run.json'))).context).toEqual(measured.context);
  expect((await readLog(join(directory, 'run.jsonl'))).context).toEqual(measured.context);
});

describe('a resumed run', () => {
  function interrupt() {
    const families = [sumFamily({ broken: { [TYPED_BACK]: 'throw' } })];
    return start({ families, filters: { family: ['sums'] }, rows: 50, ...abortedAt(isTyped) });
  }

  it('keeps what is done, tries again what failed, and measures the rest as the run was started', async () => {
    const before = await interrupt();
    expect(outcomes(before.run.records)).toEqual({ [TYPED]: 'completed', [SIDEWAYS]: 'skipped' });
    // The rest that a crash in the middle of a line leaves.
    await appendFile(join(directory, 'run.jsonl'), '{"type":"record","rec');

    const log: string[] = [];
    const after = await run({ families: [sumFamily({ log })], directory, resume: true });
    expect(after.unmeasured).toEqual([]);
    expect(Object.values(outcomes(after.run.records))).toEqual([...Array(4).fill('completed'), 'skipped']);
    expect(after.run.records[0]).toEqual(before.run.records[0]);
    expect(after.run.records.every(({ rows }) => rows === 50)).toBe(true);
    const { seconds, ...context } = before.run.context;
    expect(after.run.context).toEqual({ ...context, seconds: expect.any(Number) as number });
    expect(after.run.context.seconds).toBeGreaterThan(seconds!);
    expect(log).not.toContain(`sample ${TYPED}`);
    expect(log.filter((entry) => entry === `open ${TYPED_BACK}`)).toHaveLength(1);
  });

  it('takes options that agree and refuses those that do not', async () => {
    await interrupt();
    await expect(start({ resume: true, rows: 51 })).rejects.toMatchObject({
      code: 'BB_RESUME_MISMATCH',
      message: "the run was started with rows 50, and can't go on with 51",
    });
    await expect(start({ resume: true, filters: { side: ['js'] } })).rejects.toThrow(errorWith('BB_RESUME_MISMATCH'));
    await start({ resume: true, rows: 50, filters: { family: ['sums'] } });
  });

  it('goes on with the options of its families, and refuses others', async () => {
    const seen: unknown[] = [];
    const table = {
      scale: option('--scale <n>', kinds.scale, '', { default: 0.5 }),
      netBandwidthMbps: option('--net-bandwidth-mbps <n>', kinds.amount, '', { default: 0 }),
      dataDir: option('--data-dir <path>', kinds.path, ''),
    } satisfies OptionTable;
    const withOptions = (): Family<FilledValues<typeof table>> => {
      const family = sumFamily();
      return {
        ...family,
        options: table,
        plan: (options) => {
          seen.push([options.scale, options.netBandwidthMbps, options.dataDir]);
          return family.plan(options);
        },
      };
    };
    const begin = (options: Partial<RunOptions> = {}) => start({ families: [withOptions()], ...options });
    const { run: before } = await begin({ scale: 2, dataDir: '/data', netDelayUs: 1 });
    expect(before.context.config).toMatchObject({ scale: 2, netBandwidthMbps: 0, dataDir: '/data' });
    expect(before.context.config).not.toHaveProperty('netDelayUs');
    await expect(begin({ resume: true, scale: 3 })).rejects.toMatchObject({
      code: 'BB_RESUME_MISMATCH',
      message: "the run was started with scale 2, and can't go on with 3",
    });
    await expect(begin({ resume: true, netBandwidthMbps: 5 })).rejects.toThrow(errorWith('BB_RESUME_MISMATCH'));
    const count = seen.length;
    await begin({ resume: true });
    await begin({ resume: true, netBandwidthMbps: 0 });
    expect(new Set(seen.slice(count).map(String))).toEqual(new Set(['2,0,/data']));
    expect((await start({ directory: `${directory}-other` })).run.context.config).not.toHaveProperty('scale');
  });

  it('takes one filter of several for all of them', async () => {
    await start({ filters: { family: ['sums'], lane: ['forwards'] } });
    const { run: finished } = await start({ resume: true, filters: { family: ['sums'] } });
    expect(finished.records.map(({ id }) => id)).toEqual([TYPED, BOXED]);
    await expect(start({ resume: true, filters: { lane: ['backwards'] } })).rejects.toMatchObject({
      message: `the run was started with lane ["forwards"], and can't go on with ["backwards"]`,
    });
  });

  it('refuses another machine or build, and a directory without a run', async () => {
    await interrupt();
    const build = { profile: 'release', targetCpu: 'native', rustc: '1.90.0', addonPath: process.execPath };
    await expect(start({ resume: true, build })).rejects.toThrow(
      errorWith('BB_RESUME_MISMATCH', 'the build of the addon'),
    );
    await expect(start({ resume: true, directory: `${directory}-no` })).rejects.toThrow(errorWith('BB_RESUME_NOTHING'));
  });

  it('opens nothing when everything is done', async () => {
    await start();
    const log: string[] = [];
    const result = await run({ families: [sumFamily({ log })], directory, resume: true });
    expect(log).toEqual([]);
    expect(result.run.records).toHaveLength(5);
  });
});
