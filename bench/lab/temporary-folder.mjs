import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Makes a folder that is removed when this process ends. */
export function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'boundary-bench-lab-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
