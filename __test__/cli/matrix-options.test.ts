import { readFile, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { Command, Option as Flag } from 'commander';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { givenByVariables, addMatrixOptions, requestFrom } from '../../src/cli/matrix-options.js';
import { SOAK_OPTIONS } from '../../src/families/ingest/soak-options.js';
import { type OptionTable, flatten } from '../../src/families/option.js';
import { kinds } from '../../src/families/option-values.js';
import { FAMILY_OPTIONS, loadFamilies } from '../../src/families/registry.js';
import type { Family } from '../../src/families/workload.js';
import { planRun } from '../../src/runner/plan.js';
import { run } from '../../src/runner/run.js';
import {
  MATRIX_OPTIONS,
  type RunRequest,
  SAMPLING_OPTIONS,
  knownOptions,
  resumeRequest,
} from '../../src/runner/run-config.js';
import { sumFamily } from '../runner/sum-family.mjs';
import { folderOfTest } from '../temporary-folder.js';

const ALL: OptionTable = { ...MATRIX_OPTIONS, ...SAMPLING_OPTIONS, ...FAMILY_OPTIONS };
const SECRET = 'geheim';
const families = await loadFamilies();

afterEach(() => vi.unstubAllEnvs());

/** The request that these words make, in this environment alone. */
function requestOf(words: readonly string[], environment: Readonly<Record<string, string>> = {}): RunRequest {
  const command = addMatrixOptions(new Command().exitOverride(), SAMPLING_OPTIONS);
  command.configureOutput({ writeErr: () => {} });
  return requestFrom(undefined, command.parse(words, { from: 'user' }).opts(), environment);
}

/** For each kind a text of the command line, and its value. */
const EXAMPLES: Readonly<Record<keyof typeof kinds, readonly [string, unknown]>> = {
  rows: ['2K', 2000],
  count: ['3', 3],
  seconds: ['0.05', 0.05],
  fraction: ['0.1', 0.1],
  rate: ['5K', 5000],
  amount: ['7', 7],
  scale: ['0.02', 0.02],
  counts: ['1,2', [1, 2]],
  grid: ['4,8', [4, 8]],
  words: ['a,b', ['a', 'b']],
  text: [`http://user:${SECRET}@host`, `http://user:${SECRET}@host`],
  path: ['some', resolve('some')],
  client: ['napi:examples/kv-client.mjs', `napi:${resolve('examples/kv-client.mjs')}`],
  uris: ['arrays=arrays:', { arrays: 'arrays:' }],
  flag: ['', true],
};

const KIND_NAMES = Object.keys(kinds) as (keyof typeof kinds)[];

/** A text of an option, and its value. */
function exampleOf(name: string): readonly [string, unknown] {
  const { kind, choices } = ALL[name]!;
  // One that is there, since it is looked for.
  if (name === 'hyperd') return [process.execPath, process.execPath];
  if (choices !== undefined) return [choices[1]!, choices[1]];
  return EXAMPLES[KIND_NAMES.find((each) => kinds[each] === kind)!];
}

function wordsOf(name: string): string[] {
  const flag = new Flag(ALL[name]!.flag).long!;
  return ALL[name]!.kind === kinds.flag ? [flag] : [flag, exampleOf(name)[0]];
}

/** A value as `run()` takes it: the entry of a map, or the option itself. */
function givenBy(name: string, request: object): unknown {
  return flatten(request)[name === 'engines' ? 'engines.arrays' : name];
}

describe.each(Object.keys(ALL))('the option %s', (name) => {
  const value = name === 'engines' ? 'arrays:' : exampleOf(name)[1];

  test('is given by its flag, as run() takes it', () => {
    expect(givenBy(name, requestOf(wordsOf(name)))).toEqual(value);
  });

  test('is given by its variable through the command line alone, after the flag', () => {
    const { variable, kind } = ALL[name]!;
    if (variable === undefined) return;
    const environment = { [variable]: kind === kinds.flag ? '1' : exampleOf(name)[0] };
    const request = requestOf([], environment);
    expect(givenBy(name, request)).toBeUndefined();
    expect(givenBy(name, request.fallbacks!)).toEqual(value);
    expect(requestOf([], { [variable]: '' }).fallbacks).toEqual({});
    const known = { ...sumFamily(), options: { [name]: ALL[name]! } };
    const configOf = (asked: RunRequest): unknown => givenBy(name, planRun([known], asked).config);
    const own = ALL[name]!.default;
    vi.stubEnv(variable, environment[variable]!);
    expect(configOf({})).toEqual(own);
    if (name.startsWith('engines.')) return;
    expect(configOf(request)).toEqual(value);
    expect(configOf({ ...requestOf(wordsOf(name)), fallbacks: { scale: 9, dataDir: '/other' } })).toEqual(value);
  });
});

test('every option of a family is one of the command line, and a variable has one option', () => {
  const known = knownOptions(families);
  expect(new Set(Object.keys(known))).toEqual(new Set(Object.keys(ALL)));
  for (const [name, option] of Object.entries(known)) expect(ALL[name]).toEqual(option);
  const variables = Object.values(ALL).flatMap(({ variable }) => variable ?? []);
  expect(new Set(variables).size).toBe(variables.length);
});

test('nothing but the command line reads variables, but for the places of what is installed', async () => {
  const source = new URL('../../src/', import.meta.url);
  const files = (await readdir(source, { recursive: true })).filter((file) => file.endsWith('.ts'));
  const reading: string[] = [];
  for (const file of files)
    if ((await readFile(new URL(file, source), 'utf8')).includes('process.env')) reading.push(file);
  // The progress asks whether the terminal is a real one, a report how wide it is, and a check where the summary of GitHub's job is.
  // Threads inherit the build that replaces another one.
  const terminal = ['cli/check-command.ts', 'cli/progress.ts', 'cli/terminal.ts'];
  const others = [
    'binaries.ts',
    'cli/matrix-options.ts',
    'host/cache-folder.ts',
    'host/hyperd.ts',
    'host/sail.ts',
    'runner/swap-build.ts',
  ];
  expect(reading.toSorted()).toEqual([...terminal, ...others].map((file) => join(file)).toSorted());
});

test('the flags of today are all there', () => {
  const command = addMatrixOptions(new Command(), SAMPLING_OPTIONS);
  const flags = command.options.map(({ long }) => long).toSorted();
  expect(flags).toMatchInlineSnapshot(`
    [
      "--aa",
      "--all",
      "--api-key",
      "--batch",
      "--client",
      "--connections",
      "--data-dir",
      "--decide-within",
      "--engine",
      "--engine-uri",
      "--family",
      "--forks",
      "--hyperd",
      "--ingest-url",
      "--lane",
      "--leave-garbage",
      "--margin",
      "--mysql-url",
      "--net-bandwidth-mbps",
      "--net-delay-us",
      "--operations",
      "--peers",
      "--processes",
      "--profile",
      "--quick",
      "--rate",
      "--redis-cluster-url",
      "--redis-url",
      "--rest-scale-factor",
      "--rest-url",
      "--rest-url-2",
      "--rows",
      "--runtime",
      "--samples",
      "--scale",
      "--shards-url",
      "--side",
      "--skip-populate",
      "--slow-forks",
      "--sql",
      "--time-budget",
      "--timeout",
      "--transport",
      "--workers",
      "--workload",
    ]
  `);
});

/** All options except the options that choose other cells than the sums. */
const RECORDED = Object.keys(ALL).filter((name) => !/^(filters\..*|rows|workers)$/.test(name));

describe('run.json', () => {
  test('records every option that run() is given, without secrets, and --resume restores it', async () => {
    const directory = join(folderOfTest(), 'out');
    // Engines that sums know, so that every server is one of a cell.
    const sums = sumFamily();
    const engines = Object.keys(ALL).flatMap((name) => (name.startsWith('engines.') ? [name.slice(8)] : []));
    const seen: string[] = [];
    const all: Family = {
      ...sums,
      options: FAMILY_OPTIONS,
      plan: (options) => {
        seen.push(JSON.stringify(flatten(options)));
        const [first, ...others] = sums.plan(options);
        const named = engines.map((engine) => ({
          ...first!,
          cell: { ...first!.cell, id: `sums/${engine}`, engine },
          skip: 'not here',
        }));
        return [first!, ...others, ...named];
      },
    };
    // --sql names its family.
    const { filters: _, ...request } = requestOf(RECORDED.flatMap(wordsOf));
    const { run: finished } = await run({ ...request, workers: [1], rows: 9, families: [all], directory });
    const config = flatten(finished.context.config);
    for (const name of RECORDED.filter((each) => each !== 'engines')) {
      const [, value] = exampleOf(name);
      const isSecret = typeof value === 'string' && value.includes(SECRET);
      const shown = name.startsWith('apiKeys.') ? '***' : 'http://***@host';
      expect(config[name], name).toEqual(isSecret ? shown : value);
    }
    for (const file of await readdir(directory)) {
      expect(await readFile(join(directory, file), 'utf8'), file).not.toContain(SECRET);
    }
    const schema = JSON.parse(await readFile(new URL('../../schema/run.schema.json', import.meta.url), 'utf8'));
    const isValid = new Ajv2020({ strict: true, strictRequired: false }).compile(schema);
    expect(isValid(JSON.parse(JSON.stringify(finished))), JSON.stringify(isValid.errors)).toBe(true);

    // A quick run plans the full one, too, to say what that takes.
    const planned = seen.find((text) => text.includes('"quick":true'));
    const { apiKeys, engines: uris, restUrl2, sql, ...others } = request;
    await expect(run({ ...others, families: [all], directory, resume: true })).rejects.toMatchObject({
      code: 'BB_RESUME_MISMATCH',
      hint: expect.stringMatching(/^Give the (URL|key) of \w+ again\.$/),
    });
    await run({ apiKeys, engines: uris, restUrl2, sql, families: [all], directory, resume: true });
    const [before, after] = [planned, seen.at(-1)].map((text) => JSON.parse(text!) as object);
    expect(after).toEqual(before);
  });
});

test('the options of hybrid are options of the run, and variables count if there is no option', () => {
  const environment = { HYBRID_SCALE: '0.5', HYBRID_NET_DELAY_US: '0', HYBRID_SKIP_POPULATE: '0' };
  expect(requestOf([]).fallbacks).toEqual({});
  const request = requestOf(['--net-delay-us', '2000', '--family', 'hybrid'], environment);
  expect(request.fallbacks).toEqual({ scale: 0.5, netDelayUs: 0, skipPopulate: false });
  expect(planRun(families, request).config).toMatchObject({ scale: 0.5, netDelayUs: 2000 });
  expect(() => requestOf([], { HYBRID_SCALE: 'much' })).toThrow('the scale of hybrid must be a number above 0');
});

test('a variable of a family that is not measured changes nothing, a flag names its server', () => {
  const environment = { REDIS_URL: 'redis://here', HYBRID_SCALE: '0.5', REST_API_KEY: SECRET };
  const { config, plans } = planRun(families, requestOf(['--workers', '1'], environment));
  expect(plans.map(({ family }) => family.name)).toEqual(['measurements']);
  expect([config.engines, config.scale, config.apiKeys]).toEqual([{}, undefined, undefined]);
  const kv = planRun(families, requestOf(['--family', 'kv'], environment));
  expect(kv.config.engines).toEqual({ redis: 'redis://here' });
  expect(() => planRun(families, requestOf(['--family', 'kv', '--mysql-url', 'mysql://x']))).toThrow(
    '--mysql-url is an option of measurements, sql, query, of which none is measured here',
  );
});

test('a run goes on with no other scale, delay or network than it was started with', () => {
  const hybrid = { scale: 0.01, netDelayUs: 0, netBandwidthMbps: 0 };
  const logged = { rows: {}, workers: [1], timeBudgetSeconds: 3, engines: {}, filters: {}, ...hybrid };
  const known = knownOptions(families);
  const resume = (words: readonly string[], environment = {}): RunRequest =>
    resumeRequest(requestOf(words, environment), logged, known);
  expect(resume([])).toMatchObject(hybrid);
  expect(resume(['--scale', '0.01'])).toMatchObject(hybrid);
  const others = { scale: '0.02', 'net-delay-us': '100', 'net-bandwidth-mbps': '10', 'data-dir': '/else' };
  for (const [name, value] of Object.entries(others)) {
    expect(() => resume([`--${name}`, value]), name).toThrow(/the run was started with \w+ .*, and can't go on with/);
  }
  expect(() => resume([], { HYBRID_SCALE: '0.02' })).toThrow(
    "the run was started with scale 0.01, and can't go on with 0.02",
  );
  // Of an option that the run was started without, a variable says nothing.
  expect(resume([], { HYBRID_DATA_DIR: '/else', REDIS_URL: 'redis://here' })).toMatchObject(hybrid);
  const wrong = { ...logged, connections: ['many'] };
  expect(() => resumeRequest({}, wrong, known)).toThrow(expect.objectContaining({ code: 'BB_RESULT_FILE_SHAPE' }));
});

test.each([
  '--samples=3.0',
  '--samples=1e1',
  '--workers=1,2.0',
  '--batch=4.0',
  '--time-budget=.5',
  '--time-budget=1e1',
])('a number is written as it always was: %s is refused', (words) => {
  expect(() => requestOf([words])).toThrow(/It must be a (whole number of 1 or more|number of seconds)/);
});

test('a variable that makes no sense is named, and is read as its flag is', () => {
  const wrong = { WORKERS: '1e1', BATCH_SIZE: '3.0', DURATION_SECS: '.5', WARMUP_SECS: '0x10' };
  for (const [variable, text] of Object.entries(wrong)) {
    expect(() => givenByVariables(SOAK_OPTIONS, { [variable]: text })).toThrow(`${variable} is "${text}". It must be`);
  }
  expect(givenByVariables(SOAK_OPTIONS, { WORKERS: '3', DURATION_SECS: '0.5' })).toEqual({
    workers: 3,
    durationSeconds: 0.5,
  });
});

test('the URI of an engine must be a string', () => {
  const wrong = { engines: { embedded: 5 } } as unknown as RunRequest;
  expect(() => planRun(families, wrong)).toThrow('engines.embedded must be a string, not 5');
});
