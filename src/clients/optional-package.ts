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
  const found = find(name);
  if (found === undefined) return `${name} is not installed: npm install ${name}`;
  const { version = '', engines } = found.manifest;
  const needs: string[] = [];
  // Checked, since a package with native code may crash the process on a Node that it was not built for.
  if (engines?.node !== undefined && !admits(engines.node)) {
    needs.push(`Node.js ${engines.node} (this is ${process.versions.node})`);
  }
  const glibc = newerGlibc(found.main);
  if (glibc !== undefined) needs.push(`glibc ${glibc.needed} (this is ${glibc.here})`);
  return needs.length === 0 ? undefined : `${name} ${version} needs ${needs.join(' and ')}`;
}

/** Loads a package on demand, since it may not be installed. */
export function loadPackage<T>(name: string): T {
  if (name.startsWith('node:')) return FINDERS[0]!(name) as T;
  const finder = FINDERS.find((require) => manifestFile(require, name) !== undefined) ?? FINDERS[0]!;
  return finder(name) as T;
}

/** The version of an installed package; for a module of Node, that of Node. */
export function optionalVersion(name: string): string {
  return name.startsWith('node:') ? process.versions.node : (find(name)?.manifest.version ?? 'unknown');
}

interface Manifest {
  readonly version?: string;
  readonly engines?: { readonly node?: string };
}

/** An installed package: its manifest, and the file that it is loaded by. */
function find(name: string): { readonly manifest: Manifest; readonly main: string } | undefined {
  for (const require of FINDERS) {
    const file = manifestFile(require, name);
    if (file === undefined) continue;
    return { manifest: JSON.parse(readFileSync(file, 'utf8')) as Manifest, main: require.resolve(name) };
  }
  return undefined;
}

/** The versions of glibc that the code at `main` needs and that is here, if that is older. Only addons are looked into. */
function newerGlibc(main: string): { readonly needed: string; readonly here: string } | undefined {
  const here = main.endsWith('.node') ? glibcVersion() : undefined;
  if (here === undefined) return undefined;
  const named = readFileSync(main, 'latin1').matchAll(/\0GLIBC_2\.(\d+)(?=[.\0])/g);
  const needed = Math.max(0, ...Array.from(named, ([, minor]) => Number(minor)));
  return needed > Number(here.split('.')[1]) ? { needed: `2.${needed}`, here } : undefined;
}

/** The version of the glibc of this process; `undefined` if it runs on another library. */
function glibcVersion(): string | undefined {
  const { header } = process.report.getReport() as { readonly header: { readonly glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime;
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
