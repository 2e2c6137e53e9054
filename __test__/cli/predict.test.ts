import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { costModelOf } from '../../src/model/cost-model.js';
import { serializeRun } from '../../src/records/run-file.js';
import { LADDER, COSTS, timeOf } from '../model/synthetic.js';
import { completed, runOf, sampleRun } from '../records/sample-run.js';
import { type Ended, spawnCli } from './spawn-cli.js';
import { folderOfSuite } from '../temporary-folder.js';

// Each test starts processes, which take as long as the machine is busy.
vi.setConfig({ testTimeout: 120_000 });

const ROWS = ['--rows', '1000', '--columns', 'id:int,name:text~12,score:double'];

const cwd = folderOfSuite();

beforeAll(async () => {
  const records = LADDER.map((crossing, index) => {
    const fields = { family: 'boundary', side: 'napi', lane: 'objects', variant: 'napi-rs, array of objects' } as const;
    const seconds = timeOf(crossing, COSTS);
    return completed(
      {
        ...fields,
        id: `rung ${index}`,
        workload: `rows_in.${index}`,
        rows: 1,
        calls: 1,
        crossing: { ...crossing, client: 'napi-rs' },
      },
      [seconds, seconds, seconds],
    );
  });
  const run = runOf(records);
  await writeFile(join(cwd, 'modelled.json'), serializeRun({ ...run, model: costModelOf(records)! }));
  await writeFile(join(cwd, 'plain.json'), serializeRun(sampleRun()));
  await mkdir(join(cwd, 'empty'));
});

const predict = (...args: readonly string[]): Promise<Ended> =>
  spawnCli(['predict', ...args], { cwd, env: { COLUMNS: '200' } });

describe('boundary-bench predict', () => {
  it('teaches', async () => {
    const { exitCode, stdout } = await predict('--help');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('--columns id:int,name:text~12,score:double');
    expect(stdout).toContain("can't tell");
  });

  it('says the cost of a call, by which run, and how sure that is', async () => {
    const { exitCode, stdout, stderr } = await predict(...ROWS, '--run', 'modelled.json', '--calls-per-second', '2000');
    expect(stderr).toBe('');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('By the model of modelled.json, measured 2026-05-02 on Example CPU @ 2.50GHz');
    expect(stdout).toContain('This machine is another');
    expect(stdout).toMatch(/rows in +napi · napi-rs, array of objects +256 µs +.* +256 ns +51% +sure/);
  });

  it('says that it can’t tell what was not measured', async () => {
    const { exitCode, stdout } = await predict('--rows', '5M', '--columns', 'id:int', '--run', 'modelled.json');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/napi-rs, array of objects +— +— +— +can't tell: calls of more than 1000000 rows/);
  });

  it('prints JSON', async () => {
    const { stdout } = await predict(...ROWS, '--run', 'modelled.json', '--json', '--lane', 'objects');
    const answer = JSON.parse(stdout) as { run: string; calls: { seconds: number; certainty: string }[] };
    expect(answer.run).toBe('modelled.json');
    expect(answer.calls).toHaveLength(1);
    expect(answer.calls[0]!.certainty).toBe('sure');
    expect(answer.calls[0]!.seconds).toBeCloseTo(2.563e-4, 5);
  });

  it.each([
    [[], 'one of --rows, --bytes and --text says what crosses [BB_USAGE]'],
    [['--rows', '10', '--bytes', '10', '--columns', 'id:int'], 'one of --rows, --bytes and --text'],
    [['--rows', '10'], '--rows needs --columns [BB_USAGE]\nFor example: --columns id:int,name:text~12'],
    [['--bytes', '10', '--columns', 'id:int'], '--columns is for --rows'],
    [['--rows', 'ten', '--columns', 'id:int'], 'A number of rows looks like'],
    [['--rows', '10', '--columns', 'id:decimal'], 'the type "decimal" of the column "id:decimal" [BB_MODEL_COLUMNS]'],
    [[...ROWS, '--direction', 'sideways'], 'It must be in or out.'],
    [[...ROWS, '--js-work', '5'], 'It must be a time, such as 500ns'],
    [[...ROWS, '--run', 'none.json'], "can't read none.json"],
    [[...ROWS, '--run', 'plain.json'], 'plain.json has no cost model: its run measured no ladders [BB_MODEL_MISSING]'],
    [[...ROWS, '--run', 'modelled.json', '--lane', 'object'], "unknown lane 'object'; did you mean objects?"],
    [['--bytes', '10', '--run', 'modelled.json'], "the run's model has no costs of bytes [BB_MODEL_MISSING]"],
  ])('%j exits with 2 and says why', async (args, message) => {
    const { exitCode, stdout, stderr } = await predict(...args);
    expect(stderr).toContain(message);
    expect(stdout).toBe('');
    expect(exitCode).toBe(2);
  });
});
