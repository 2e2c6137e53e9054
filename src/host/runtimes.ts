/** The JavaScript runtimes that cells may be measured on: this one, another version of Node.js, Bun and Deno. */
import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

import type { Runtime } from '../families/workload.js';
import { cacheFolder } from './cache-folder.js';

/**
 * The npm packages whose program a runtime is, by its name without a version. Each package is for one platform, and has
 * no install script.
 */
const PACKAGES: Readonly<Record<string, { readonly name: string; readonly program: string }>> = {
  node: { name: `node-${process.platform}-${process.arch}`, program: 'bin/node' },
  bun: {
    name: `@oven/bun-${process.platform}-${process.arch === 'arm64' ? 'aarch64' : process.arch}`,
    program: 'bin/bun',
  },
  deno: {
    name: `@deno/${process.platform}-${process.arch}${process.platform === 'linux' ? '-glibc' : ''}`,
    program: 'deno',
  },
};

/** An npm package with a runtime. */
export interface RuntimePackage {
  /** Its name and version, as npm takes them. */
  readonly specification: string;
  /** The folder that it is installed into. */
  readonly folder: string;
  /** The path of its program there. */
  readonly program: string;
}

/** The package that `boundary-bench setup runtime` installs for a name such as `node@22`. `undefined` for a name that is none. */
export function runtimePackage(name: string): RuntimePackage | undefined {
  const [kind = '', version = 'latest'] = name.split('@');
  const known = PACKAGES[kind];
  if (known === undefined || !/^[\w.-]+$/.test(version)) return undefined;
  const folder = join(cacheFolder(), 'runtimes', name);
  const program = join(folder, 'node_modules', known.name, known.program);
  return { specification: `${known.name}@${version}`, folder, program };
}

/**
 * The runtimes to look for, other than the runtime of this process: those that `setup runtime` has installed, and one
 * of each other kind.
 */
export function knownRuntimes(): string[] {
  const folder = join(cacheFolder(), 'runtimes');
  const installed = existsSync(folder) ? readdirSync(folder).filter((name) => runtimePackage(name) !== undefined) : [];
  const others = Object.keys(PACKAGES).filter(
    (kind) => kind !== 'node' && !installed.some((name) => name.split('@')[0] === kind),
  );
  return [...installed, ...others];
}

/** The program of a runtime: a path, or what `boundary-bench setup runtime` has installed. The reason why there is none, else. */
export function findRuntime(name: string): Runtime | { readonly missing: string } {
  if (name.includes('/')) {
    return existsSync(name) ? runtimeAt(name) : { missing: `there is no runtime at ${name}` };
  }
  const wanted = runtimePackage(name);
  if (wanted === undefined) {
    return {
      missing: `${name} is no runtime: it must be a path, or node, bun or deno, with a version such as node@22`,
    };
  }
  const { program } = wanted;
  return existsSync(program)
    ? runtimeAt(program)
    : { missing: `the runtime ${name} is not installed: run \`npx boundary-bench setup runtime ${name}\`` };
}

function runtimeAt(program: string): Runtime {
  // Deno asks for leave to read a file, among others.
  return { program, args: basename(program).startsWith('deno') ? ['run', '--allow-all'] : [] };
}
