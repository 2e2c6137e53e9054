/**
 * The packages that are compared, of which each may be missing: this package works without them. The package of what only measuring needs
 * brings most of them. Cells that need one which is not installed are skipped, with the command that installs it.
 */
import { readFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';

import { PACKAGE_ROOT, programsFolder } from '../binaries.js';

/** Finds packages around this package. */
const OWN = createRequire(import.meta.url);

/** The finders of packages, once they were needed. */
let knownFinders: readonly NodeJS.Require[] | undefined;

/** Find packages around this package, in the project that runs it, and around the package of what only measuring needs. */
function finders(): readonly NodeJS.Require[] {
  knownFinders ??= [OWN, ...[process.cwd(), programsFolder()].filter((folder) => folder !== undefined).map(finderIn)];
  return knownFinders;
}

function finderIn(folder: string): NodeJS.Require {
  return createRequire(join(folder, 'package.json'));
}

/** The reason why one of these packages, or modules of Node, can't be used here, with the remedy; `undefined` if all can. */
export function whyUnusable(...names: readonly string[]): string | undefined {
  for (const name of names) {
    const reason = whyOneUnusable(name);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** The reasons found so far, by package: a plan asks for the packages of every lane, and looking for one reads its files. */
const reasons = new Map<string, string | undefined>();

function whyOneUnusable(name: string): string | undefined {
  if (!reasons.has(name)) reasons.set(name, lookFor(name));
  return reasons.get(name);
}

function lookFor(name: string): string | undefined {
  if (name.startsWith('node:')) {
    return isBuiltin(name) ? undefined : `Node.js ${process.versions.node} has no ${name}; use a newer one`;
  }
  const found = find(name);
  if (found === undefined) return `${name} is not installed: npm install ${name}${testedVersion(name)}`;
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

/** The version of a package with which this one is tested, as `npm install` takes it; empty if none is named. */
function testedVersion(name: string): string {
  const { devDependencies } = JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8')) as Manifest;
  const version = devDependencies?.[name];
  return version === undefined ? '' : `@${version}`;
}

/**
 * Imports a package, or a part of it such as `mysql2/promise`. If it is installed around this package, that is done by
 * `own`, a literal `import()` of it. Otherwise loads the package of the project that runs this one.
 */
export async function importPackage<T>(specifier: string, own: () => Promise<T>): Promise<T> {
  return finderOf(specifier) === OWN ? own() : loadPackage<T>(specifier);
}

/** Loads a package, or a part of it, on demand, since it may not be installed. */
export function loadPackage<T>(specifier: string): T {
  return finderOf(specifier)(specifier) as T;
}

/** The finder of a package, or of a part of it; the first finder if none finds it or it is a module of Node. */
function finderOf(specifier: string): NodeJS.Require {
  const name = /^(@[^/]+\/)?[^/]+/.exec(specifier)![0];
  return finders().find((require) => manifestFile(require, name) !== undefined) ?? OWN;
}

/** The version of an installed package. For a module of Node: the version of Node. */
export function optionalVersion(name: string): string {
  return name.startsWith('node:') ? process.versions.node : (find(name)?.manifest.version ?? 'unknown');
}

interface Manifest {
  readonly version?: string;
  readonly engines?: { readonly node?: string };
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** An installed package: its manifest, and the file that it is loaded by. */
function find(name: string): { readonly manifest: Manifest; readonly main: string } | undefined {
  for (const require of finders()) {
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
