import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

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

/** Writes files into a folder, by their paths, with the folders that they need. */
export function writeFiles(folder: string, contents: Readonly<Record<string, string>>): void {
  for (const [path, content] of Object.entries(contents)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

function newFolder(): string {
  return mkdtempSync(join(realpathSync(tmpdir()), 'boundary-bench-'));
}
