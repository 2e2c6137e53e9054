import { readFile } from 'node:fs/promises';

/** The text of a file of the system without the space around it. `undefined` if it can't be read. */
export async function readText(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  );
}
