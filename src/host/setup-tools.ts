/** Functions that the commands of `boundary-bench setup` have in common. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

import { BoundaryError } from '../errors.js';

const execute = promisify(execFile);

/** A program that `setup` has installed. */
export interface Installed {
  /** The path of the program. */
  readonly path: string;
  /** The first line of its `--version`. */
  readonly version: string;
  /** Whether it was already installed, and was not changed. */
  readonly wasThere: boolean;
}

/**
 * Works in a new folder next to `folder`, and removes it afterwards. The complete result is renamed into its place, so
 * that readers find all of it or nothing.
 */
export async function besideFolder<T>(folder: string, work: (workshop: string) => Promise<T>): Promise<T> {
  await mkdir(dirname(folder), { recursive: true });
  const workshop = await mkdtemp(`${folder}-setup-`);
  try {
    return await work(workshop);
  } finally {
    await rm(workshop, { recursive: true, force: true });
  }
}

/**
 * Installs an npm package into a folder, without running its scripts. Throws a `BoundaryError`: `BB_SETUP_NO_NPM`, or
 * `BB_SETUP_DOWNLOAD`.
 */
export async function npmInstall(
  specification: string,
  folder: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const quietly = [
    '--no-save',
    '--ignore-scripts',
    '--no-engine-strict',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  await runTool('npm', ['install', '--prefix', folder, ...quietly, specification], signal, (why, cause, isMissing) => {
    if (isMissing) throw new BoundaryError('BB_SETUP_NO_NPM', 'there is no npm on the PATH', { cause });
    throw new BoundaryError('BB_SETUP_DOWNLOAD', `npm can't install ${specification}: ${why}`, {
      hint: 'Is this machine online, and is there such a version?',
      cause,
    });
  });
}

/** How a program is installed. */
export interface SetupOptions {
  /** Whether to reinstall what is installed. */
  readonly force?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called with a description of each step that takes a while. */
  readonly onProgress?: (step: string) => void;
}

/** Puts a folder that is complete into the place of another one, if that is there. */
export async function replaceFolder(folder: string, complete: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await rename(complete, folder);
}

/** The options of every call of pip: it asks nothing, and prints only errors. */
const PIP_QUIETLY = ['--quiet', '--disable-pip-version-check', '--no-input'];

/** The package that pip brings, and what to do if there is no Python or no pip. */
export interface PipWanted {
  readonly what: string;
  readonly withoutPython: string;
  readonly withoutPip: string;
}

/** Checks that `python3` has pip. Throws a `BoundaryError`: `BB_SETUP_NO_PYTHON`, or `BB_SETUP_NO_PIP`. */
export async function requirePip(wanted: PipWanted, signal: AbortSignal | undefined): Promise<void> {
  await runPython(['-m', 'pip', '--version'], wanted, signal, (why, cause) => {
    throw new BoundaryError('BB_SETUP_NO_PIP', `python3 has no pip: ${why}`, {
      hint: `Install pip, e.g. \`apt install python3-pip\`. ${wanted.withoutPip}`,
      cause,
    });
  });
}

/**
 * Calls pip for a package of a version, such as `pysail==0.7.2`, without the packages that it needs. `place` are the
 * options that say where it goes. Throws a `BoundaryError`: `BB_SETUP_NO_PYTHON`, or `BB_SETUP_DOWNLOAD`.
 */
export async function callPip(
  command: 'download' | 'install',
  specification: string,
  place: readonly string[],
  wanted: PipWanted,
  signal: AbortSignal | undefined,
): Promise<void> {
  const args = ['-m', 'pip', command, ...PIP_QUIETLY, specification, '--no-deps', '--only-binary=:all:', ...place];
  await runPython(args, wanted, signal, (why, cause) => {
    const what = specification.replace('==', ' ');
    throw new BoundaryError('BB_SETUP_DOWNLOAD', `pip can't ${command} ${what}: ${why}`, {
      hint: `Is this machine online? ${wanted.withoutPip}`,
      cause,
    });
  });
}

/**
 * Runs `python3`. `fail` is told the last line of its errors. Throws a `BoundaryError` with the code
 * `BB_SETUP_NO_PYTHON` if there is none.
 */
export async function runPython(
  args: readonly string[],
  { what, withoutPython }: PipWanted,
  signal: AbortSignal | undefined,
  fail: (why: string, cause: unknown) => never,
): Promise<void> {
  await runTool('python3', args, signal, (why, cause, isMissing) => {
    if (!isMissing) fail(why, cause);
    throw new BoundaryError('BB_SETUP_NO_PYTHON', `there is no python3, whose pip brings ${what}`, {
      hint: withoutPython,
      cause,
    });
  });
}

/** Runs a program. `fail` is told the last line of its errors, or that there is no such program. */
async function runTool(
  program: string,
  args: readonly string[],
  signal: AbortSignal | undefined,
  fail: (why: string, cause: unknown, isMissing: boolean) => never,
): Promise<void> {
  try {
    await execute(program, args, { signal });
  } catch (error) {
    if (signal?.aborted) throw error;
    const { code, stderr } = error as { code?: unknown; stderr?: string };
    fail(lastLineOf(stderr ?? '') || String(error), error, code === 'ENOENT');
  }
}

/**
 * The first line of what a program prints with `--version`. Throws a `BoundaryError` with the code `BB_SETUP_UNUSABLE`
 * if it does not run.
 */
export async function versionOf(path: string): Promise<string> {
  try {
    const { stdout } = await execute(path, ['--version'], { timeout: 60_000 });
    return stdout.trim().split('\n', 1)[0] ?? '';
  } catch (cause) {
    const { stderr = '' } = cause as { stderr?: string };
    throw new BoundaryError('BB_SETUP_UNUSABLE', `${path} does not run here: ${lastLineOf(stderr) || String(cause)}`, {
      hint: 'Reinstall it with --force, if it is from another machine.',
      cause,
    });
  }
}

function lastLineOf(text: string): string {
  return text.trim().split('\n').at(-1)?.trim() ?? '';
}
