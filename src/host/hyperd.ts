import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { type Found, cacheFolder } from './cache-folder.js';

/** The name of the server's binary, in the wheel and in the cache. */
export const HYPERD_BINARY = 'hyperd';

/** The npm package of Hyper's own Node binding for Linux on x64, with a `hyperd` next to it that is older than the wheel's. */
export const HYPERD_NPM = { name: 'hyperdb-api-node-linux-x64-gnu', version: '0.7.3' };

/** The version of the Python wheel `tableauhyperapi` from which `hyperd` is taken: the newest one of each platform. */
const WHEELS: Readonly<Record<string, string>> = {
  'linux-x64': '0.0.26963',
  'darwin-x64': '0.0.26479',
  'darwin-arm64': '0.0.26479',
};

/** The version of the wheel that contains a `hyperd` for this platform. `undefined` if there is none. */
export function hyperdWheel(): string | undefined {
  return WHEELS[`${process.platform}-${process.arch}`];
}

/**
 * Searches `hyperd`: at `HYPERD_PATH` (the file, or the folder that contains it), in the cache that `boundary-bench
 * setup hyperd` fills, and in a wheel that is installed for `python3`.
 */
export function findHyperd(): Found {
  const named = process.env['HYPERD_PATH'];
  if (named !== undefined && named !== '') {
    const path = hyperdAt(named);
    return path === undefined ? { missing: `HYPERD_PATH is ${named}, but there is no hyperd` } : { path };
  }
  const path = hyperdAt(hyperdCache()) ?? hyperdOfWheel();
  if (path !== undefined) return { path };
  return hyperdWheel() === undefined
    ? { missing: `there is no hyperd for ${process.platform}-${process.arch}; set HYPERD_PATH if you have one` }
    : { missing: 'hyperd is not installed: run `npx boundary-bench setup hyperd`, or set HYPERD_PATH' };
}

/** The path of the binary at `path`: either the file itself or the folder that contains it. */
export function hyperdAt(path: string): string | undefined {
  if (!existsSync(path)) return undefined;
  const file = statSync(path).isDirectory() ? join(path, HYPERD_BINARY) : path;
  return existsSync(file) && statSync(file).isFile() ? file : undefined;
}

/** Names the `hyperd` to find until it is disposed of. The addon finds it, too, by the variable. */
export function useHyperd(path: string | undefined): Disposable {
  const before = process.env['HYPERD_PATH'] ?? '';
  if (path !== undefined) process.env['HYPERD_PATH'] = path;
  return { [Symbol.dispose]: () => void (path !== undefined && (process.env['HYPERD_PATH'] = before)) };
}

/** The folder that `boundary-bench setup hyperd` fills. */
export function hyperdCache(): string {
  return join(cacheFolder(), 'hyperd');
}

/** The result of asking Python, kept since starting it is slow, and its packages do not change in the meantime. */
let ofWheel: { readonly path: string | undefined } | undefined;

function hyperdOfWheel(): string | undefined {
  ofWheel ??= { path: askPython() };
  // Set for the addon: it starts hyperd and does not ask Python.
  if (ofWheel.path !== undefined) process.env['HYPERD_PATH'] = ofWheel.path;
  return ofWheel.path;
}

function askPython(): string | undefined {
  const program = [
    'import importlib.util',
    "spec = importlib.util.find_spec('tableauhyperapi')",
    "print(spec.submodule_search_locations[0] if spec else '')",
  ].join('\n');
  // The output is empty without Python, or with a broken one.
  const { stdout } = spawnSync('python3', ['-c', program], {
    encoding: 'utf8',
    timeout: 10_000,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const folder = stdout?.trim() ?? '';
  return folder === '' ? undefined : hyperdAt(join(folder, 'bin', 'hyper'));
}
