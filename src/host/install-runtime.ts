import { BoundaryError } from '../errors.js';
import { findRuntime, runtimePackage } from './runtimes.js';
import {
  type Installed,
  type SetupOptions,
  besideFolder,
  npmInstall,
  replaceFolder,
  versionOf,
} from './setup-tools.js';

/**
 * Installs a runtime, such as `node@22`, `bun` or `deno`, from npm into the cache. Throws a `BoundaryError`: `BB_INVALID_ARGUMENT` for
 * another name, `BB_SETUP_NO_NPM`, `BB_SETUP_DOWNLOAD`, or `BB_SETUP_UNUSABLE` if what was installed does not run here.
 */
export async function installRuntime(
  name: string,
  { force, signal }: Pick<SetupOptions, 'force' | 'signal'> = {},
): Promise<Installed> {
  const wanted = runtimePackage(name);
  if (wanted === undefined) {
    const what = 'it must be node, bun or deno, with a version such as node@22';
    throw new BoundaryError('BB_INVALID_ARGUMENT', `${name} is an unknown runtime: ${what}`);
  }
  const present = findRuntime(name);
  if ('program' in present && force !== true) {
    return { path: present.program, version: await versionOf(present.program), wasThere: true };
  }
  const { specification, folder } = wanted;
  await besideFolder(folder, async (workshop) => {
    await npmInstall(specification, workshop, signal);
    await replaceFolder(folder, workshop);
  });
  const installed = findRuntime(name);
  if ('missing' in installed)
    throw new BoundaryError('BB_SETUP_UNUSABLE', `${specification} has no program for ${name}`);
  return { path: installed.program, version: await versionOf(installed.program), wasThere: false };
}
