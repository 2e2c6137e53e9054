import { rmSync } from 'node:fs';
import { readlink, rename, rm, symlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { BoundaryError } from '../errors.js';
import { startOfProcess } from '../host/process-start.js';

/** The name of the lock in a directory. */
export const LOCK = 'run.lock';

/**
 * The lock of a directory, held by the process whose run writes there. It is a symbolic link whose target names the process, since
 * one is made with its content at once, or not at all. A process that has ended holds none.
 */
export class RunLock {
  readonly #path: string;
  readonly #atExit = (): void => rmSync(this.#path, { force: true });

  private constructor(path: string) {
    this.#path = path;
    process.once('exit', this.#atExit);
  }

  /** Takes the lock of a directory. Throws `BB_OUT_BUSY` if another process holds it, and the errors of the file system. */
  static async take(directory: string): Promise<RunLock> {
    const path = join(directory, LOCK);
    for (;;) {
      try {
        await symlink(`${process.pid}/${startOfProcess(process.pid)}/${hostname()}`, path);
        return new RunLock(path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      await removeIfDead(directory, path);
    }
  }

  async release(): Promise<void> {
    process.off('exit', this.#atExit);
    await rm(this.#path, { force: true });
  }
}

/** Removes the lock of a process that has ended; throws if its process runs, or runs on another machine for all that is known. */
async function removeIfDead(directory: string, path: string): Promise<void> {
  const holder = await targetOf(path);
  if (holder === undefined) return;
  const [processId = '', started = '', host = ''] = holder.split('/');
  const isElsewhere = host !== hostname();
  if (isElsewhere || startOfProcess(Number(processId)) === started) {
    const where = isElsewhere ? ` on ${host}` : '';
    throw new BoundaryError('BB_OUT_BUSY', `another run writes into ${directory} (process ${processId}${where})`, {
      hint: `${isElsewhere ? `Delete ${path} if it has ended` : 'Wait until it ends'}, or choose another directory by --out.`,
    });
  }
  // Renamed first: of several processes that have seen the dead one, only one finds the lock to rename.
  const taken = `${path}.${process.pid}`;
  try {
    await rename(path, taken);
  } catch {
    return;
  }
  if ((await targetOf(taken)) === holder) await rm(taken, { force: true });
  // Another one was faster, and this is its lock.
  else await rename(taken, path);
}

async function targetOf(path: string): Promise<string | undefined> {
  return readlink(path).catch(() => undefined);
}
