import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { expect, it } from 'vitest';

import { TemporaryFolder } from '../../src/families/temporary-folder.js';

const MODULE = fileURLToPath(new URL('../../dist/families/temporary-folder.js', import.meta.url));

it.skipIf(process.platform === 'win32')(
  'a folder is removed when its process is killed',
  async () => {
    const program = `const { TemporaryFolder } = await import(${JSON.stringify(MODULE)});
    process.stdout.write((await TemporaryFolder.create()).path); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [path] = (await once(child.stdout, 'data')) as [Buffer];
    expect(existsSync(path.toString())).toBe(true);
    child.kill('SIGKILL');
    await expect.poll(() => existsSync(path.toString()), { timeout: 60_000 }).toBe(false);
  },
  120_000,
);

it('a folder that is removed is gone, and its process ends by itself', async () => {
  const folder = await TemporaryFolder.create();
  await folder.remove();
  expect(existsSync(folder.path)).toBe(false);
  const program = `const { TemporaryFolder } = await import(${JSON.stringify(MODULE)}); await TemporaryFolder.create();`;
  const [code] = await once(spawn(process.execPath, ['--input-type=module', '-e', program]), 'exit');
  expect(code).toBe(0);
}, 120_000);

it('a folder is made, and removed, also if no other process can be started', async () => {
  const program = `import processes from 'node:child_process';
    import { syncBuiltinESMExports } from 'node:module';
    processes.spawn = () => { throw new Error('spawn ENOMEM'); };
    syncBuiltinESMExports();
    const { TemporaryFolder } = await import(${JSON.stringify(MODULE)});
    await (await TemporaryFolder.create()).remove();`;
  const [code] = await once(spawn(process.execPath, ['--input-type=module', '-e', program]), 'exit');
  expect(code).toBe(0);
}, 120_000);
