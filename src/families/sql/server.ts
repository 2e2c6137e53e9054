/**
 * The server of the family, with what it does otherwise than MySQL: servers of the wire may have a part of the dialect only. A probe
 * finds out once, before any cell, so that all sides do the same.
 */
import { SqlClient } from '../../library/sql/sql-client.js';
import { BoundaryError } from '../../errors.js';
import { openTarget, type TargetServer } from '../requests/target-server.js';
import type { FamilyOptions, SharedServer } from '../workload.js';
import { withDatabase } from './database.js';

/** What a server takes of what the cells need. */
export interface SqlDialect {
  /** The statement that empties a table, without the table's name. */
  readonly emptying: 'TRUNCATE TABLE' | 'DELETE FROM';
  /** Whether an `INT` is compared only with parameters of its own type, so that clients must say the type. */
  readonly typesIntegers: boolean;
}

export interface SqlServer extends TargetServer {
  readonly dialect: SqlDialect;
}

export async function openSqlServer(
  engines: FamilyOptions['engines'],
  shared: SharedServer | undefined,
): Promise<SqlServer> {
  const target = await openTarget('mysql', engines, [], shared);
  try {
    const dialect = await probe(target);
    return { ...target, dialect, adaptations: adaptationsOf(dialect) };
  } catch (thrown) {
    await target.close();
    throw thrown;
  }
}

async function probe(target: TargetServer): Promise<SqlDialect> {
  await using client = await SqlClient.connect(await withDatabase(target.url), { connections: 1 });
  const table = `${target.newPrefix()}_dialect`;
  await client.query(`CREATE TABLE ${table} (id INT NOT NULL, PRIMARY KEY (id))`);
  try {
    await client.query(`INSERT INTO ${table} (id) VALUES (1)`);
    // MySQL converts the parameter, here a text, to the type of the column.
    const found = await client.execute(`SELECT id FROM ${table} WHERE id = ?`, ['1']);
    return { emptying: await emptyingOf(client, table), typesIntegers: found.rowCount === 0 };
  } finally {
    await client.query(`DROP TABLE ${table}`);
  }
}

async function emptyingOf(client: SqlClient, table: string): Promise<SqlDialect['emptying']> {
  try {
    await client.query(`TRUNCATE TABLE ${table}`);
    return 'TRUNCATE TABLE';
  } catch (thrown) {
    if ((thrown as BoundaryError).code !== 'BB_ENGINE') throw thrown;
    return 'DELETE FROM';
  }
}

function adaptationsOf({ emptying, typesIntegers }: SqlDialect): readonly string[] {
  return [
    ...(emptying === 'DELETE FROM'
      ? ['tables are emptied by DELETE FROM, since the server refuses TRUNCATE TABLE']
      : []),
    ...(typesIntegers
      ? [
          'mysql2 says the type of each integer (TypedParameter.INT), since the server finds an INT by no other type; the crate ' +
            'mysql_async has no way to say it',
        ]
      : []),
  ];
}
