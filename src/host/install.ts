/** Installs what `boundary-bench setup` installs: hyperd, Sail, and other runtimes. */
import { chmod, mkdir, readdir, rename, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BoundaryError } from '../errors.js';
import { HYPERD_BINARY, HYPERD_NPM, hyperdAt, hyperdCache, hyperdWheel } from './hyperd.js';
import {
  type Installed,
  type PipWanted,
  type SetupOptions,
  besideFolder,
  callPip,
  npmInstall,
  requirePip,
  runPython,
  versionOf,
  replaceFolder,
} from './setup-tools.js';
import { SAIL_PACKAGE, SAIL_PROGRAM, findSail, sailCache } from './sail.js';
import { findRuntime, runtimePackage } from './runtimes.js';

const PACKAGE = 'tableauhyperapi';

/** The platform of the npm package. */
const NPM_PLATFORM = 'linux-x64';

/** A Python program that copies the server out of the wheel: its arguments are the wheel and the file to write. */
const UNPACK = `
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    with wheel.open('${PACKAGE}/bin/hyper/${HYPERD_BINARY}') as packed, open(sys.argv[2], 'wb') as unpacked:
        shutil.copyfileobj(packed, unpacked, 1 << 20)
`;

const WITHOUT_PIP = `Or take hyperd from the wheel ${PACKAGE} yourself (it is a zip archive), and set HYPERD_PATH to it.`;

const WITHOUT_PYTHON = hasNpmPackage()
  ? `Take it from npm with --from npm, or from the wheel ${PACKAGE} yourself (a zip archive), and set HYPERD_PATH to it.`
  : WITHOUT_PIP;

const HYPERD: PipWanted = { what: 'hyperd', withoutPython: WITHOUT_PYTHON, withoutPip: WITHOUT_PIP };

export interface InstallOptions extends SetupOptions {
  /** The installer that downloads it. Default: `pip`. `npm` brings an older version and needs no Python. */
  readonly from?: 'pip' | 'npm' | undefined;
}

/**
 * Installs `hyperd` into the cache, from its Python wheel or from an npm package. Throws a `BoundaryError`:
 * `BB_SETUP_UNSUPPORTED` if there is none for this platform, `BB_SETUP_NO_PYTHON`, `BB_SETUP_NO_PIP`, `BB_SETUP_NO_NPM`,
 * `BB_SETUP_DOWNLOAD`, `BB_SETUP_UNPACK`, `BB_SETUP_UNUSABLE` if the installed file does not run. When `signal` aborts, it
 * rejects as Node's own functions do.
 */
export async function installHyperd(options: InstallOptions = {}): Promise<Installed> {
  const { force = false, from = 'pip' } = options;
  const present = hyperdAt(hyperdCache());
  if (present !== undefined && !force) return { path: present, version: await versionOf(present), wasThere: true };
  const fetchHyperd = from === 'npm' ? fetcherByNpm() : await fetcherByPip(options);
  const folder = hyperdCache();
  return besideFolder(folder, async (workshop) => {
    const unpacked = await fetchHyperd(workshop, options);
    const version = await versionOf(unpacked);
    await mkdir(folder, { recursive: true });
    const path = join(folder, HYPERD_BINARY);
    await rename(unpacked, path);
    return { path, version, wasThere: false };
  });
}

/** Downloads `hyperd` into a folder, and gives its path there. */
type Fetch = (workshop: string, options: InstallOptions) => Promise<string>;

function fetcherByNpm(): Fetch {
  if (!hasNpmPackage()) throw unsupported('npm package');
  return async (workshop, { signal, onProgress }) => {
    onProgress?.(`Downloading ${HYPERD_NPM.name} ${HYPERD_NPM.version} (about 90 MB)`);
    // The binding itself may need a newer Node.js, but its server does not.
    await npmInstall(`${HYPERD_NPM.name}@${HYPERD_NPM.version}`, workshop, signal);
    const unpacked = join(workshop, 'node_modules', HYPERD_NPM.name, HYPERD_BINARY);
    await chmod(unpacked, 0o755);
    return unpacked;
  };
}

async function fetcherByPip({ signal }: InstallOptions): Promise<Fetch> {
  const wheel = hyperdWheel();
  if (wheel === undefined) throw unsupported(`wheel of ${PACKAGE}`);
  await requirePip(HYPERD, signal);
  return (workshop, options) => fetchByPip(wheel, workshop, options);
}

function hasNpmPackage(): boolean {
  return `${process.platform}-${process.arch}` === NPM_PLATFORM;
}

function unsupported(source: string): BoundaryError {
  return new BoundaryError(
    'BB_SETUP_UNSUPPORTED',
    `there is no hyperd for ${process.platform}-${process.arch}: no ${source} has one`,
    { hint: 'Attach to a server elsewhere: --engine-uri hyper=hyper://host:port/database' },
  );
}

async function fetchByPip(wheel: string, workshop: string, { signal, onProgress }: InstallOptions): Promise<string> {
  onProgress?.(`Downloading ${PACKAGE} ${wheel} (about 90 MB)`);
  await callPip('download', `${PACKAGE}==${wheel}`, ['--dest', workshop], HYPERD, signal);
  onProgress?.('Unpacking hyperd (about 260 MB)');
  const [archive = ''] = (await readdir(workshop)).filter((file) => file.endsWith('.whl'));
  const unpacked = join(workshop, HYPERD_BINARY);
  await runPython(['-c', UNPACK, join(workshop, archive), unpacked], HYPERD, signal, (why, cause) => {
    throw new BoundaryError('BB_SETUP_UNPACK', `hyperd can't be unpacked: ${why}`, { cause });
  });
  // Python's zip module does not restore file permissions.
  await chmod(unpacked, 0o755);
  return unpacked;
}

/** The folder of the Python package next to the program. */
const LIBRARY = 'lib';

const WITHOUT_SAIL = `Or install ${SAIL_PACKAGE.name} yourself, and set SAIL_PATH to its program \`sail\`.`;

const SAIL: PipWanted = { what: 'Sail', withoutPython: WITHOUT_SAIL, withoutPip: WITHOUT_SAIL };

/** A Python program that writes the path of its interpreter to the file that is its argument. */
const TELL_PYTHON = "import sys; open(sys.argv[1], 'w').write(sys.executable)";

/**
 * Installs Sail into the cache, from its Python wheel. Throws a `BoundaryError`: `BB_SETUP_NO_PYTHON`, `BB_SETUP_NO_PIP`,
 * `BB_SETUP_DOWNLOAD`, or `BB_SETUP_UNUSABLE` if what was installed does not run. When `signal` aborts, it rejects as Node's own
 * functions do.
 */
export async function installSail({ force = false, signal, onProgress }: SetupOptions = {}): Promise<Installed> {
  const folder = sailCache();
  const path = join(folder, SAIL_PROGRAM);
  const present = findSail();
  if ('path' in present && present.path === path && !force) {
    return { path, version: await versionOf(path), wasThere: true };
  }
  await requirePip(SAIL, signal);
  return besideFolder(folder, async (workshop) => {
    const { name, version } = SAIL_PACKAGE;
    onProgress?.(`Downloading ${name} ${version} (about 60 MB)`);
    await callPip('install', `${name}==${version}`, ['--target', join(workshop, LIBRARY)], SAIL, signal);
    await writeProgram(workshop, signal);
    const told = await versionOf(join(workshop, SAIL_PROGRAM));
    await replaceFolder(folder, workshop);
    return { path, version: told, wasThere: false };
  });
}

/** Writes the program that starts the package next to it, wherever both are, with the Python that has installed it. */
async function writeProgram(folder: string, signal: AbortSignal | undefined): Promise<void> {
  const program = join(folder, SAIL_PROGRAM);
  await runPython(['-c', TELL_PYTHON, program], SAIL, signal, (why, cause) => {
    throw new BoundaryError('BB_SETUP_UNUSABLE', `python3 does not tell its path: ${why}`, { cause });
  });
  const python = await readFile(program, 'utf8');
  const library = `"\${0%/*}/${LIBRARY}"`;
  await writeFile(
    program,
    `#!/bin/sh\nPYTHONPATH=${library} exec '${python.replaceAll("'", "'\\''")}' -m pysail "$@"\n`,
  );
  await chmod(program, 0o755);
}

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
