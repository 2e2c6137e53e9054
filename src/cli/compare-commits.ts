/** `compare --git`: an addon as two commits of its repository build it. */
import { type StdioOptions, execFile, spawn } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { readdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

import { BoundaryError } from '../errors.js';
import { TemporaryFolder } from '../families/temporary-folder.js';
import { exists } from '../runner/files.js';
import { type CompareBuildsOptions, compareBuilds } from './compare-builds.js';
import { untilInterrupted } from './interrupt.js';
import type { CliServices, Finish } from './services.js';

/** How the builds of two commits are compared. */
export interface CompareCommitsOptions extends CompareBuildsOptions {
  /** Two commits: `main..HEAD`. */
  readonly git: string;
  /** The command that builds the addon, for a shell in the root of a checkout. */
  readonly build: string;
  /** The path of the addon in a checkout. Absent: the only `.node` file that the build leaves. */
  readonly addon?: string;
}

/** The command that builds the addon, if none is given. */
export const DEFAULT_BUILD = 'npm ci && npm run build';

/** The folders in which no addon of the user's is looked for. */
const FOREIGN = new Set(['node_modules', 'target', '.git']);

/**
 * Builds two commits in checkouts of their own, and measures the workloads of files by both builds, in turns. The
 * checkouts are removed afterwards.
 */
export async function compareCommits(
  files: readonly string[],
  options: CompareCommitsOptions,
  services: CliServices,
  finish: Finish,
): Promise<void> {
  const [before, after] = commitsOf(options.git);
  const root = (await git(['rev-parse', '--show-toplevel'], process.cwd())).trim();
  const temporary = await TemporaryFolder.create();
  const folder = await realpath(temporary.path);
  const checkouts = [path.join(folder, 'old'), path.join(folder, 'new')] as const;
  try {
    const { result, exitCode } = await untilInterrupted(
      async (signal) => [
        await built(root, before, checkouts[0], options, signal),
        await built(root, after, checkouts[1], options, signal),
      ],
      () => process.stderr.write('Stopping.\n'),
    );
    if (result === undefined) return finish(exitCode!);
    const [old, renewed] = result as [string, string];
    // A file that is not committed is taken from this tree, and loads the addon from it.
    const own = path.join(root, path.relative(checkouts[1], renewed));
    const replaces = (await exists(own)) ? [realpathSync(own)] : [];
    const used = await Promise.all(files.map((file) => committed(file, root, checkouts[1])));
    await compareBuilds([old, renewed], used, { ...options, addon: undefined, replaces }, services, finish);
  } finally {
    for (const checkout of checkouts) {
      // A checkout that was not made yet can't be removed.
      await git(['worktree', 'remove', '--force', checkout], root).catch(() => undefined);
    }
    await temporary.remove();
  }
}

/** A file as the new commit has it, or the file itself if the commit has none. */
async function committed(file: string, root: string, checkout: string): Promise<string> {
  const there = path.join(checkout, path.relative(root, path.resolve(file)));
  return (await exists(there)) ? there : file;
}

function commitsOf(range: string): [before: string, after: string] {
  const [before = '', after = '', ...rest] = range.split('..');
  if (before === '' || rest.length > 0 || after.startsWith('.') || !range.includes('..')) {
    throw new BoundaryError('BB_USAGE', `${range} names no two commits`, {
      hint: 'Write OLD..NEW, such as main..HEAD.',
    });
  }
  return [before, after === '' ? 'HEAD' : after];
}

/** Checks a commit out, builds it, and resolves to the path of its addon. */
async function built(
  root: string,
  commit: string,
  checkout: string,
  { build, addon }: Pick<CompareCommitsOptions, 'build' | 'addon'>,
  signal: AbortSignal,
): Promise<string> {
  await git(['worktree', 'add', '--detach', '--quiet', checkout, commit], root);
  process.stderr.write(`Building ${commit}: ${build}\n`);
  const code = await shell(build, checkout, signal);
  signal.throwIfAborted();
  if (code !== 0) {
    throw new BoundaryError('BB_BUILD_FAILED', `the build of ${commit} ended with ${code}: ${build}`, {
      hint: 'Its output is above. --build gives another command.',
    });
  }
  if (addon === undefined) return onlyAddonIn(checkout, commit);
  const file = path.resolve(checkout, addon);
  if (await exists(file)) return file;
  throw new BoundaryError('BB_BUILD_FAILED', `the build of ${commit} leaves no ${addon}`, {
    hint: 'Give the path from the root of the repository.',
  });
}

async function onlyAddonIn(checkout: string, commit: string): Promise<string> {
  const found = (await readdir(checkout, { recursive: true })).filter(
    (name) => name.endsWith('.node') && !name.split(path.sep).some((part) => FOREIGN.has(part)),
  );
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return path.join(checkout, only);
  const what = only === undefined ? 'no .node file' : `several .node files: ${found.join(', ')}`;
  throw new BoundaryError('BB_BUILD_FAILED', `the build of ${commit} leaves ${what}`, {
    hint: 'Name the addon: --addon build/my-addon.node',
  });
}

const execute = promisify(execFile);

/** Runs git, and resolves to its output. Throws `BB_USAGE` with the error that git prints. */
async function git(words: readonly string[], cwd: string): Promise<string> {
  try {
    return (await execute('git', [...words], { cwd })).stdout;
  } catch (cause) {
    const { stderr = '', message } = cause as Error & { stderr?: string };
    throw new BoundaryError('BB_USAGE', `git ${words[0]} failed: ${stderr.trim() || message}`, { cause });
  }
}

/** Runs a line of a shell, and shows its output. Resolves to the exit code, or to the reason why there is none. */
function shell(line: string, cwd: string, signal: AbortSignal): Promise<number | string | null> {
  return new Promise((resolve) => {
    const stdio: StdioOptions = ['ignore', process.stderr.fd, process.stderr.fd];
    const child = spawn(line, { cwd, shell: true, stdio, signal });
    child.once('error', ({ message }) => resolve(message));
    child.once('close', (code, name) => resolve(code ?? name));
  });
}
