import { realpathSync } from 'node:fs';

import type { AddonBuild } from '../families/workload.js';

/** Has this process load a build of an addon instead of the builds that its modules name. */
export function swapBuild({ replaces, file }: AddonBuild): void {
  const load = process.dlopen.bind(process);
  process.dlopen = (module: object, path: string, ...rest: number[]) => {
    load(module, replaces.includes(realPath(path)) ? file : path, ...rest);
  };
}

/** The path without links. A missing file is left to the loader: its error says so. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
