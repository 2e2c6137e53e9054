import { copyFile, mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Run, RunRecord, Sample } from '../../src/records/record.js';
import { readRun, serializeRun } from '../../src/records/run-file.js';
import { type Ended, type SpawnOptions, builtMain, spawnCli } from './spawn-cli.js';
import { folderOfTest } from '../temporary-folder.js';

const TYPED = 'sums/sum.typed/forwards/js/arrays/w1';
const BOXED = 'sums/sum.boxed/forwards/js/arrays/w1';
const QUICK = ['--samples', '2', '--forks', '2', '--workers', '1', '--time-budget', '0.02'];
const ONCE = ['--samples', '1', '--forks', '1', '--workers', '1', '--time-budget', '0'];

// Each test starts processes, which take as long as the machine is busy.
vi.setConfig({ testTimeout: 120_000 });

let cwd: string;

beforeEach(() => void (cwd = folderOfTest()));

const cli = (args: readonly string[], options: Partial<SpawnOptions> = {}): Promise<Ended> =>
  spawnCli(args, { cwd, ...options });

/** The same by the entry that was built. */
const built = (args: readonly string[]): Promise<Ended> => cli(args, { script: builtMain });

const readOut = (directory: string): Promise<Run> => readRun(join(cwd, directory, 'run.json'));

describe('help', () => {
  it('teaches, and is no error', async () => {
    const { exitCode, stdout } = await cli(['run', '--help']);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('Usage: boundary-bench run [options] [rows|files...]');
    expect(stdout).toContain('boundary-bench run 10M --workload insert.bulk');
    expect(stdout).toContain('130 after');
    const all = await cli(['--help']);
    for (const command of ['run', 'list', 'compare', 'doctor', 'host', 'setup']) {
      expect(all.stdout).toContain(`  ${command} `);
    }
  });

  it('has the version next to it', async () => {
    const { exitCode, stdout } = await built(['--version']);
    const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    expect(stdout).toMatch(
      /^boundary-bench \d[^,]*, addon [0-9a-f]{12} \(\w+\)(, commit [0-9a-f]{12}( with changes)?)?\n$/,
    );
    expect(stdout).toContain(`boundary-bench ${version}, `);
    expect(exitCode).toBe(0);
    expect((await cli(['-V'])).stdout).toContain(`boundary-bench ${version}, addon not built`);
  });

  it('is what the built entry shows too', async () => {
    const { exitCode, stdout } = await built(['--help']);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('Usage: boundary-bench');
  });
});

describe('a command that makes no sense', () => {
  it.each([
    [['run', '--lain', 'x'], "unknown option '--lain'\n(Did you mean --lane?)"],
    [['rum'], "unknown command 'rum'"],
    [['run', 'many'], 'A number of rows looks like 1000000, 1_000_000, 1M or 500K.'],
    [['run', '0'], 'A number of rows looks like'],
    [['run', '10', '--rows', '20'], 'rows are given twice: 10 and --rows 20'],
    [['run', '--samples', '2.5'], 'It must be a whole number of 1 or more.'],
    [['run', '--time-budget', 'long'], 'It must be a number of seconds, such as 2 or 0.5, or 100ms or 2min.'],
    [
      ['run', '--lane', 'fowards'],
      "unknown lane 'fowards'; did you mean forwards? [BB_FILTER_UNKNOWN]\nKnown: forwards",
    ],
    [['run', '--workload', 'sum.boxed', '--lane', 'sideways'], 'no cell matches --workload sum.boxed --lane sideways'],
    [['run', '--engine-uri', 'arrays'], 'It must be NAME=URI'],
    [['run', '--engine-uri', 'rays=x'], "unknown engine 'rays'; did you mean arrays?"],
    [['run', '--resume'], '--resume needs the directory of the run to go on with'],
    [['run', '--resume', 'nowhere'], 'nowhere holds no run to go on with'],
    [['run', '--resume', 'a', '--out', 'b'], '--resume a and --out b name two directories'],
    [['compare', 'only-one.json'], 'only-one.json is compared with nothing'],
    [['compare'], "missing required argument 'paths'"],
    [['compare', 'a.json', 'b.json'], "can't read a.json"],
    [['compare', 'a.json', 'b.json', '--threshold', '5'], 'It must be from 0 to below 1'],
    [['host', 'more'], 'too many arguments'],
  ])('%j exits with 2 and says why', async (args, message) => {
    const { exitCode, stdout, stderr } = await cli(args);
    expect(stderr).toContain(message);
    expect(stdout).toBe('');
    expect(exitCode).toBe(2);
    expect(await readdir(cwd)).toEqual([]);
  });
});

describe('run', () => {
  it('measures, prints one line per workload to standard output and one per cell to standard error', async () => {
    const { exitCode, stdout, stderr } = await cli(['run', '5K', ...QUICK, '--out', 'out']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^Cells: 4 measured, 1 skipped\.\n/);
    expect(stdout.match(/^sum\.\w+ +\S+ [KMG]\/s(?: \(too short\))? +—/gm)).toHaveLength(2);
    expect(
      stdout.match(/^- sum\.\w+ on \w+: (?:no difference shown:|no verdict \([a-z ]+\):|equivalent:|take) \w+ loop/gm),
    ).toHaveLength(2);
    expect(stdout).toMatch(/\nReport: out\/run\.html\n$/);
    expect(stdout).not.toContain('\u001B');
    const lines = stderr.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^5 cells, about .*, into out$/);
    expect(lines.filter((line) => /^\[\d\/5\] sums\/.* rows\/s  median .* 4 samples( |$)/.test(line))).toHaveLength(4);
    expect(lines).toContain('[1/5] sums/sum.typed/sideways/js/arrays/w1  skipped: no one sums sideways');
    expect(lines.at(-1)).toBe('Results: out/run.json');
    const finished = await readOut('out');
    expect(finished.records.every(({ rows }) => rows === 5000)).toBe(true);
    expect(await readFile(join(cwd, 'out', 'run.md'), 'utf8')).toContain('# Boundary Bench');
  });

  it('prints the tables, too, if they are asked for, no wider than COLUMNS', async () => {
    const { stdout } = await cli(['run', '5K', ...QUICK, '--tables', '--out', 'out'], { env: { COLUMNS: '60' } });
    expect(stdout).toContain('Hardware / software');
    expect(stdout).toMatch(/^sum\.typed +js · forwards loop/m);
    expect(stdout).toContain('(too narrow for: ');
    expect(stdout).toMatch(/\nReport: out\/run\.html\n$/);
    const table = stdout.split('\n').filter((line) => /^(sum\.|─)/.test(line));
    expect(Math.max(...table.map((line) => line.length))).toBeLessThanOrEqual(60);
  });

  it('says of a quick run that it is rough, and what the full one takes', async () => {
    const { stdout, stderr } = await cli(['run', '--quick', '--workers', '1', '--out', 'out']);
    expect(stdout).toMatch(/^A rough first look: /);
    expect(stderr).toMatch(/^On this machine now, differences from about \S+% can be told$/m);
    expect(stderr).toMatch(/^A rough first look\. In full, without --quick: 4 cells, about \d+ s$/m);
  });

  it('is quick if nothing is asked for, and needs no name before its options', async () => {
    const nothing = await cli([]);
    expect(nothing.exitCode).toBe(0);
    expect(nothing.stderr).toMatch(
      /^Without a command: run --quick\. boundary-bench --help shows what else there is\.\n/,
    );
    expect(nothing.stdout).toMatch(/^A rough first look: /);
    const named = await cli([...ONCE, '--lane', 'forwards', '--out', 'out', '--quiet']);
    expect(named.stdout).toMatch(/^Cells: 2 measured\.\n/);
  });

  it('goes to a directory of its own by default, and prints its path alone with --json', async () => {
    const { stdout, stderr } = await cli(['run', ...ONCE, '--json', '--quiet']);
    expect(stdout).toMatch(/^results\/runs\/\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\/run\.json\n$/);
    expect(stderr).toBe(`Results: ${stdout}`);
    expect((await readRun(join(cwd, stdout.trim()))).records).toHaveLength(5);
  });

  it('exits with 1 when a cell fails, and measures the others', async () => {
    const { exitCode, stdout, stderr } = await cli(['run', ...ONCE, '--out', 'out'], {
      broken: { [TYPED]: 'mismatch' },
    });
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`${TYPED}  FAILED  BB_CHECKSUM_MISMATCH: the sum of value: read 499501, expected 499500`);
    expect(stdout).toContain('BB_CHECKSUM_MISMATCH');
    expect((await readOut('out')).records.filter(({ outcome }) => outcome === 'completed')).toHaveLength(3);
  });

  it('exits with 1 if it measures nothing, and says why', async () => {
    const { exitCode, stderr } = await cli(['run', ...ONCE, '--lane', 'sideways', '--out', 'out', '--quiet']);
    expect(stderr).toContain('error: nothing was measured: 1 cells failed or were skipped.\n- no one sums sideways\n');
    expect(exitCode).toBe(1);
  });

  it('refuses a directory that holds a run', async () => {
    await cli(['run', ...ONCE, '--out', 'out']);
    const { exitCode, stderr } = await cli(['run', ...ONCE, '--out', 'out']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('out holds a run already [BB_OUT_EXISTS]\nAdd --resume to go on with it');
  });
});

describe('a directory that cannot be written', () => {
  it.each([
    ['file', "can't keep results in file: file is a file (EEXIST)"],
    ['file/below/it', "can't keep results in file/below/it: file is a file (EEXIST)"],
    ...(process.platform === 'linux' ? [['/proc/nowhere/below', "can't keep results in /proc/nowhere/below: "]] : []),
  ])('ends a run before it measures: %s', async (out, message) => {
    await writeFile(join(cwd, 'file'), '');
    const { exitCode, stdout, stderr } = await cli(['run', ...QUICK, '--out', out]);
    expect(stderr).toContain(`error: ${message}`);
    expect(stderr).toMatch(/ \[BB_OUT_UNUSABLE\]\nNothing was measured\. Choose another directory by --out\.\n$/);
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(await readdir(cwd)).toEqual(['file']);
  });

  it('ends a run that has begun, says what is kept, and lets it go on', async () => {
    const many = ['--samples', '40', '--forks', '2', '--workers', '1', '--time-budget', '0'];
    const full = await cli(['run', '50', ...many, '--out', 'out'], { mostBlocks: 24 });
    expect(full.stderr).toContain(
      "error: can't write out/run.jsonl: the file may not become larger (EFBIG) [BB_OUT_UNUSABLE]",
    );
    expect(full.stderr).toContain(
      'What was done before is kept in out/run.jsonl; resume it with: npx boundary-bench run --resume out',
    );
    expect([full.exitCode, full.stdout]).toEqual([2, '']);
    expect(await readdir(join(cwd, 'out'))).toEqual(['run.jsonl']);

    const resumed = await cli(['run', '--resume', 'out']);
    expect(resumed.exitCode).toBe(0);
    expect(resumed.stderr).toMatch(/^5 cells, [1-4] of them done before, /);
    expect((await readOut('out')).records).toHaveLength(5);
  });

  it('belongs to a run that is under way, until its process has ended', async () => {
    let other: Promise<Ended> | undefined;
    const first = await cli(['run', '50', ...ONCE, '--out', 'out'], {
      broken: { [BOXED]: 'hang' },
      onStderr: (text, kill) => {
        if (other !== undefined || !text.includes('[3/5]')) return;
        other = cli(['run', '50', ...ONCE, '--out', 'out']);
        void other.then(() => kill('SIGKILL'));
      },
    });
    expect(first.exitCode).toBeNull();
    const refused = await other!;
    expect(refused.stderr).toMatch(
      /^error: another run writes into out \(process \d+\) \[BB_OUT_BUSY\]\nWait until it ends/,
    );
    expect(refused.exitCode).toBe(2);
    expect((await readdir(join(cwd, 'out'))).toSorted()).toEqual(['run.jsonl', 'run.lock']);

    const resumed = await cli(['run', '--resume', 'out']);
    expect(resumed.exitCode).toBe(0);
    expect((await readdir(join(cwd, 'out'))).toSorted()).toEqual(['run.html', 'run.json', 'run.jsonl', 'run.md']);
  });
});

describe('Ctrl-C', () => {
  const isHanging = (stderr: string): boolean => stderr.includes('[3/5]');

  /** Runs until the cell hangs, and sends the signal. */
  function interrupted(signal: NodeJS.Signals): Promise<Ended> {
    let sent = false;
    const onStderr: SpawnOptions['onStderr'] = (text, kill) => {
      if (sent || !isHanging(text)) return;
      sent = true;
      kill(signal);
    };
    return cli(['run', '50', ...ONCE, '--out', 'out'], { broken: { [BOXED]: 'hang' }, onStderr });
  }

  it('writes what is done and exits with 130; --resume goes on', async () => {
    const { exitCode, stderr } = await interrupted('SIGINT');
    expect(exitCode).toBe(130);
    expect(stderr).toContain('Interrupted, 2 cells not measured; what is done is in out/run.json\n');
    expect(stderr).toContain('Resume it with: npx boundary-bench run --resume out\n');
    const before = await readOut('out');
    expect(before.records.map(({ outcome }) => outcome)).toEqual(['completed', 'completed', 'skipped']);

    const resumed = await cli(['run', '--resume', 'out']);
    expect(resumed.exitCode).toBe(0);
    expect(resumed.stderr).toMatch(/^5 cells, 3 of them done before, about .*, into out\n/);
    const after = await readOut('out');
    expect(after.records).toHaveLength(5);
    expect(after.records[0]).toEqual(before.records[0]);
    expect(after.records.every(({ rows }) => rows === 50)).toBe(true);

    const other = await cli(['run', '60', '--resume', '--out', 'out']);
    expect(other.exitCode).toBe(2);
    expect(other.stderr).toContain("the run was started with rows 50, and can't go on with 60");
  });

  it.each([
    ['SIGHUP', 129],
    ['SIGTERM', 143],
  ] as const)('is what %s does, with the exit code %d', async (signal, code) => {
    const { exitCode, stderr } = await interrupted(signal);
    expect(exitCode).toBe(code);
    expect(stderr).toContain('Resume it with: npx boundary-bench run --resume out\n');
    expect((await readOut('out')).records).toHaveLength(3);
  });

  it('ends at once the second time', async () => {
    let sent = 0;
    const { exitCode } = await cli(['run', ...ONCE, '--out', 'out'], {
      broken: { [BOXED]: 'deaf' },
      onStderr: (text, kill) => {
        if (sent === 0 && isHanging(text)) {
          sent = 1;
          kill('SIGINT');
        } else if (sent === 1 && text.includes('Ctrl-C again')) {
          sent = 2;
          kill('SIGINT');
        }
      },
    });
    expect(exitCode).toBe(130);
    expect(sent).toBe(2);
    expect(await readdir(join(cwd, 'out'))).toEqual(['run.jsonl']);
  });
});

describe('list', () => {
  it('shows the cells with their ids', async () => {
    const { exitCode, stdout } = await cli(['list', '1M', '--workers', '1', '--workload', '*.typed']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatchInlineSnapshot(`
      "sums: Sums of the integers below the number of rows

      sums/sum.typed on arrays

      Cell             Variant          Rows  Not here
      ───────────────  ──────────────  ─────  ────────────────────
      forwards/js/w1   forwards loop   1.00M
      backwards/js/w1  backwards loop  1.00M
      sideways/js/w1   sideways loop   1.00M  no one sums sideways

      3 cells
      "
    `);
  });

  it('prints JSON', async () => {
    const { stdout } = await cli(['list', '--json', '--lane', 'forwards', '--workers', '1']);
    expect(JSON.parse(stdout)).toMatchObject([
      { id: TYPED, group: 'sum.typed/w1', rows: 1000 },
      { id: BOXED, group: 'sum.boxed/w1', rows: 1000 },
    ]);
  });
});

describe('compare', () => {
  let measured: Run | undefined;

  async function measure(): Promise<Run> {
    const sizes = ['--samples', '8', '--forks', '3', '--workers', '1', '--time-budget', '0'];
    const { exitCode } = await cli(['run', ...sizes, '--out', 'out', '--quiet']);
    expect(exitCode).toBe(0);
    return readOut('out');
  }

  async function writeRuns(factor: number, cpu?: string): Promise<void> {
    const before = (measured ??= await measure());
    // The times differ by a fixed factor, so that the verdict does not depend on this machine's noise.
    const timed = (times: (index: number, cell: number) => number): Run =>
      withSeconds(before, (_, index, cell) => times(index, cell));
    // The first cell alone: what all cells do is the machine's.
    const after = timed((index, cell) => (1 + index / 1000) * (cell === 0 ? factor : 1));
    const host = cpu === undefined ? after.context.host : { ...after.context.host, cpu };
    await writeFile(join(cwd, 'a.json'), serializeRun(timed((index) => 1 + index / 1000)));
    await writeFile(join(cwd, 'b.json'), serializeRun({ ...after, context: { ...after.context, host } }));
  }

  /** A run whose samples are long enough for a verdict, each of a process of its own. */
  function withSeconds(run: Run, secondsOf: (sample: Sample, index: number, cell: number) => number): Run {
    const records = run.records.map((record, cell): RunRecord => {
      if (record.outcome !== 'completed') return record;
      const { noVerdict: _, ...decided } = record;
      const samples = record.samples.map((sample, index) => {
        return { ...sample, fork: index + 1, seconds: secondsOf(sample, index, cell) };
      });
      return { ...decided, samples };
    });
    return { ...run, records };
  }

  it('exits with 0 without a regression and with 1 with one', async () => {
    await writeRuns(1.2);
    const slower = await cli(['compare', 'a.json', 'b.json']);
    expect(slower.exitCode).toBe(1);
    expect(slower.stdout).toContain('regression');
    expect((await cli(['compare', 'a.json', 'b.json', '--threshold', '0.5'])).exitCode).toBe(0);
    expect((await cli(['compare', 'b.json', 'a.json'])).exitCode).toBe(0);
    const json = await cli(['compare', 'a.json', 'b.json', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ regressed: true, threshold: 0.05 });
  });

  it('exits with 0 if cells are inconclusive, and with --strict with 1', async () => {
    await writeRuns(1);
    const after = await readRun(join(cwd, 'b.json'));
    // Processes that differ by far more than the threshold.
    const apart = withSeconds(after, ({ seconds, fork }) => seconds * (fork === 1 ? 0.5 : fork === 2 ? 1 : 2));
    await writeFile(join(cwd, 'b.json'), serializeRun(apart));
    const { exitCode, stdout } = await cli(['compare', 'a.json', 'b.json']);
    expect(stdout).toMatch(/^Could not tell what is slower by more than 5\.0%: 4 of 4 cells are inconclusive\.$/m);
    expect(exitCode).toBe(0);
    expect((await cli(['compare', 'a.json', 'b.json', '--strict'])).exitCode).toBe(1);
  });

  it('refuses other hardware unless it is forced', async () => {
    await writeRuns(1, 'Another CPU');
    const refused = await cli(['compare', 'a.json', 'b.json']);
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toContain('BB_COMPARE_DIFFERENT_HARDWARE');
    expect(refused.stdout).toBe('');
    expect((await cli(['compare', 'a.json', 'b.json', '--force'])).exitCode).toBe(0);
  });
});

describe('doctor', () => {
  it('says what is here, what is missing, and whether the machine is fit', async () => {
    const { exitCode, stdout, stderr } = await built(['doctor', '--probe', '0.2']);
    expect(stderr).toBe('Timing a small loop for 0.2 s\n');
    expect(stdout).toMatch(/^boundary-bench \d/);
    expect(stdout).toMatch(/\n- engines: .*\bembedded\b/);
    expect(stdout).toContain(`node ${process.versions.node} (this one)`);
    const isFit = stdout.endsWith('It is fit to measure on.\n');
    expect(stdout.includes(' BAD ')).toBe(!isFit);
    expect(exitCode).toBe(isFit ? 0 : 1);
  });

  it('prints JSON', async () => {
    const { stdout } = await built(['doctor', '--probe', '0.2', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      isFit: expect.any(Boolean),
      here: { engines: expect.arrayContaining(['embedded', 'memory']), runtimes: expect.any(Array) },
      missing: expect.any(Array),
      machine: expect.arrayContaining([expect.objectContaining({ name: 'noise' })]),
    });
  });
});

describe('host', () => {
  it('shows the block, as text and as JSON', async () => {
    const { exitCode, stdout } = await cli(['host']);
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`Node.js: ${process.versions.node}`);
    const json = await cli(['host', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({
      versions: { node: process.versions.node },
      build: { profile: 'not built' },
    });
  });
});

describe('bench/benchmark.mjs', () => {
  const script = fileURLToPath(new URL('../../bench/benchmark.mjs', import.meta.url));

  it('is `run` of the measurements', async () => {
    const { exitCode, stdout } = await cli(['1000', '--help'], { script });
    expect(exitCode).toBe(0);
    expect(stdout).toContain('Usage: boundary-bench run [options] [rows|files...]');
  });

  it('says what to do if nothing is built', async () => {
    const unbuilt = join(cwd, 'bench', 'benchmark.mjs');
    await mkdir(join(cwd, 'bench'));
    await copyFile(script, unbuilt);
    const { exitCode, stderr } = await cli(['1000'], { script: unbuilt });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('npm ci && npm run build');
  });
});

describe('the options of request work', () => {
  const kv = (args: readonly string[]): Promise<Ended> => built(['list', '--family', 'kv', ...args]);

  it('choose connections, batches and operations', async () => {
    const { stdout } = await kv('--json --workload mget --connections 3 --batch 5,6 --operations 10K'.split(' '));
    const cells = JSON.parse(stdout) as { connections: number; batch: number; operations: number }[];
    expect(new Set(cells.map(({ connections, batch, operations }) => `${connections} ${batch} ${operations}`))).toEqual(
      new Set(['3 5 10000', '3 6 10000']),
    );
    const { stdout: all } = await kv(['--json', '--side', 'rust', '--connections', 'all', '--batch', 'all']);
    expect((JSON.parse(all) as unknown[]).length).toBeGreaterThan(100);
  });

  it.each([
    ['--connections', '0'],
    ['--batch', '1,x'],
    ['--operations', '-5'],
    ['--rate', '0'],
  ])('refuse %s %s', async (option, value) => {
    expect((await kv([option, value])).exitCode).toBe(2);
  });

  it.each([['run'], ['list']])('are refused by %s if no family that takes them is asked for', async (command) => {
    const { exitCode, stdout, stderr } = await built([command, '--connections', '8']);
    expect(stderr).toBe(
      'error: --connections is an option of kv, sql, rest, ingest, hybrid, of which none is measured here [BB_USAGE]\n' +
        'Name what to measure, as by --family kv, or leave the option out.\n',
    );
    expect([exitCode, stdout]).toEqual([2, '']);
  });

  it.each([['run'], ['list']])('are refused by %s if they name a server of another family', async (command) => {
    const byOption = await built([command, '--redis-url', 'redis://127.0.0.1:1']);
    expect([byOption.exitCode, byOption.stdout, byOption.stderr]).toEqual([
      2,
      '',
      'error: --redis-url is an option of the family kv, which is not measured here [BB_USAGE]\n' +
        'Name what to measure, as by --family kv, or leave the option out.\n',
    ]);
    const byUri = await built([command, '--engine-uri', 'redis=redis://127.0.0.1:1']);
    expect([byUri.exitCode, byUri.stdout]).toEqual([2, '']);
  });

  it('name an engine that a quick run measures too', async () => {
    const cells = await built(['list', '--json', '--quick', '--engine-uri', 'flight=flight://127.0.0.1:1']);
    expect(cells.stderr).toBe('');
    const engines = (JSON.parse(cells.stdout) as { engine: string }[]).map(({ engine }) => engine);
    expect([...new Set(engines)].toSorted()).toEqual(['embedded', 'flight']);
  });

  it('refuse a server that is given twice', async () => {
    const { exitCode, stderr } = await kv(['--redis-url', 'redis://a:geheim@b', '--engine-uri', 'redis=redis://c']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('the server redis is given twice');
    expect(stderr).not.toContain('geheim');
  });

  it('show no password if the server does not answer', async () => {
    const quick = ['--connections', '1', '--batch', '1', '--workload', 'get', '--side', 'js', '--samples', '1'];
    const run = (args: readonly string[]): Promise<Ended> =>
      built(['run', '--family', 'kv', '--operations', '10', ...quick, ...args]);
    const refused = await run(['--redis-url', 'redis://user:geheim@127.0.0.1:1', '--out', 'refused']);
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toContain("the family kv can't be measured: ");
    expect(refused.stdout + refused.stderr).not.toContain('geheim');
    expect(await readdir(cwd)).toEqual([]);
  });
});
