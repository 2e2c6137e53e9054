import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { connect } from '../../src/library/engine/connection.js';
import { pythonClients, runPython } from '../python-clients.js';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const CLIENTS = fileURLToPath(new URL('clients.py', import.meta.url));

const USER = 'reader';
const PASSWORD = 's3cr:et@ä';

const python = await pythonClients();

/** `boundary-bench serve flight` on a free port. */
async function serve(): Promise<{ readonly url: string; readonly process: ChildProcess }> {
  const server = spawn(process.execPath, [MAIN, 'serve', 'flight', '--listen', '127.0.0.1:0', '--user', USER], {
    env: { ...process.env, BOUNDARY_BENCH_PASSWORD: PASSWORD },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: server.stdout })) {
    const url = /^listening on (flight:\/\/.*)$/.exec(line)?.[1];
    if (url !== undefined) return { url, process: server };
  }
  throw new Error('the server ended before it listened');
}

describe('boundary-bench serve flight', () => {
  let server: Awaited<ReturnType<typeof serve>>;
  beforeAll(async () => void (server = await serve()));
  afterAll(() => void server.process.kill());

  it.skipIf('missing' in python)('holds with the clients of Python', async () => {
    const lines = await runPython(python, CLIENTS, [server.url.replace('flight://', ''), USER, PASSWORD]);
    expect(lines.slice(1)).toMatchInlineSnapshot(`
      [
        "a login is asked for",
        "queries with parameters",
        "errors say what is wrong",
        "tables are listed",
        "rows are ingested",
        "large results stream",
        "wide rows come in messages that clients take",
        "pyarrow reads and writes",
        "values of other types are stored exactly",
        "deadlines and cancellations end queries",
      ]
    `);
  });

  it('is an engine of the library, to who has the password', async () => {
    const place = server.url.replace('flight://', '');
    const connection = await connect(`flight://${USER}:${encodeURIComponent(PASSWORD)}@${place}`);
    expect(connection.engine).toMatchObject({ name: 'flight', sql: true });
    expect(connection.engine.version).toContain('boundary-bench');
    expect(await connection.executeQuery('SELECT $1::INTEGER + 1 AS n', { parameters: [41] })).toEqual([{ n: 42 }]);
    await connection.close();
    await expect(connect(`flight://${USER}:wrong@${place}`)).rejects.toThrow(/password/);
  });
});

it('has a private server for who names no place', async () => {
  const [one, other] = await Promise.all([connect('flight:'), connect('flight:')]);
  await one.execute('CREATE TABLE t (x INTEGER)');
  expect(await one.listTables()).toEqual(['t']);
  expect(await other.listTables()).toEqual([]);
  await Promise.all([one.close(), other.close()]);
});
