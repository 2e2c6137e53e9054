import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The script of a shell that waits for the end of its input, which is the end of this process, and removes a folder.
 * Removal is tried again, since a server or another process of the run may still be ending.
 */
const WATCHDOG = `trap '' HUP INT QUIT TERM; read -r line; rm -rf -- "$1" && sleep 1; rm -rf -- "$1"`;

/** A temporary folder. It is also removed if this process does not remove it, however the process ends. */
export class TemporaryFolder {
  readonly path: string;
  readonly #removeAtExit = (): void => rmSync(this.path, { recursive: true, force: true });
  readonly #unwatch: () => void;

  protected constructor(path: string) {
    this.path = path;
    process.once('exit', this.#removeAtExit);
    this.#unwatch = watch(path);
  }

  static async create(): Promise<TemporaryFolder> {
    return new TemporaryFolder(await newFolder());
  }

  async remove(): Promise<void> {
    process.off('exit', this.#removeAtExit);
    // Retried, since the server may still be writing the file after its last connection has closed.
    await rm(this.path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    this.#unwatch();
  }
}

export function newFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'boundary-bench-'));
}

/** Starts the watchdog of a folder, which does not keep this process alive. Returns the function that ends it. */
function watch(folder: string): () => void {
  // Windows has no such shell. A process that is killed there leaves its folders.
  if (process.platform === 'win32') return () => {};
  const shell = started(folder);
  if (shell === undefined) return () => {};
  shell.on('error', () => {});
  shell.stdin.on('error', () => {});
  shell.unref();
  (shell.stdin as unknown as { unref(): void }).unref();
  return () => shell.stdin.end();
}

/** The watchdog. `undefined` if the system has no room for a process. Without it, a process that is not killed still removes its folder. */
function started(folder: string): ReturnType<typeof spawnShell> | undefined {
  try {
    return spawnShell(folder);
  } catch {
    return undefined;
  }
}

const spawnShell = (folder: string) =>
  spawn('/bin/sh', ['-c', WATCHDOG, 'boundary-bench-watchdog', folder], {
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
