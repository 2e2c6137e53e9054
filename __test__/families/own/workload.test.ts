import fs from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';

import { groupBy } from '../../../src/compare/cell-groups.js';
import { loadOwn, wordsOf } from '../../../src/cli/own-files.js';
import { type OwnWorkload, workload } from '../../../src/families/own/workload.js';
import { program } from '../../../src/families/own/program.js';
import type { CompletedRecord, RunRecord } from '../../../src/records/record.js';
import { readRun } from '../../../src/records/run-file.js';
import { run } from '../../../src/run.js';
import { folderOfSuite } from '../../temporary-folder.js';

const FILE = fileURLToPath(new URL('sum.bench.mjs', import.meta.url));

const folder = folderOfSuite();

describe('a workload of the user', () => {
  const js = (value: number): number => value;

  it('plans a cell for each way and size, on the side that the name begins with', () => {
    const family = workload('work', {
      sizes: [1, 10],
      items: (size) => size,
      ways: { js, 'napi, one call': js, wasm: js, rust: program('p'), other: { side: 'napi', run: js } },
    });
    const cells = family.plan({ rows: 1, workers: 1, engines: {} });
    expect(cells.map(({ cell }) => [cell.id, cell.workload, cell.side, cell.items, cell.size])).toEqual([
      ['work/1/js', 'work.1', 'js', 1, 1],
      ['work/1/napi-one-call', 'work.1', 'napi', 1, 1],
      ['work/1/wasm', 'work.1', 'js', 1, 1],
      ['work/1/rust', 'work.1', 'rust', 1, 1],
      ['work/1/other', 'work.1', 'napi', 1, 1],
      ['work/10/js', 'work.10', 'js', 10, 10],
      ['work/10/napi-one-call', 'work.10', 'napi', 10, 10],
      ['work/10/wasm', 'work.10', 'js', 10, 10],
      ['work/10/rust', 'work.10', 'rust', 10, 10],
      ['work/10/other', 'work.10', 'napi', 10, 10],
    ]);
    expect(cells.map(({ rustLane }) => rustLane).slice(0, 5)).toEqual(['rust', 'rust', 'rust', undefined, 'rust']);
  });

  it.each<[string, Partial<OwnWorkload<number>>]>([
    ['has no ways', { ways: {} }],
    ['does not say on which side it is', { ways: { fast: js } }],
    ['must be a function or a program', { ways: { js: 3 as never } }],
    ['side of the way x must be one of rust, napi, js', { ways: { x: { side: 'wasm' as never, run: js } } }],
    ['have the same name', { ways: { 'js a': js, 'js-a': js } }],
    ['needs a name with letters', { ways: { '??': js } }],
    ['sizes must be an array of numbers', { sizes: ['a' as never], ways: { js } }],
    ['sizes must be an array of numbers', { sizes: [], ways: { js } }],
    ['two sizes are the same', { sizes: [1, 1], ways: { js } }],
    ['timed of the way rust must be a function', { ways: { rust: { timed: 3 as never, run: js } } }],
    ['run of the way rust that times itself must be a function', { ways: { rust: { timed: () => 1 } as never } }],
    ['does not say on which side it is', { ways: { fast: { timed: () => 1, run: js } } }],
    ['tolerance must be a number', { tolerance: -1, ways: { js } }],
    ['ways must be an object', { ways: 3 as never }],
    ['input must be a function', { input: 3 as never, ways: { js } }],
    ['the workload work: there is no option "size"; did you mean sizes?', { size: [1, 2], ways: { js } } as never],
    ['there is no option "chek"; did you mean check?', { chek: js, ways: { js } } as never],
    ['there is no option "imput"; did you mean input?', { imput: js, ways: { js } } as never],
    ['the way x: there is no option "sied"; did you mean side?', { ways: { x: { sied: 'js', run: js } as never } }],
    ['the way js: there is no option "timd"; did you mean timed?', { ways: { js: { timd: js, run: js } as never } }],
    [
      'the way rust: there is no option "argument"; did you mean arguments?',
      {
        ways: { rust: { program: 'p', argument: [] } as never },
      },
    ],
    ['arguments of the way rust must be an array', { ways: { rust: { program: 'p' } as never } }],
    ['the ways are js; did you mean js?', { ways: { js }, noop: { jss: js } }],
    ['read must be a function', { read: 3 as never, ways: { js } }],
    ['inputs must be an object of inputs by their names', { inputs: [1] as never, ways: { js } }],
    ['inputs must be an object of inputs by their names', { inputs: {}, ways: { js } }],
    ['inputs have names, and stand instead of sizes and input', { inputs: { a: 1 }, sizes: [1], ways: { js } }],
    ['inputs have names, and stand instead of sizes and input', { inputs: { '': 1 }, ways: { js } }],
    ['fresh must be true or false', { fresh: 1 as never, ways: { js } }],
    ['fresh inputs are made by a function, and there is none', { fresh: true, ways: { js } }],
    ['fresh inputs are made by a function, and the input a is none', { fresh: true, inputs: { a: 1 }, ways: { js } }],
    ['the way rust is a program', { fresh: true, input: js, ways: { js, rust: program('p') } }],
    ['setup must be a function', { setup: 3 as never, ways: { js } }],
    ['noop has a twin of "napi"; the ways are js', { ways: { js }, noop: { napi: js } }],
    ['the twin of the way js must be a function', { ways: { js }, noop: { js: 3 as never } }],
  ])('is refused if it makes no sense: %s', (message, definition) => {
    expect(() => workload('work', definition as OwnWorkload<number>)).toThrow(message);
  });

  it('has programs whose options are checked', () => {
    expect(() => program('p', [], { bytes: 3 as never })).toThrow('bytes must be a function');
    expect(() => program('p', [], { byte: js } as never)).toThrow('there is no option "byte"');
  });

  it('has twins of ways, which take turns with them and compete with nothing', () => {
    const family = workload('work', { ways: { js, napi: js, rust: program('p') }, noop: { napi: () => undefined } });
    const twin = family.plan({ rows: 1, workers: 1, engines: {} }).at(-1)!;
    expect(twin.cell).toMatchObject({ id: 'work/napi-noop', lane: 'napi-noop', side: 'napi', engine: 'noop' });
    expect([twin.group, twin.rival, twin.rustLane]).toEqual(['work', undefined, undefined]);
  });

  it('is refused if items are no number', () => {
    const family = workload('work', { sizes: [0], items: (size) => size, ways: { js } });
    expect(() => family.plan({ rows: 1, workers: 1, engines: {} })).toThrow('items must return a whole number');
  });
});

describe('files of workloads', () => {
  it('stand next to a number of rows', () => {
    expect(wordsOf(['1M', FILE])).toEqual({ rows: 1_000_000, files: [FILE] });
    expect(wordsOf([])).toEqual({ files: [] });
    expect(() => wordsOf(['1', '2'])).toThrow('given twice');
    expect(() => wordsOf(['nothing.mjs'])).toThrow('there is no file nothing.mjs');
    expect(() => wordsOf(['1X'])).toThrow('is no number of rows');
    expect(() => wordsOf(['nothing*.mjs'])).toThrow('there is no file nothing*.mjs');
  });

  it('may be given by a pattern, if Node.js finds files by patterns', () => {
    const pattern = FILE.replace('sum.bench', '*m.bench');
    const found = 'globSync' in fs ? { files: [FILE] } : `there is no file ${pattern}`;
    const answer = (): unknown => {
      try {
        return wordsOf([pattern]);
      } catch (thrown) {
        return (thrown as Error).message;
      }
    };
    expect(answer()).toEqual(found);
  });

  it('export workloads', async () => {
    expect((await loadOwn([FILE])).map(({ name }) => name)).toEqual([
      'sum',
      'wrong',
      'lazy',
      'read',
      'changes',
      'fresh',
      'named',
    ]);
    await expect(loadOwn([FILE, FILE])).rejects.toThrow('two workloads have the name sum');
    await expect(
      loadOwn([fileURLToPath(new URL('equal.test.ts', import.meta.url)).replace('equal.test.ts', 'sum.py')]),
    ).rejects.toThrow("can't be loaded");
  });
});

describe('a run of a file', () => {
  let records: readonly RunRecord[];
  beforeAll(async () => {
    const families = await loadOwn([FILE]);
    const few = { forks: 2, samples: 2, timeBudgetSeconds: 0.01 };
    process.env['BB_TEST_STEPS'] = join(folder, 'steps');
    const result = await run({ families, directory: join(folder, 'run'), ...few });
    records = result.run.records;
  });
  const of = (id: string): RunRecord => records.find((record) => record.id === id)!;
  const expectFailed = (id: string, error: object): void =>
    expect(of(id), id).toMatchObject({ outcome: 'failed', error });
  const saying = (text: string): object => ({ message: expect.stringContaining(text) as string });

  it('measures each way in processes of its own', () => {
    const measured = records.filter(({ family }) => family === 'sum');
    expect(measured.map(({ outcome }) => outcome)).toEqual(measured.map(() => 'completed'));
    for (const record of measured as CompletedRecord[]) {
      expect(new Set(record.samples.map(({ fork }) => fork))).toEqual(new Set([1, 2]));
    }
    const [plain, thrice] = ['sum/10000/js', 'sum/10000/js-thrice'].map((id) => of(id) as CompletedRecord);
    expect(thrice!.summary.medianSeconds).toBeGreaterThan(plain!.summary.medianSeconds);
  });

  it('takes the seconds of a way that times itself, and hands over bytes', () => {
    expect(of('sum/10000/rust-timed')).toMatchObject({ side: 'rust', outcome: 'completed' });
    // Both Python programs are there, or none.
    const outcomeOf = (lane: string): unknown => records.find((record) => record.lane === lane)?.outcome;
    expect(outcomeOf('native-python-by-bytes')).toBe(outcomeOf('native-python'));
  });

  it('fails the ways that change their input, and says which', () => {
    expect(of('changes/js').outcome).toBe('completed');
    for (const lane of ['js-in-place', 'js-of-objects', 'rust-timed', 'rust-timed-alone']) {
      const message = expect.stringMatching(/^the way .* changed its input/) as string;
      expectFailed(`changes/${lane}`, { code: 'BB_INPUT_CHANGED', message });
    }
  });

  it('gives each call an input of its own if asked, so that a way may use it up', () => {
    for (const lane of ['js', 'js-later', 'js-lazy'])
      expect(of(`fresh/${lane}`), lane).toMatchObject({ outcome: 'completed' });
    expectFailed('fresh/js-wrong', { code: 'BB_CHECKSUM_MISMATCH' });
  });

  it('measures inputs by their names, between setup and teardown', () => {
    const named = records.filter(({ family }) => family === 'named');
    expect(named.map(({ id, workload: of }) => [id, of])).toEqual(
      ['made', 'value'].flatMap((input) =>
        ['js', 'js-twice'].map((way) => [`named/${input}/${way}`, `named.${input}`]),
      ),
    );
    expect(new Set(named.map(({ outcome }) => outcome))).toEqual(new Set(['completed']));
    const steps = fs.readFileSync(join(folder, 'steps'), 'utf8').split('\n').filter(Boolean);
    const byProcess = groupBy(steps, (step) => step.split(' ')[1]!);
    // Two processes of each of four cells, at least.
    expect(byProcess.length).toBeGreaterThanOrEqual(8);
    for (const own of byProcess) {
      expect(own.map((step) => step.split(' ')[0])).toEqual(own.map((_, at) => ['setup', 'teardown'][at % 2]));
      expect(own.length % 2).toBe(0);
    }
  });

  it('reads what is computed when it is read within each call, and says so', () => {
    const [plain, ...lazy] = ['js', 'js-generator', 'js-proxy', 'js-getter', 'js-later'].map(
      (lane) => of(`lazy/${lane}`) as CompletedRecord,
    );
    expect(plain!.variant).toBe('js');
    for (const { variant, summary, outcome } of lazy) {
      expect([outcome, variant]).toEqual(['completed', expect.stringMatching(/^js, .*, read in full$/)]);
      expect(summary.medianSeconds).toBeGreaterThan(plain!.summary.medianSeconds / 3);
    }
    expectFailed('lazy/js-opaque', saying("can't be read in full"));
  });

  it('reads results by the option read within each call, and compares what it returns', () => {
    const [plain, iterator] = ['js', 'js-iterator'].map((lane) => of(`read/${lane}`) as CompletedRecord);
    expect([plain!.variant, iterator!.variant]).toEqual(['js', 'js, iterator']);
    expect(iterator!.summary.medianSeconds).toBeGreaterThan(plain!.summary.medianSeconds / 3);
    expect(of('read/rust-timed').outcome).toBe('completed');
    expectFailed('read/js-wrong', saying('the number that read returned is 3, expected'));
  });

  it('leaves a result file that others read', async () => {
    expect((await readRun(join(folder, 'run', 'run.json'))).records).toHaveLength(records.length);
  });

  it('fails the ways that return something else than the first, nothing, or an error', () => {
    expect(of('wrong/js').outcome).toBe('completed');
    const message = 'the way js, other: the result is 5, expected 4';
    expectFailed('wrong/js-other', { code: 'BB_CHECKSUM_MISMATCH', message });
    expectFailed('wrong/js-nothing', { code: 'BB_NO_RESULT' });
    expectFailed('wrong/rust-milliseconds', saying('returned 1000 seconds for a call of'));
    expectFailed('wrong/rust-no-bytes', { message: 'bytes of the program true must return a typed array, not 3' });
    const thrown = /^the way js, throws threw: no such thing \(at .*sum\.bench\.mjs:\d+:\d+\)$/;
    expectFailed('wrong/js-throws', { message: expect.stringMatching(thrown) as string });
  });
});
