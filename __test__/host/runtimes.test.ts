import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { installRuntime } from '../../src/host/install.js';
import { findRuntime, runtimePackage } from '../../src/host/runtimes.js';
import { folderOfTest } from '../temporary-folder.js';

let folder: string;

beforeEach(() => {
  folder = folderOfTest();
  vi.stubEnv('BOUNDARY_BENCH_CACHE', join(folder, 'cache'));
});
afterEach(() => void vi.unstubAllEnvs());

/** An npm that writes down what it is asked for, and installs a program that prints a version, or does nothing. */
function stubNpm(program: string | undefined): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const asked = join(folder, 'asked');
  const install =
    program === undefined
      ? ''
      : `mkdir -p "$3/${join(program, '..')}"; printf '#!/bin/sh\\necho v22.1.0\\n' > "$3/${program}"; chmod 755 "$3/${program}"`;
  writeFileSync(join(bin, 'npm'), `#!/bin/sh\necho "$@" >> '${asked}'\n${install}\n`, { mode: 0o755 });
  vi.stubEnv('PATH', `${bin}${delimiter}${process.env['PATH'] ?? ''}`);
  return asked;
}

const NODE = `node-${process.platform}-${process.arch}`;
const PROGRAM = join('node_modules', NODE, 'bin/node');

it('knows the packages of the runtimes, and no others', () => {
  expect(runtimePackage('node@22')?.specification).toBe(`${NODE}@22`);
  expect(runtimePackage('bun')?.specification).toMatch(/^@oven\/bun-.*@latest$/);
  expect(runtimePackage('deno@2.1')?.specification).toMatch(/^@deno\/.*@2\.1$/);
  for (const name of ['', 'perl', 'node@../x', 'node@1 2']) expect(runtimePackage(name), name).toBeUndefined();
});

it('installs a runtime once, where it is found', async () => {
  const asked = stubNpm(PROGRAM);
  expect(findRuntime('node@22')).toEqual({
    missing: 'the runtime node@22 is not installed: run `npx boundary-bench setup runtime node@22`',
  });
  const path = join(folder, 'cache/runtimes/node@22', PROGRAM);
  expect(await installRuntime('node@22')).toEqual({ path, version: 'v22.1.0', wasThere: false });
  expect(findRuntime('node@22')).toEqual({ program: path, args: [] });
  expect(await installRuntime('node@22')).toEqual({ path, version: 'v22.1.0', wasThere: true });
  expect(await installRuntime('node@22', { force: true })).toMatchObject({ wasThere: false });
  const lines = readFileSync(asked, 'utf8').trim().split('\n');
  expect(lines).toHaveLength(2);
  expect(lines[0]).toContain('--ignore-scripts');
  expect(lines[0]).toMatch(new RegExp(`${NODE}@22$`));
});

it('says what is wrong, and leaves nothing behind that looks installed', async () => {
  await expect(installRuntime('perl')).rejects.toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
  stubNpm(undefined);
  await expect(installRuntime('node@22')).rejects.toMatchObject({ code: 'BB_SETUP_UNUSABLE' });
  expect('missing' in findRuntime('node@22')).toBe(true);
});
