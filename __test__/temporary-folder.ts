import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, onTestFinished } from 'vitest';

/** Makes a folder that is removed when the test has ended. */
export function folderOfTest(): string {
  const folder = newFolder();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Makes a folder for all tests of a file or of a suite. It is removed after them. */
export function folderOfSuite(): string {
  const folder = newFolder();
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function newFolder(): string {
  return mkdtempSync(join(realpathSync(tmpdir()), 'boundary-bench-'));
}
