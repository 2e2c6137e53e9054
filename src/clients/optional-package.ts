/**
 * Packages that this one does not depend on: a user who has them installed sees them in the tables, all others need not
 * know of them.
 */
import { readFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';

/** Who may have installed the package: this package's surroundings, or the project that it is run in. */
const FINDERS = [createRequire(import.meta.url), createRequire(join(process.cwd(), 'package.json'))];

/** Why a package, or a module of Node, can't be used here, and what to do; `undefined` where it can. */
export function whyUnusable(name: string): string | undefined {
  if (name.startsWith('node:')) {
    return isBuiltin(name) ? undefined : `Node.js ${process.versions.node} has no ${name}; use a newer one`;
  }
  const manifest = manifestOf(name);
  if (manifest === undefined) return `${name} is not installed: npm install ${name}`;
  const { version = '', engines } = manifest;
  // Packages with native code crash the process where they load on a Node that they were not made for.
  return engines?.node === undefined || admits(engines.node)
    ? undefined
    : `${name} ${version} needs Node.js ${engines.node}: install another version of one of them`;
}

/** The package. Loaded when it is asked for, since it may not be there. */
export function loadPackage<T>(name: string): T {
  if (name.startsWith('node:')) return FINDERS[0]!(name) as T;
  const finder = FINDERS.find((require) => manifestFile(require, name) !== undefined) ?? FINDERS[0]!;
  return finder(name) as T;
}

/** The version of a package that is installed, of Node itself for one of its modules. */
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

/** The package.json of a package as `require` finds it. Packages need not export theirs, so it is looked for on the disk. */
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

/** Whether this Node is in a range of an `engines` field, as far as those of these packages go: `>=22`, `20.x || 22.x`. */
function admits(range: string): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return range.split('||').some((part) => {
    const [, least, leastMinor = '0'] = /^\s*(?:>=|\^)?\s*v?(\d+)(?:\.(\d+))?/.exec(part) ?? [];
    if (least === undefined) return true;
    if (!part.includes('>=')) return major === Number(least);
    return major > Number(least) || (major === Number(least) && minor >= Number(leastMinor));
  });
}
