import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { connect } from '../../src/library/connection.js';

const execute = promisify(execFile);

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const CLIENTS = fileURLToPath(new URL('clients.py', import.meta.url));

/** Clients that nobody here wrote, in the versions that the test was written with. */
const PACKAGES = [
  'adbc-driver-flightsql==1.13.0',
  'adbc-driver-manager==1.13.0',
  'pyarrow==26.0.1',
  'typing-extensions==4.16.0',
];

const USER = 'reader';
const PASSWORD = 's3cr:et@ä';

/** The folder with the packages, installed by pip where they are not there yet; why there is none, where that is so. */
async function clients(): Promise<{ readonly folder: string } | { readonly missing: string }> {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  try {
    const { stdout } = await execute('python3', ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])']);
    const folder = join(cache, 'boundary-bench', `flight-clients-${PACKAGES[0]?.split('==')[1]}-py${stdout.trim()}`);
    if (existsSync(folder)) return { folder };
    await mkdir(dirname(folder), { recursive: true });
    // Beside its place, so that whoever looks finds all of it or nothing.
    const workshop = await mkdtemp(`${folder}-setup-`);
    try {
      const quietly = ['--quiet', '--disable-pip-version-check', '--no-input', '--only-binary=:all:', '--no-deps'];
      await execute('python3', ['-m', 'pip', 'install', ...quietly, '--target', workshop, ...PACKAGES]);
      await rename(workshop, folder);
    } finally {
      await rm(workshop, { recursive: true, force: true });
    }
    return { folder };
  } catch (error) {
    return { missing: (error as Error).message };
  }
}

const found = await clients();
if ('missing' in found) {
  if ((process.env['BOUNDARY_BENCH_REQUIRE'] ?? '').split(',').includes('python')) throw new Error(found.missing);
  process.stderr.write(`SKIPPED: the Flight SQL clients of Python: ${found.missing}\n`);
}

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
  beforeAll(async () => {
    server = await serve();
  });
  afterAll(() => {
    server.process.kill();
  });

  it.skipIf('missing' in found)('holds with the clients of Python', async () => {
    const { stdout } = await execute('python3', [CLIENTS, server.url.replace('flight://', ''), USER, PASSWORD], {
      env: { ...process.env, PYTHONPATH: (found as { folder: string }).folder },
      maxBuffer: 1 << 24,
    });
    expect(stdout.trim().split('\n').slice(1)).toMatchInlineSnapshot(`
      [
        "a login is asked for",
        "queries with parameters",
        "errors say what is wrong",
        "tables are listed",
        "rows are ingested",
        "large results stream",
        "wide rows come in messages that clients take",
        "pyarrow reads and writes",
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
