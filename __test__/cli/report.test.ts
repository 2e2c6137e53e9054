import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

import { openFile } from '../../src/cli/report-files.js';
import type { RunRecord, Sample } from '../../src/records/record.js';
import { serializeRun } from '../../src/records/run-file.js';
import { renderRunMarkdown } from '../../src/report/run-report.js';
import { around, completed, context, runOf, sampleRun } from '../records/sample-run.js';
import { type Ended, spawnCli } from './spawn-cli.js';
import { folderOfTest } from '../temporary-folder.js';

let cwd: string;

beforeEach(() => void (cwd = folderOfTest()));

const cli = (...args: readonly string[]): Promise<Ended> => spawnCli(args, { cwd });
const read = (...names: readonly string[]): Promise<string> => readFile(join(cwd, ...names), 'utf8');

/** A record as `bench/lab/compact-run.mjs` keeps it. */
function withSecondsAlone(record: RunRecord): RunRecord {
  if (record.outcome !== 'completed') return record;
  const samples = record.samples.map(({ fork, seconds }): Sample => ({ ...(fork !== undefined && { fork }), seconds }));
  return { ...record, samples };
}

async function writeRun(directory: string, seconds: number, startedAt = context.startedAt): Promise<void> {
  const run = runOf([completed({ side: 'napi', lane: 'row', variant: 'rows' }, around(seconds))]);
  await mkdir(join(cwd, directory), { recursive: true });
  await writeFile(join(cwd, directory, 'run.json'), serializeRun({ ...run, context: { ...run.context, startedAt } }));
}

describe('report', () => {
  it('makes both reports of a directory again', async () => {
    await mkdir(join(cwd, 'out'));
    await writeFile(join(cwd, 'out', 'run.json'), serializeRun(sampleRun()));
    await writeFile(join(cwd, 'out', 'run.html'), 'an old one');
    const { exitCode, stdout, stderr } = await cli('report', 'out');
    expect([exitCode, stdout, stderr]).toEqual([0, `${join('out', 'run.html')}\n`, '']);
    expect(await read('out', 'run.md')).toBe(renderRunMarkdown(sampleRun()));
    expect(await read('out', 'run.html')).toMatch(/^<!doctype html>[^]*<\/html>\n$/);
  });

  it('names reports after a file, and writes them to the folder that it is told', async () => {
    await writeFile(join(cwd, '2026-05-02.json'), serializeRun(sampleRun()));
    expect((await cli('report', '2026-05-02.json', '--out', 'deep/er')).exitCode).toBe(0);
    expect(await readdir(join(cwd, 'deep/er'))).toEqual(['2026-05-02.html', '2026-05-02.md']);
    expect(await readdir(cwd)).toEqual(['2026-05-02.json', 'deep']);
  });

  it('replaces no report of a whole file by one of a compact file, unless it is told another folder', async () => {
    const whole = sampleRun();
    const compact = { ...whole, records: whole.records.map(withSecondsAlone) };
    await writeFile(join(cwd, '2026-05-02.json'), serializeRun(compact));
    await writeFile(join(cwd, '2026-05-02.md'), renderRunMarkdown(whole));
    const refused = await cli('report', '2026-05-02.json');
    expect([refused.exitCode, refused.stdout]).toEqual([2, '']);
    expect(refused.stderr).toContain('2026-05-02.md was made from a full result file');
    expect(refused.stderr).toContain('--out DIRECTORY');
    expect(await read('2026-05-02.md')).toBe(renderRunMarkdown(whole));
    expect(await readdir(cwd)).toEqual(['2026-05-02.json', '2026-05-02.md']);

    expect((await cli('report', '2026-05-02.json', '--out', '.')).exitCode).toBe(0);
    for (const name of ['2026-05-02.md', '2026-05-02.html']) expect(await read(name)).toContain('compact result file');
    // A compact file may replace its own report.
    expect((await cli('report', '2026-05-02.json')).exitCode).toBe(0);
  });

  it('says what is wrong', async () => {
    await mkdir(join(cwd, 'started'));
    await writeFile(join(cwd, 'started', 'run.jsonl'), '');
    await writeRun('done', 1);
    await writeFile(join(cwd, 'file'), '');
    const wrong: readonly (readonly [args: readonly string[], message: string])[] = [
      [['report', 'nowhere'], "can't read nowhere"],
      [['report', 'started'], 'Resume it with: npx boundary-bench run --resume started'],
      [['report', '.'], 'there is no run.json in .'],
      [['report', 'done', '--out', 'file'], "can't write file"],
      ...(process.platform === 'linux'
        ? [[['report', 'done', '--out', '/proc/nowhere'], "can't write /proc/nowhere"] as const]
        : []),
    ];
    for (const [args, message] of wrong) {
      const { exitCode, stderr } = await cli(...args);
      expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
    }
  });

  it('opens the page by a program, or says that none does', async () => {
    const by = (...words: [string, ...string[]]) => openFile('run.html', { [process.platform]: words });
    await expect(by('/no/such/program')).rejects.toMatchObject({
      code: 'BB_OPEN_FAILED',
      hint: 'Open the file in a browser yourself; it needs no network.',
    });
    await expect(by(process.execPath, '-e', 'process.exit(3)')).rejects.toThrow('run.html: it ended with 3');
    await by(process.execPath, '-e', '0');
  });
});

it('compare writes a page of two runs', async () => {
  await writeRun('before', 1);
  await writeRun('after', 2);
  const { exitCode, stdout } = await cli('compare', 'before', 'after/run.json', '--html', 'both.html');
  expect([exitCode, stdout]).toEqual([1, expect.stringContaining('1 of 1 cells slower by more than 5.0%.')]);
  const page = await read('both.html');
  expect(page).toContain('0.50× (0.48–0.52) ▼');
  expect(page).toContain('▼ a regression');
});

it('history shows the runs in a directory', async () => {
  await writeRun('runs/later', 0.5, '2026-06-01T00:00:00.000Z');
  await writeRun('runs/earlier', 1, '2026-05-01T00:00:00.000Z');
  const { exitCode, stdout } = await cli('history', 'runs', '--html', 'history.html');
  expect([exitCode, stdout]).toEqual([
    0,
    expect.stringMatching(/ 2 .*10\.0 M\/s  20\.0 M\/s  2\.0× \(1\.9–2\.1\)  faster/),
  ]);
  expect(stdout.indexOf('earlier')).toBeLessThan(stdout.indexOf('later'));
  expect(await read('history.html')).toContain('2.0× (1.9–2.1)');
  const one = await cli('history', 'runs/later');
  expect([one.exitCode, one.stderr]).toEqual([2, expect.stringContaining('a history needs two runs or more')]);
});

describe('check', () => {
  it('of a directory passes an inconclusive budget, unless it is strict', async () => {
    const record = completed({ side: 'napi', lane: 'row', variant: 'rows' }, [0.5, 1, 1.5]);
    await mkdir(join(cwd, 'run'));
    await writeFile(join(cwd, 'run', 'run.json'), serializeRun(runOf([record])));
    const budget = { name: 'rows', cell: record.id, maximumSeconds: 1 / record.rows! };
    await writeFile(join(cwd, 'b.json'), JSON.stringify({ schemaVersion: 1, budgets: [budget] }));
    const { exitCode, stdout } = await cli('check', '--budgets', 'b.json', 'run');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('inconclusive');
    expect((await cli('check', '--budgets', 'b.json', 'run', '--strict')).exitCode).toBe(1);
  });
});
