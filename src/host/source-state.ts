import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { RunContext } from '../records/record.js';

const execute = promisify(execFile);

/** The commit of the repository around `directory`, and whether it has changes. `undefined` without git or without a repository. */
export async function gitState(directory: string): Promise<RunContext['git']> {
  try {
    const commit = await git(directory, 'rev-parse', 'HEAD');
    const changes = await git(directory, 'status', '--porcelain');
    return { commit, dirty: changes !== '' };
  } catch {
    return undefined;
  }
}

/** The repository whose commit is recorded: this package's own clone, else the project in which it runs. */
export function repositoryOf(packageRoot: string): string {
  return existsSync(join(packageRoot, '.git')) ? packageRoot : process.cwd();
}

async function git(directory: string, ...args: readonly string[]): Promise<string> {
  // Without optional locks, since a concurrent commit needs them.
  const { stdout } = await execute('git', ['-C', directory, '--no-optional-locks', ...args], {
    timeout: 10_000,
    maxBuffer: 64 * 1024 ** 2,
  });
  return stdout.trim();
}
