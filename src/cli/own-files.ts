/** Files with workloads of the user's own. */
import fs, { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { BoundaryError } from '../errors.js';
import { parseRows } from '../families/option-values.js';
import type { Family } from '../families/workload.js';
import { readLog } from '../records/run-log.js';
import type { CliServices } from './services.js';

/** The arguments of a command other than its options. */
export interface Words {
  /** The number of rows. Absent: each family's own. */
  readonly rows?: number;
  /** The files of the user's workloads. If empty: the families of this package. */
  readonly files: readonly string[];
}

/** The form of a number of rows. */
export const NUMBER = /^[\d.][\d_,.]*(e\d+)?[a-z]*$/i;

/** The number of rows and the files among words. Throws as `parseRows`, and `BB_USAGE` for two numbers, or a file that is not there. */
export function wordsOf(words: readonly string[] = []): Words {
  const numbers = words.filter((word) => NUMBER.test(word) && !existsSync(word));
  const files = words.filter((word) => !numbers.includes(word)).flatMap(filesOf);
  if (numbers.length > 1) throw new BoundaryError('BB_USAGE', `rows are given twice: ${numbers.join(' and ')}`);
  const missing = files.find((file) => !existsSync(file));
  if (missing !== undefined) {
    throw new BoundaryError('BB_USAGE', `there is no file ${missing}`, {
      hint:
        'A number of rows looks like 1000000, 1_000_000, 1M or 500K. A file of workloads looks like ' +
        'levenshtein.bench.mjs; `npx boundary-bench init` writes one. Commas separate the values of an option: ' +
        '--side rust,napi.',
    });
  }
  const [rows] = numbers;
  return { ...(rows !== undefined && { rows: rowsOf(rows) }), files };
}

/** The files that a pattern stands for, which the shell did not replace since it was quoted. Any other word stands for itself. */
function filesOf(word: string): readonly string[] {
  // Node.js 20 has no such function.
  const { globSync } = fs as { readonly globSync?: (pattern: string) => string[] };
  if (existsSync(word) || !/[*?[{]/.test(word) || globSync === undefined) return [word];
  const found = globSync(word).toSorted();
  return found.length === 0 ? [word] : found;
}

function rowsOf(text: string): number {
  try {
    return parseRows(text);
  } catch (thrown) {
    throw new BoundaryError('BB_USAGE', `${text} is no number of rows: ${(thrown as Error).message}`, {
      cause: thrown,
    });
  }
}

/** The files of a run to resume, unless the command line names some. Throws `BB_RESUME_MISMATCH` if one of them is gone. */
export async function filesToResume(directory: string, named: readonly string[]): Promise<readonly string[]> {
  const log = path.join(directory, 'run.jsonl');
  // Without a log there is no run, which the resumption says.
  if (named.length > 0 || !existsSync(log)) return named;
  const { files = [] } = (await readLog(log)).context;
  const missing = files.find((file) => !existsSync(file));
  if (missing === undefined) return files;
  throw new BoundaryError('BB_RESUME_MISMATCH', `the run measures ${missing}, which is not there any more`, {
    hint: 'Name the file where it is now, or start a new run.',
  });
}

/** The workloads of files, or the families of this package if there is no file. Throws as `loadOwn`. */
export async function familiesOf(files: readonly string[], services: CliServices): Promise<readonly Family[]> {
  return files.length > 0 ? loadOwn(files) : services.loadFamilies();
}

/** The workloads that files export. Throws `BB_USAGE` for a file that exports none, that fails, or that repeats a name. */
export async function loadOwn(files: readonly string[]): Promise<Family[]> {
  const families: Family[] = [];
  for (const file of files) {
    const module = pathToFileURL(path.resolve(file)).href;
    const own = Object.values(await exportsOf(file, module)).filter(isFamily);
    if (own.length === 0) {
      throw new BoundaryError('BB_USAGE', `${file} exports no workload`, {
        hint: "Write: export default workload('name', { ways: { js: () => ..., napi: () => ... } })",
      });
    }
    for (const family of new Set(own)) {
      if (families.some(({ name }) => name === family.name)) {
        throw new BoundaryError('BB_USAGE', `two workloads have the name ${family.name}, the second in ${file}`);
      }
      families.push({ ...family, module });
    }
  }
  return families;
}

async function exportsOf(file: string, module: string): Promise<Record<string, unknown>> {
  try {
    return (await import(module)) as Record<string, unknown>;
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    const isTypeScript = code === 'ERR_UNKNOWN_FILE_EXTENSION' && /\.[cm]?ts$/.test(file);
    const hint = isTypeScript
      ? 'Node.js 22.18 and later run TypeScript; before, install tsx, and run: NODE_OPTIONS="--import tsx" npx boundary-bench run ...'
      : undefined;
    const at = thrown instanceof Error && !isTypeScript ? `\n${thrown.stack}` : '';
    throw new BoundaryError('BB_USAGE', `${file} can't be loaded: ${message}${at}`, { hint, cause: thrown });
  }
}

function isFamily(value: unknown): value is Family {
  if (typeof value !== 'object' || value === null) return false;
  const { name, plan, open } = value as Partial<Family>;
  return typeof name === 'string' && typeof plan === 'function' && typeof open === 'function';
}
