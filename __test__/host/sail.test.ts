import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { installSail } from '../../src/host/install.js';
import { SAIL_PACKAGE, findSail, sailCache } from '../../src/host/sail.js';
import { offerWheel } from './offer-wheel.js';
import { builtMain, spawnCli } from '../cli/spawn-cli.js';
import { errorWith } from '../error-with.js';
import { lacks } from '../needs.js';
import { folderOfTest } from '../temporary-folder.js';

let folder: string;

beforeEach(() => {
  folder = folderOfTest();
  // A quote and a space, which the program of the cache must stand.
  vi.stubEnv('BOUNDARY_BENCH_CACHE', join(folder, "the cache's"));
  vi.stubEnv('SAIL_PATH', '');
});
afterEach(() => void vi.unstubAllEnvs());

const { name, version } = SAIL_PACKAGE;

it('takes SAIL_PATH for a file, and says where it found none', () => {
  vi.stubEnv('SAIL_PATH', process.execPath);
  expect(findSail()).toEqual({ path: process.execPath });
  vi.stubEnv('SAIL_PATH', folder);
  expect(findSail()).toEqual({ missing: `SAIL_PATH is ${folder}, but there is no such file` });
  vi.stubEnv('SAIL_PATH', '');
  expect(findSail()).toEqual({ missing: expect.stringContaining('boundary-bench setup sail') });
});

describe.skipIf(lacks('python'))('setup sail', () => {
  /** Makes pip find only a wheel whose module runs these lines. */
  const offerSail = (lines: string): void =>
    offerWheel(folder, name, version, { [`${name}/__main__.py`]: lines, [`${name}/__init__.py`]: '' });
  const leftovers = (): string[] => {
    const cache = process.env['BOUNDARY_BENCH_CACHE']!;
    return existsSync(cache) ? readdirSync(cache) : [];
  };

  it('installs what pip downloads, once, as a program that runs', async () => {
    offerSail("import sys; print('sail', 1, sys.argv[1:])");
    const path = join(sailCache(), 'sail');
    expect(await installSail()).toEqual({ path, version: "sail 1 ['--version']", wasThere: false });
    expect(findSail()).toEqual({ path });
    expect(execFileSync(path, ['a b', "c'd"], { encoding: 'utf8' })).toBe(`sail 1 ['a b', "c'd"]\n`);
    offerSail("print('sail 2')");
    expect(await installSail()).toMatchObject({ version: "sail 1 ['--version']", wasThere: true });
    expect(await installSail({ force: true })).toEqual({ path, version: 'sail 2', wasThere: false });
    expect(leftovers()).toEqual(['sail']);
  });

  it('leaves the installed one if the new one does not run', async () => {
    offerSail("print('sail 1')");
    await installSail();
    offerSail("raise SystemExit('no such library')");
    await expect(installSail({ force: true })).rejects.toThrow(errorWith('BB_SETUP_UNUSABLE', 'no such library'));
    expect((await installSail()).version).toBe('sail 1');
    expect(leftovers()).toEqual(['sail']);
  });

  it('says so when Python, pip or the package is not there', async () => {
    const programs = join(folder, 'programs');
    mkdirSync(programs);
    vi.stubEnv('PIP_NO_INDEX', '1');
    await expect(installSail()).rejects.toThrow(errorWith('BB_SETUP_DOWNLOAD', 'No matching distribution'));
    vi.stubEnv('PATH', programs);
    await expect(installSail()).rejects.toThrow(errorWith('BB_SETUP_NO_PYTHON', 'there is no python3'));
    writeFileSync(join(programs, 'python3'), '#!/bin/sh\necho No module named pip >&2; exit 1\n');
    chmodSync(join(programs, 'python3'), 0o755);
    await expect(installSail()).rejects.toThrow(errorWith('BB_SETUP_NO_PIP', 'No module named pip'));
    expect(leftovers()).toEqual([]);
  });

  it('is a command', async () => {
    offerSail("print('sail 1')");
    const { exitCode, stdout, stderr } = await spawnCli(['setup', 'sail'], { cwd: folder, script: builtMain });
    expect(stderr).toMatch(/^Downloading pysail .*\n$/);
    expect(stdout).toBe(`${join(sailCache(), 'sail')}\nsail 1\n`);
    expect(exitCode).toBe(0);
  });
});
