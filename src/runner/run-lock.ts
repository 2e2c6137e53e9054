import { rmSync } from 'node:fs';
import { readlink, rm, symlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { BoundaryError } from '../errors.js';
import { startOfProcess } from '../host/process-start.js';

/** The name of the lock in a directory. */
export const LOCK = 'run.lock';

/** The time after which a lock is looked at again that another process removes. */
const RETRY_MS = 5;

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
        await symlink(ownName(), path);
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

/** Removes the lock of a process that has ended. Throws if its process runs, or may run on another machine. */
async function removeIfDead(directory: string, path: string): Promise<void> {
  if (!(await isDead(directory, path))) return;
  // Held by the one process that removes: others have seen the dead lock, too, and could remove the next one in its place.
  const removal = `${path}.removal`;
  try {
    await symlink(ownName(), removal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const remover = await targetOf(removal);
    if (remover !== undefined && !isRunning(remover)) await rm(removal, { force: true });
    await setTimeout(RETRY_MS);
    return;
  }
  try {
    if (await isDead(directory, path)) await rm(path, { force: true });
  } finally {
    await rm(removal, { force: true });
  }
}

/** Whether there is a lock whose process has ended. Throws `BB_OUT_BUSY` if it runs. */
async function isDead(directory: string, path: string): Promise<boolean> {
  const holder = await targetOf(path);
  if (holder === undefined) return false;
  if (!isRunning(holder)) return true;
  const [processId, , host] = holder.split('/');
  const isElsewhere = host !== hostname();
  throw new BoundaryError(
    'BB_OUT_BUSY',
    `another run writes into ${directory} (process ${processId}${isElsewhere ? ` on ${host}` : ''})`,
    {
      hint: `${isElsewhere ? `Delete ${path} if it has ended` : 'Wait until it ends'}, or choose another directory by --out.`,
    },
  );
}

/** The name of this process in a lock: its id, its start, and its machine. */
function ownName(): string {
  return `${process.pid}/${startOfProcess(process.pid)}/${hostname()}`;
}

/** Whether the process of a name runs. A process of another machine is taken to run. */
function isRunning(name: string): boolean {
  const [processId, started, host] = name.split('/');
  return host !== hostname() || startOfProcess(Number(processId)) === started;
}

async function targetOf(path: string): Promise<string | undefined> {
  return readlink(path).catch(() => undefined);
}
