import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

import { spawnCli } from './spawn-cli.js';
import { folderOfTest } from '../temporary-folder.js';

it('Ctrl-C ends a run whose cell is measured by worker threads', async () => {
  const cwd = folderOfTest();
  const cell = ['--workload', 'query.full_scan', '--engine', 'embedded', '--side', 'napi', '--lane', 'columnar'];
  let sent = false;
  const { exitCode, stderr } = await spawnCli(
    ['run', '1M', ...cell, '--workers', '2', '--samples', '1000000', '--out', 'out'],
    {
      cwd,
      script: fileURLToPath(new URL('cli-in-haste.mjs', import.meta.url)),
      onStderr: (text, kill) => {
        // The cell is open by the third line at the latest, unless the machine is busy.
        if (sent || text.split('now measurements/').length <= 3) return;
        sent = true;
        kill('SIGINT');
      },
    },
  );
  expect({ exitCode, sent }, stderr).toEqual({ exitCode: 130, sent: true });
  expect(stderr).toMatch(/Interrupted, 1 cells? not measured/);
}, 120_000);
