import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** A `hyperd` to run, or what to do to have one. */
export type Hyperd = { readonly path: string } | { readonly missing: string };

/** The name of the server's binary, in the wheel and in the cache. */
export const HYPERD_BINARY = 'hyperd';

/** The versions of the Python wheel `tableauhyperapi` to take `hyperd` from: the newest one for each platform. */
const WHEELS: Readonly<Record<string, string>> = {
  'linux-x64': '0.0.26963',
  'darwin-x64': '0.0.26479',
  'darwin-arm64': '0.0.26479',
};

/** The version of the wheel that holds a `hyperd` for this platform; `undefined` where there is none. */
export function hyperdWheel(): string | undefined {
  return WHEELS[`${process.platform}-${process.arch}`];
}

/**
 * Looks for `hyperd`: at `HYPERD_PATH` (the file, or the folder that holds it), in the cache, which
 * `boundary-bench setup hyperd` fills, and in a wheel that is installed for `python3`.
 */
export function findHyperd(): Hyperd {
  const named = process.env['HYPERD_PATH'];
  if (named !== undefined && named !== '') {
    const path = hyperdAt(named);
    return path === undefined ? { missing: `HYPERD_PATH is ${named}, but there is no hyperd` } : { path };
  }
  const path = hyperdAt(hyperdCache()) ?? hyperdOfWheel();
  if (path !== undefined) return { path };
  return hyperdWheel() === undefined
    ? { missing: `there is no hyperd for ${process.platform}-${process.arch}; set HYPERD_PATH if you have one` }
    : { missing: 'hyperd is not installed: run `boundary-bench setup hyperd`, or set HYPERD_PATH' };
}

/** The binary that a path names, itself or as the folder that holds it. */
export function hyperdAt(path: string): string | undefined {
  if (!existsSync(path)) return undefined;
  const file = statSync(path).isDirectory() ? join(path, HYPERD_BINARY) : path;
  return existsSync(file) && statSync(file).isFile() ? file : undefined;
}

/** Names the `hyperd` to find until it is disposed of, for the addon as well, which knows it by the variable. */
export function useHyperd(path: string | undefined): Disposable {
  const before = process.env['HYPERD_PATH'] ?? '';
  if (path !== undefined) process.env['HYPERD_PATH'] = path;
  return { [Symbol.dispose]: () => void (path !== undefined && (process.env['HYPERD_PATH'] = before)) };
}

/** The folder that `boundary-bench setup hyperd` fills. */
export function hyperdCache(): string {
  return join(cacheFolder(), 'hyperd');
}

function cacheFolder(): string {
  const { BOUNDARY_BENCH_CACHE: own, XDG_CACHE_HOME: common } = process.env;
  if (own !== undefined && own !== '') return own;
  return join(common !== undefined && common !== '' ? common : join(homedir(), '.cache'), 'boundary-bench');
}

/** Starting Python takes a while, and what it has installed does not change meanwhile. */
let ofWheel: { readonly path: string | undefined } | undefined;

function hyperdOfWheel(): string | undefined {
  ofWheel ??= { path: askPython() };
  // The addon, which starts it, asks no Python.
  if (ofWheel.path !== undefined) process.env['HYPERD_PATH'] = ofWheel.path;
  return ofWheel.path;
}

function askPython(): string | undefined {
  const program = [
    'import importlib.util',
    "spec = importlib.util.find_spec('tableauhyperapi')",
    "print(spec.submodule_search_locations[0] if spec else '')",
  ].join('\n');
  // Without Python, or with a broken one, there is no wheel.
  const { stdout } = spawnSync('python3', ['-c', program], {
    encoding: 'utf8',
    timeout: 10_000,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const folder = stdout?.trim() ?? '';
  return folder === '' ? undefined : hyperdAt(join(folder, 'bin', 'hyper'));
}
