import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { BoundaryError } from '../errors.js';
import { SAIL_PACKAGE, SAIL_PROGRAM, findSail, sailCache } from './sail.js';
import {
  type Installed,
  type PipWanted,
  type SetupOptions,
  besideFolder,
  callPip,
  replaceFolder,
  requirePip,
  runPython,
  versionOf,
} from './setup-tools.js';

/** The folder of the Python package next to the program. */
const LIBRARY = 'lib';

const OTHERWISE = `Or install ${SAIL_PACKAGE.name} yourself, and set SAIL_PATH to its program \`sail\`.`;

const WANTED: PipWanted = { what: 'Sail', withoutPython: OTHERWISE, withoutPip: OTHERWISE };

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
  await requirePip(WANTED, signal);
  return besideFolder(folder, async (workshop) => {
    const { name, version } = SAIL_PACKAGE;
    onProgress?.(`Downloading ${name} ${version} (about 60 MB)`);
    await callPip('install', `${name}==${version}`, ['--target', join(workshop, LIBRARY)], WANTED, signal);
    await writeProgram(workshop, signal);
    const told = await versionOf(join(workshop, SAIL_PROGRAM));
    await replaceFolder(folder, workshop);
    return { path, version: told, wasThere: false };
  });
}

/** Writes the program that starts the package next to it, wherever both are, with the Python that has installed it. */
async function writeProgram(folder: string, signal: AbortSignal | undefined): Promise<void> {
  const program = join(folder, SAIL_PROGRAM);
  await runPython(['-c', TELL_PYTHON, program], WANTED, signal, (why, cause) => {
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
