import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';

import { connect } from '../../../src/index.js';
import type { Run } from '../../../src/records/record.js';
import { builtMain, spawnCli } from '../../cli/spawn-cli.js';
import { mysqlOfSuite } from '../../mysql-server.js';
import { lacks } from '../../needs.js';
import { folderOfSuite } from '../../temporary-folder.js';

const FEW = ['--forks', '1', '--samples', '1', '--time-budget', '0.01', '--quiet'];

const folder = folderOfSuite();

const cli = (out: string, ...words: readonly string[]) =>
  spawnCli(['run', ...words, ...FEW, '--out', out], { cwd: folder, script: builtMain });

/** The ways that a run measured, as side and name, with what became of them. */
function measured(out: string): string[] {
  const { records } = JSON.parse(readFileSync(join(folder, out, 'run.json'), 'utf8')) as Run;
  return records
    .map(
      ({ side, variant, outcome, ...rest }) =>
        `${side} · ${variant}: ${outcome}${'error' in rest ? rest.error.message : ''}`,
    )
    .toSorted();
}

/** A table with each kind of value, nulls among them, and texts beyond ASCII. */
const CREATE = `CREATE TABLE orders AS SELECT range::INTEGER AS id, range::BIGINT AS item, range % 3 = 0 AS paid, range / 7 AS price,
  CASE WHEN range % 5 > 0 THEN 'näme ' || range END AS name, DATE '2025-01-01' + range::INTEGER AS day, range::DECIMAL(12, 2) AS tax,
  range::SMALLINT AS small, range::REAL AS part, range::VARCHAR::BLOB AS bytes FROM range(2000)`;

describe('a file of DuckDB', () => {
  const uri = `embedded:${join(folder, 'shop.duckdb')}`;

  beforeAll(async () => {
    const connection = await connect(uri);
    await connection.execute(CREATE);
    await connection.close();
  });

  it('is read by all sides, and all read the same', async () => {
    const { exitCode, stderr } = await cli('read', '--sql', 'SELECT * FROM orders', '--engine-uri', `embedded=${uri}`);
    expect([exitCode, measured('read')], stderr).toEqual([
      0,
      [
        'js · js, @duckdb/node-api objects: completed',
        'js · js, @duckdb/node-bindings columns: completed',
        'napi · napi, columns: completed',
        'napi · napi, cursor: completed',
        'napi · napi, objects: completed',
        'rust · rust: completed',
      ],
    ]);
  });

  it('is not changed: a command fails, and says why', async () => {
    const { exitCode, stderr } = await cli('dropped', '--sql', 'DROP TABLE orders', '--engine-uri', `embedded=${uri}`);
    expect([exitCode, stderr]).toEqual([
      expect.toSatisfy((code) => code !== 0),
      expect.stringContaining('a query only reads'),
    ]);
  });

  it('is one engine', async () => {
    const { exitCode, stderr } = await cli('two', '--sql', 'SELECT 1', '--engine-uri', 'a=b:', '--engine-uri', 'c=d:');
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('--sql runs on one engine, not on a and c')]);
  });
});

describe.skipIf(lacks('mysql'))('a database of MySQL', () => {
  const mysql = mysqlOfSuite();

  it('is read by all sides, and all read the same', async () => {
    await mysql.client.query('CREATE TABLE orders (id INT, name VARCHAR(20), price DOUBLE, day DATE)');
    const days = ['2025-01-01', '2025-01-02', null];
    await mysql.client.insertRows(
      'orders',
      ['id', 'name', 'price', 'day'],
      days.map((day, id) => [id, id === 1 ? null : `näme ${id}`, id / 7, day]),
    );
    const { exitCode, stderr } = await cli(
      'mysql',
      '--sql',
      'SELECT * FROM orders',
      '--engine-uri',
      `mysql=${mysql.url}`,
    );
    expect([exitCode, measured('mysql')], stderr).toEqual([
      0,
      [
        'js · js, mariadb: completed',
        'js · js, mysql2 arrays: completed',
        'js · js, mysql2: completed',
        'napi · napi, columns: completed',
        'napi · napi, cursor: completed',
        'napi · napi, objects: completed',
        'rust · rust: completed',
      ],
    ]);
    const changed = await cli('changed', '--sql', 'DELETE FROM orders', '--engine-uri', `mysql=${mysql.url}`);
    expect([changed.exitCode, changed.stderr]).toEqual([1, expect.stringContaining('a query only reads')]);
    expect((await mysql.client.query('SELECT COUNT(*) AS left_over FROM orders')).rows()).toEqual([{ left_over: 3n }]);
  });
});
