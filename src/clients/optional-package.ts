/**
 * Packages on which this one does not depend: users who have them installed see them in the tables, others need not know of
 * them.
 */
import { readFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';

/** The places where a package may be installed: around this package, or in the project that runs it. */
const FINDERS = [createRequire(import.meta.url), createRequire(join(process.cwd(), 'package.json'))];

/** The reason why a package, or a module of Node, can't be used here, with the remedy; `undefined` if it can. */
export function whyUnusable(name: string): string | undefined {
  if (name.startsWith('node:')) {
    return isBuiltin(name) ? undefined : `Node.js ${process.versions.node} has no ${name}; use a newer one`;
  }
  const manifest = manifestOf(name);
  if (manifest === undefined) return `${name} is not installed: npm install ${name}`;
  const { version = '', engines } = manifest;
  // Checked, since a package with native code may crash the process on a Node that it was not built for.
  return engines?.node === undefined || admits(engines.node)
    ? undefined
    : `${name} ${version} needs Node.js ${engines.node}: install another version of one of them`;
}

/** Loads a package on demand, since it may not be installed. */
export function loadPackage<T>(name: string): T {
  if (name.startsWith('node:')) return FINDERS[0]!(name) as T;
  const finder = FINDERS.find((require) => manifestFile(require, name) !== undefined) ?? FINDERS[0]!;
  return finder(name) as T;
}

/** The version of an installed package; for a module of Node, that of Node. */
export function optionalVersion(name: string): string {
  return name.startsWith('node:') ? process.versions.node : (manifestOf(name)?.version ?? 'unknown');
}

interface Manifest {
  readonly version?: string;
  readonly engines?: { readonly node?: string };
}

function manifestOf(name: string): Manifest | undefined {
  for (const require of FINDERS) {
    const file = manifestFile(require, name);
    if (file !== undefined) return JSON.parse(readFileSync(file, 'utf8')) as Manifest;
  }
  return undefined;
}

/** The path of the package.json that `require` resolves. It is searched on disk, since packages need not export it. */
function manifestFile(require: NodeJS.Require, name: string): string | undefined {
  try {
    let folder = dirname(require.resolve(name));
    for (;;) {
      const file = join(folder, 'package.json');
      if (nameIn(file) === name) return file;
      if (folder === dirname(folder)) return undefined;
      folder = dirname(folder);
    }
  } catch {
    return undefined;
  }
}

function nameIn(file: string): unknown {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { name?: unknown }).name;
  } catch {
    return undefined;
  }
}

/** Whether this Node is in a range of an `engines` field, in the forms that these packages use: `>=22`, `20.x || 22.x`. */
function admits(range: string): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return range.split('||').some((part) => {
    const [, least, leastMinor = '0'] = /^\s*(?:>=|\^)?\s*v?(\d+)(?:\.(\d+))?/.exec(part) ?? [];
    if (least === undefined) return true;
    if (!part.includes('>=')) return major === Number(least);
    return major > Number(least) || (major === Number(least) && minor >= Number(leastMinor));
  });
}
