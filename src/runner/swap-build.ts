/**
 * Loads a build of an addon instead of the build that the user's code names. A process that measures such a cell preloads this module
 * (`--require`, which threads that evaluate a text obey as well), and so do its worker threads: each has a loader of addons of its own.
 */
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { builtModule } from '../built-module.js';
import { BoundaryError } from '../errors.js';
import type { AddonBuild } from '../families/workload.js';
import { addonFiles, isForeign } from '../host/loaded-addons.js';

/** The variable by which worker threads know the build. */
const VARIABLE = 'BOUNDARY_BENCH_BUILD';

/** The flags with which a process preloads this module. Bun and Deno have other flags. */
export const PRELOADING: readonly string[] =
  process.versions['bun'] === undefined && process.versions['deno'] === undefined
    ? [`--require=${fileURLToPath(builtModule(import.meta.url))}`]
    : [];

/** The build that this thread has loaded. */
let loadedFile: string | undefined;

const inherited = process.env[VARIABLE];
if (inherited !== undefined) swapIn(JSON.parse(inherited) as AddonBuild);

/** Has this process, and the worker threads that it starts from now on, load a build of an addon instead of the builds it replaces. */
export function swapBuild(build: AddonBuild): void {
  process.env[VARIABLE] = JSON.stringify(build);
  swapIn(build);
}

function swapIn({ replaces, isOnly, file }: AddonBuild): void {
  const load = process.dlopen.bind(process);
  let only: string | undefined;
  process.dlopen = (module: object, path: string, ...rest: number[]) => {
    const real = realPath(path);
    const isNamed = replaces.includes(real);
    if (isNamed || (isOnly === true && isForeign(real))) {
      if (!isNamed) only ??= real;
      if (only !== undefined && only !== real) throw severalAddons([only, real]);
      load(module, file, ...rest);
      loadedFile = file;
    } else {
      load(module, path, ...rest);
    }
  };
}

/** Throws `BB_BUILD_NOT_LOADED` if this process has not loaded the build, or has loaded another one that it replaces. */
export function requireBuild({ file, replaces }: AddonBuild): void {
  const loaded = addonFiles().map(realPath);
  const other = loaded.find((path) => path !== file && replaces.includes(path));
  if (other !== undefined) {
    throw new BoundaryError(
      'BB_BUILD_NOT_LOADED',
      `the process of the way has loaded ${other} as well as the build ${file}`,
    );
  }
  if (loadedFile === file || loaded.includes(file)) return;
  const others = loaded.filter(isForeign);
  const instead = others.length === 0 ? 'no addon' : others.join(', ');
  throw new BoundaryError(
    'BB_BUILD_NOT_LOADED',
    `the process of the way has loaded ${instead} instead of the build ${file}. --addon names the addon that the builds replace. The name of a way without an addon begins with js`,
  );
}

/** The error of a file whose addon is not known, since it loads several. */
export function severalAddons(files: readonly string[]): BoundaryError {
  const message = `several addons are loaded: ${files.join(', ')}. --addon FILE names the addon that the builds replace`;
  return new BoundaryError('BB_USAGE', message);
}

/** The path without links. A missing file is left to the loader: its error says so. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
