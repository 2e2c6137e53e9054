import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { BoundaryError } from '../errors.js';
import { HYPERD_BINARY, hyperdAt, hyperdCache, hyperdWheel } from './hyperd.js';

const execute = promisify(execFile);

const PACKAGE = 'tableauhyperapi';

/** A Python program that copies the server out of the wheel: its arguments are the wheel and the file to write. */
const UNPACK = `
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    with wheel.open('${PACKAGE}/bin/hyper/${HYPERD_BINARY}') as packed, open(sys.argv[2], 'wb') as unpacked:
        shutil.copyfileobj(packed, unpacked, 1 << 20)
`;

const WITHOUT_PIP = `Or take hyperd from the wheel ${PACKAGE} yourself (it is a zip archive), and set HYPERD_PATH to it.`;

export interface InstallOptions {
  /** Whether to reinstall an installed `hyperd`. */
  readonly force?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called with a description of each step that takes a while. */
  readonly onProgress?: (step: string) => void;
}

export interface InstalledHyperd {
  readonly path: string;
  /** The first line of `hyperd --version`. */
  readonly version: string;
  /** Whether it was already installed, and was not changed. */
  readonly wasThere: boolean;
}

/**
 * Installs `hyperd` into the cache from its Python wheel, with the `pip` of `python3`. Throws a `BoundaryError`:
 * `BB_SETUP_UNSUPPORTED` if there is no wheel for this platform, `BB_SETUP_NO_PYTHON`, `BB_SETUP_NO_PIP`, `BB_SETUP_DOWNLOAD`,
 * `BB_SETUP_UNPACK`, `BB_SETUP_UNUSABLE` if the installed file does not run. When `signal` aborts, it rejects as Node's own
 * functions do.
 */
export async function installHyperd(options: InstallOptions = {}): Promise<InstalledHyperd> {
  const { force = false, signal } = options;
  const present = hyperdAt(hyperdCache());
  if (present !== undefined && !force) return { path: present, version: await versionOf(present), wasThere: true };
  const wheel = hyperdWheel();
  if (wheel === undefined) {
    throw new BoundaryError(
      'BB_SETUP_UNSUPPORTED',
      `there is no hyperd for ${process.platform}-${process.arch}: no wheel of ${PACKAGE} has one`,
      { hint: 'Attach to a server elsewhere: --engine-uri hyper=hyper://host:port/database' },
    );
  }
  await requirePip(signal);
  const folder = hyperdCache();
  await mkdir(dirname(folder), { recursive: true });
  // Beside the cache, so that the file can be renamed into place: readers find the complete hyperd or none.
  const workshop = await mkdtemp(`${folder}-setup-`);
  try {
    const unpacked = await fetchHyperd(wheel, workshop, options);
    const version = await versionOf(unpacked);
    await mkdir(folder, { recursive: true });
    const path = join(folder, HYPERD_BINARY);
    await rename(unpacked, path);
    return { path, version, wasThere: false };
  } finally {
    await rm(workshop, { recursive: true, force: true });
  }
}

async function fetchHyperd(wheel: string, workshop: string, { signal, onProgress }: InstallOptions): Promise<string> {
  onProgress?.(`Downloading ${PACKAGE} ${wheel} (about 90 MB)`);
  const quietly = ['--quiet', '--disable-pip-version-check', '--no-input'];
  const wanted = [`${PACKAGE}==${wheel}`, '--no-deps', '--only-binary=:all:'];
  await python(['-m', 'pip', 'download', ...quietly, ...wanted, '--dest', workshop], signal, (why, cause) => {
    throw new BoundaryError('BB_SETUP_DOWNLOAD', `pip can't download ${PACKAGE} ${wheel}: ${why}`, {
      hint: `Is this machine online? ${WITHOUT_PIP}`,
      cause,
    });
  });
  onProgress?.('Unpacking hyperd (about 260 MB)');
  const [archive = ''] = (await readdir(workshop)).filter((file) => file.endsWith('.whl'));
  const unpacked = join(workshop, HYPERD_BINARY);
  await python(['-c', UNPACK, join(workshop, archive), unpacked], signal, (why, cause) => {
    throw new BoundaryError('BB_SETUP_UNPACK', `hyperd can't be unpacked: ${why}`, { cause });
  });
  // Python's zip module does not restore file permissions.
  await chmod(unpacked, 0o755);
  return unpacked;
}

async function requirePip(signal: AbortSignal | undefined): Promise<void> {
  await python(['-m', 'pip', '--version'], signal, (why, cause) => {
    throw new BoundaryError('BB_SETUP_NO_PIP', `python3 has no pip: ${why}`, {
      hint: `Install pip, e.g. \`apt install python3-pip\`. ${WITHOUT_PIP}`,
      cause,
    });
  });
}

async function python(
  args: readonly string[],
  signal: AbortSignal | undefined,
  fail: (why: string, cause: unknown) => never,
): Promise<void> {
  try {
    await execute('python3', args, { signal });
  } catch (error) {
    if (signal?.aborted) throw error;
    const { code, stderr } = error as { code?: unknown; stderr?: string };
    if (code === 'ENOENT') {
      throw new BoundaryError('BB_SETUP_NO_PYTHON', 'there is no python3, whose pip brings hyperd', {
        hint: WITHOUT_PIP,
        cause: error,
      });
    }
    fail(lastLineOf(stderr ?? '') || String(error), error);
  }
}

async function versionOf(path: string): Promise<string> {
  try {
    const { stdout } = await execute(path, ['--version'], { timeout: 60_000 });
    return stdout.trim().split('\n', 1)[0] ?? '';
  } catch (cause) {
    const { stderr = '' } = cause as { stderr?: string };
    throw new BoundaryError('BB_SETUP_UNUSABLE', `${path} does not run here: ${lastLineOf(stderr) || String(cause)}`, {
      hint: 'Install it anew with --force, if it is not of this machine.',
      cause,
    });
  }
}

function lastLineOf(text: string): string {
  return text.trim().split('\n').at(-1)?.trim() ?? '';
}
