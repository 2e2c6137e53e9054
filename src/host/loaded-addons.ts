/** The addons that this process has loaded. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** The addons of this package, and the one that its engine loads. */
const OURS = /[/\\]boundary-bench(-all|-crossing)?\.[^/\\]*$|[/\\]@duckdb[/\\]/;

/** The digits of a hash that tell builds apart. */
const DIGITS = 12;

/** The mark that compilers leave in their output: rustc and others write their versions into a section of comments. */
const COMPILERS = /rustc version (\d+\.\d+\.\d+)/;

/**
 * The addons of others that this process has loaded, by the names of their files, each with its hash, and the version
 * of rustc if the file has it. Bun and Deno do not tell.
 */
export async function loadedAddons(): Promise<Readonly<Record<string, string>>> {
  const files = addonFiles().filter(isForeign);
  const told = await Promise.all(
    files.map(async (file): Promise<[string, string]> => [path.basename(file), buildOf(await readFile(file))]),
  );
  return Object.fromEntries(told);
}

/** The addons that any thread of this process has loaded. Bun and Deno do not tell. */
export function addonFiles(): readonly string[] {
  return sharedObjects().filter((file) => file.endsWith('.node'));
}

/** Whether an addon is not this package's own. */
export function isForeign(file: string): boolean {
  return !OURS.test(file);
}

function buildOf(bytes: Uint8Array): string {
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, DIGITS);
  const [, rustc] = COMPILERS.exec(Buffer.from(bytes).toString('latin1')) ?? [];
  return rustc === undefined ? hash : `${hash}, rustc ${rustc}`;
}

/** The shared libraries of this process. */
function sharedObjects(): readonly string[] {
  const { report } = process as { report?: { excludeNetwork?: boolean; getReport(): unknown } };
  if (report === undefined) return [];
  // Otherwise a report resolves the names of all connections. That takes seconds.
  report.excludeNetwork = true;
  const { sharedObjects: files = [] } = report.getReport() as { sharedObjects?: readonly string[] };
  return files;
}
