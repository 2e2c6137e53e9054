import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { PACKAGE_ROOT, crossingFile, nativeFile, whyMissing } from '../binaries.js';
import { commitText, shortHash, type RunContext } from '../records/record.js';
import { hostContext } from './machine.js';
import { findRuntime } from './runtimes.js';
import { versionOf } from './setup-tools.js';

/** The build information of the native addon, and the file it was loaded from. */
export interface NativeBuild {
  readonly profile: string;
  readonly targetCpu: string;
  readonly rustc: string;
  readonly addonPath: string;
}

const NOT_BUILT = 'not built';

/** The conditions on which a run's figures depend, other than the cells. Never fails: values that can't be read are absent. */
export async function runContext(run: {
  readonly startedAt: Date;
  readonly config: Readonly<Record<string, unknown>>;
  readonly build?: NativeBuild | undefined;
}): Promise<RunContext> {
  const { startedAt, config, build } = run;
  const [host, version, runtimes, addonSha256, crossingSha256, nativeSha256, git] = await Promise.all([
    hostContext(),
    packageVersion(),
    runtimeVersions(config['runtimes']),
    build === undefined ? NOT_BUILT : sha256Of(build.addonPath),
    fileSha256(crossingFile),
    fileSha256(nativeFile),
    gitState(repositoryOf(PACKAGE_ROOT)),
  ]);
  return {
    startedAt: startedAt.toISOString(),
    host,
    versions: {
      'boundary-bench': version,
      node: process.versions.node,
      v8: process.versions.v8,
      ...ownRuntime(),
      ...runtimes,
      ...(build === undefined ? {} : { rustc: build.rustc.replace(/^rustc /, '') }),
    },
    build: {
      profile: build?.profile ?? NOT_BUILT,
      targetCpu: build?.targetCpu ?? NOT_BUILT,
      addonSha256,
      ...(crossingSha256 === undefined ? {} : { crossingSha256 }),
      ...(nativeSha256 === undefined ? {} : { nativeSha256 }),
    },
    ...(git === undefined ? {} : { git }),
    config,
  };
}

/**
 * The version of the runtime of this process, if it is not Node.js. The version of Node.js is then the version whose
 * functions it has.
 */
function ownRuntime(): Record<string, string> {
  const { bun, deno } = process.versions;
  return { ...(bun === undefined ? {} : { bun }), ...(deno === undefined ? {} : { deno }) };
}

/** The versions of the further runtimes of a run, by their names in it. */
async function runtimeVersions(names: unknown): Promise<Record<string, string>> {
  const versions = (Array.isArray(names) ? names.map(String) : []).map(async (name): Promise<[string, string][]> => {
    try {
      const runtime = findRuntime(name);
      if ('missing' in runtime) return [];
      const [version] = /\d+\.\d+\S*/.exec(await versionOf(runtime.program)) ?? [];
      // The name `node` belongs to the run's own runtime.
      return version === undefined ? [] : [[name === 'node' ? 'node@latest' : name, version]];
    } catch {
      return [];
    }
  });
  return Object.fromEntries((await Promise.all(versions)).flat());
}

/** The identity of this package: its version, the build of its addon, and the commit of its clone, if it is one. */
export async function packageLine(build: NativeBuild | undefined): Promise<string> {
  const { versions, build: built } = await runContext({ startedAt: new Date(), config: {}, build });
  const git = repositoryOf(PACKAGE_ROOT) === PACKAGE_ROOT ? await gitState(PACKAGE_ROOT) : undefined;
  const addon = build === undefined ? 'addon not built' : `addon ${shortHash(built.addonSha256)} (${built.profile})`;
  const commit = git === undefined ? [] : [`commit ${commitText(git)}`];
  return [`boundary-bench ${versions['boundary-bench']}`, addon, ...commit].join(', ');
}

async function packageVersion(): Promise<string> {
  try {
    const manifest: unknown = JSON.parse(await readFile(join(PACKAGE_ROOT, 'package.json'), 'utf8'));
    return String((manifest as { version?: unknown }).version ?? 'unknown');
  } catch {
    return 'unknown';
  }
}

/** The hash of a binary of this package, if it is there. */
async function fileSha256(file: () => string): Promise<string | undefined> {
  return whyMissing(file) === undefined ? sha256Of(file()) : undefined;
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(path), hash);
    return hash.digest('hex');
  } catch {
    return 'unreadable';
  }
}

const execute = promisify(execFile);

/** The commit of the repository around `directory`, and whether it has changes. `undefined` without git or without a repository. */
export async function gitState(directory: string): Promise<RunContext['git']> {
  try {
    const commit = await git(directory, 'rev-parse', 'HEAD');
    const changes = await git(directory, 'status', '--porcelain');
    return { commit, dirty: changes !== '' };
  } catch {
    return undefined;
  }
}

/** The repository whose commit is recorded: this package's own clone, else the project in which it runs. */
export function repositoryOf(packageRoot: string): string {
  return existsSync(join(packageRoot, '.git')) ? packageRoot : process.cwd();
}

async function git(directory: string, ...args: readonly string[]): Promise<string> {
  // Without optional locks, since a concurrent commit needs them.
  const { stdout } = await execute('git', ['-C', directory, '--no-optional-locks', ...args], {
    timeout: 10_000,
    maxBuffer: 64 * 1024 ** 2,
  });
  return stdout.trim();
}
