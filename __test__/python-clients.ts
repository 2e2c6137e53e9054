/** Clients of other projects, in Python. If they are required but not installed yet, pip installs them. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { isLeftOut } from './needs.js';
import { isRequired } from './needs.mjs';

const execute = promisify(execFile);

/** The packages and their dependencies, in the versions that the tests were written with. */
const PACKAGES = [
  'adbc-driver-flightsql==1.13.0',
  'adbc-driver-manager==1.13.0',
  'grpcio==1.85.1',
  'grpcio-health-checking==1.85.1',
  'grpcio-reflection==1.85.1',
  'protobuf==7.36.2',
  'pyarrow==26.0.1',
  'typing-extensions==4.16.0',
];

/** The folder with the packages, or the reason why there is none. */
export type PythonClients = { readonly folder: string } | { readonly missing: string };

/** Finds the packages, for tests that are skipped without them. */
export async function pythonClients(): Promise<PythonClients> {
  const clients = await findClients();
  isLeftOut('python', 'missing' in clients ? clients.missing : undefined);
  return clients;
}

async function findClients(): Promise<PythonClients> {
  try {
    const folder = await folderOfClients();
    if (existsSync(folder)) return { folder };
    if (!isRequired('python')) return { missing: `the packages of the tests are not installed: there is no ${folder}` };
    await install(folder);
    return { folder };
  } catch (error) {
    return { missing: (error as Error).message };
  }
}

async function folderOfClients(): Promise<string> {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  const { stdout } = await execute('python3', ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])']);
  const versions = createHash('sha256').update(PACKAGES.join(' ')).digest('hex').slice(0, 8);
  return join(cache, 'boundary-bench', `python-clients-${versions}-py${stdout.trim()}`);
}

async function install(folder: string): Promise<void> {
  await mkdir(dirname(folder), { recursive: true });
  // The packages are installed next to the folder and then renamed, so that others find the complete folder or none.
  const workshop = await mkdtemp(`${folder}-setup-`);
  try {
    const quietly = ['--quiet', '--disable-pip-version-check', '--no-input', '--only-binary=:all:', '--no-deps'];
    await execute('python3', ['-m', 'pip', 'install', ...quietly, '--target', workshop, ...PACKAGES]);
    await rename(workshop, folder).catch((error: unknown) => {
      // Another test has installed the packages meanwhile.
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(workshop, { recursive: true, force: true });
  }
}

/** Runs a program of Python with the packages; resolves with the lines that it printed. */
export async function runPython(clients: PythonClients, program: string, words: readonly string[]): Promise<string[]> {
  if ('missing' in clients) throw new Error(clients.missing);
  const { stdout } = await execute('python3', [program, ...words], {
    env: { ...process.env, PYTHONPATH: clients.folder },
    maxBuffer: 1 << 24,
  });
  return stdout.trim().split('\n');
}
