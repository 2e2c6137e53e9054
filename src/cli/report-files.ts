/** The files that reports are read from and written to, and the program that shows them. */
import { spawn } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { BoundaryError } from '../errors.js';
import { COMPACT_MARK } from '../report/compact.js';
import { exists, isDirectory, makeFolder, writeAtomically } from '../runner/files.js';

/** The result file that a command line names: the file itself, or the `run.json` of a directory. */
export async function runFileOf(path: string): Promise<string> {
  if (!(await isDirectory(path))) return path;
  const file = join(path, 'run.json');
  if (await exists(file)) return file;
  const isStarted = await exists(join(path, 'run.jsonl'));
  throw new BoundaryError('BB_RESULT_FILE_UNREADABLE', `there is no run.json in ${path}`, {
    hint: isStarted
      ? `The run has not ended. Resume it with: npx boundary-bench run --resume ${path}`
      : 'Name the directory of a run, or its run.json.',
  });
}

/** The result files in a directory of runs, such as `results/runs`, or the one of a run. */
export async function runFilesOf(path: string): Promise<string[]> {
  if (!(await isDirectory(path)) || (await exists(join(path, 'run.json')))) return [await runFileOf(path)];
  const inside = (await readdir(path)).toSorted().map((name) => join(path, name, 'run.json'));
  const found = await Promise.all(inside.map(exists));
  const files = inside.filter((_, index) => found[index]);
  return files.length === 0 ? [await runFileOf(path)] : files;
}

/** The reports next to a result file, or in another directory: `run.md` and `run.html` of `run.json`. */
export function reportsOf(
  file: string,
  directory = dirname(file),
): { readonly markdown: string; readonly html: string } {
  const name = basename(file).replace(/\.json$/, '');
  return { markdown: join(directory, `${name}.md`), html: join(directory, `${name}.html`) };
}

/**
 * Throws `BB_OUT_KEPT` if there is a report that was not made from a compact file, since it may have parts that a
 * compact file lacks.
 */
export async function requireCompactReport(path: string, file: string): Promise<void> {
  if (!(await exists(path)) || (await readFile(path, 'utf8')).includes(COMPACT_MARK)) return;
  throw new BoundaryError('BB_OUT_KEPT', `${path} was made from a full result file, and ${file} is a compact one`, {
    hint: `Name another directory for the reports: npx boundary-bench report ${file} --out DIRECTORY`,
  });
}

/** Writes a report, in a directory that is made if necessary. Throws `BB_RESULT_FILE_UNWRITABLE` if that fails. */
export async function writeReport(path: string, text: string): Promise<void> {
  try {
    await makeFolder(dirname(path));
    await writeAtomically(path, text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new BoundaryError('BB_RESULT_FILE_UNWRITABLE', `can't write ${path}: ${why}`, {
      cause,
      hint: 'Name another place.',
    });
  }
}

/** The programs that show a file to the user, by the platform. */
const OPENERS: Readonly<Record<string, readonly [program: string, ...words: string[]]>> = {
  darwin: ['open'],
  win32: ['explorer.exe'],
};
const OTHER_OPENER = ['xdg-open'] as const;

/** A program that has not failed by then shows the file. */
const OPENING_MS = 2000;

/** Opens a file in the user's browser. Throws `BB_OPEN_FAILED` if no program does. */
export async function openFile(path: string, openers = OPENERS): Promise<void> {
  const [program, ...words] = openers[process.platform] ?? OTHER_OPENER;
  const child = spawn(program, [...words, path], { stdio: 'ignore', detached: true });
  const why = await new Promise<string | undefined>((resolve) => {
    const opened = setTimeout(() => resolve(undefined), OPENING_MS);
    const settle = (problem: string | undefined): void => {
      clearTimeout(opened);
      resolve(problem);
    };
    child.once('error', (error) => settle(error.message));
    child.once('exit', (code) =>
      settle(code === 0 || program === 'explorer.exe' ? undefined : `it ended with ${code}`),
    );
  });
  child.unref();
  if (why === undefined) return;
  throw new BoundaryError('BB_OPEN_FAILED', `${program} could not open ${path}: ${why}`, {
    hint: 'Open the file in a browser yourself; it needs no network.',
  });
}
