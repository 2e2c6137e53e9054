/** Files and folders that results are written to. */
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a folder if there is none, and returns its path. Node's `mkdir` never ends in a place where no folder can be made, as in
 * /proc.
 */
export async function makeFolder(path: string): Promise<string> {
  if (await isDirectory(path)) return path;
  if (dirname(path) !== path) await makeFolder(dirname(path));
  await mkdir(path).catch(async (error: unknown) => {
    // Another process may have made it in the meantime.
    if (!(await isDirectory(path))) throw error;
  });
  return path;
}

/** Replaces a file so that a reader sees the old or the new content, also after a crash. */
export async function writeAtomically(path: string, content: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    const file = await open(temporary, 'w');
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (cause) {
    await rm(temporary, { force: true });
    throw cause;
  }
}

export async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
}

export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
