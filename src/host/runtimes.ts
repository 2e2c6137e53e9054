/** The JavaScript runtimes that cells may be measured on: this one, another version of Node.js, Bun and Deno. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';

import { cacheFolder } from './cache-folder.js';

/** A runtime that a fork is started with. */
export interface Runtime {
  /** The name that a user gave it: `node@22`, `bun`, or a path. */
  readonly name: string;
  /** The path of its program. */
  readonly program: string;
  /** What stands before the script on its command line. */
  readonly args: readonly string[];
}

/** The npm packages whose program a runtime is, by its name without a version; each is one platform's, without an install script. */
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

/** The package that `boundary-bench setup runtime` installs for a name such as `node@22`; `undefined` for a name that is none. */
export function runtimePackage(name: string): { readonly specification: string; readonly folder: string } | undefined {
  const [kind = '', version = 'latest'] = name.split('@');
  const known = PACKAGES[kind];
  if (known === undefined || !/^[\w.-]+$/.test(version)) return undefined;
  return { specification: `${known.name}@${version}`, folder: join(cacheFolder(), 'runtimes', name) };
}

/** The program of a runtime: a path, or what `boundary-bench setup runtime` has installed. The reason why there is none, else. */
export function findRuntime(name: string): Runtime | { readonly missing: string } {
  if (name.includes('/')) {
    return existsSync(name) ? runtimeAt(name, name) : { missing: `there is no runtime at ${name}` };
  }
  const known = PACKAGES[name.split('@')[0] ?? ''];
  const wanted = runtimePackage(name);
  if (known === undefined || wanted === undefined) {
    return {
      missing: `${name} is no runtime: it must be a path, or node, bun or deno, with a version such as node@22`,
    };
  }
  const program = join(wanted.folder, 'node_modules', known.name, known.program);
  return existsSync(program)
    ? runtimeAt(name, program)
    : { missing: `the runtime ${name} is not installed: run \`boundary-bench setup runtime ${name}\`` };
}

function runtimeAt(name: string, program: string): Runtime {
  // Deno asks for leave to read a file, among others.
  return { name, program, args: basename(program).startsWith('deno') ? ['run', '--allow-all'] : [] };
}
