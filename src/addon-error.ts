/** The error of an addon that can't be loaded. It says which file was looked for, and what the user can do. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { BoundaryError } from './errors.js';

const NAME = 'boundary-bench';

/** The place that the addon is loaded from. */
export interface AddonLocation {
  /** The folder of this package. */
  readonly root: string;
  /** The platform by napi-rs's name of it, such as `linux-x64-gnu`. */
  readonly platform: string;
}

/** The platform, once it was asked for: a report of the process takes milliseconds, and each cell of Rust asks where its program is. */
let knownPlatform: string | undefined;

/** The platform of this process, by napi-rs's name of it. */
export function platformName(): string {
  knownPlatform ??= nameOfPlatform();
  return knownPlatform;
}

function nameOfPlatform(): string {
  const { platform, arch } = process;
  if (platform === 'linux') return `linux-${arch}-${hasGlibc() ? 'gnu' : 'musl'}`;
  return platform === 'win32' ? `win32-${arch}-msvc` : `${platform}-${arch}`;
}

function hasGlibc(): boolean {
  const { header } = process.report.getReport() as { readonly header: { readonly glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime !== undefined;
}

/**
 * The error of an addon that can't be loaded: `BB_ADDON_NOT_BUILT` if there is no binary for this platform, and
 * `BB_ADDON_NOT_LOADED` if there is one.
 */
export function addonError(cause: unknown, { root, platform }: AddonLocation): BoundaryError {
  const isSource = existsSync(join(root, 'Cargo.toml'));
  const file = `${NAME}.${platform}.node`;
  const packages = platformPackages(root);
  const own = packages.find(({ name }) => name === `${NAME}-${platform}`);
  if (existsSync(join(root, file)) || (own !== undefined && isInstalled(root, own.name))) {
    const hint = isSource
      ? 'Build it again on this machine: npm run build'
      : `Install the package again on this machine, with its optional dependencies: npm install ${NAME}`;
    return new BoundaryError(
      'BB_ADDON_NOT_LOADED',
      `the addon for ${platform} can't be loaded: ${firstReason(cause)}`,
      {
        hint,
        cause,
      },
    );
  }
  const message = `there is no addon for ${platform}: ${root} holds no ${file}`;
  if (isSource) return new BoundaryError('BB_ADDON_NOT_BUILT', message, { hint: 'Build it: npm run build', cause });
  const hint =
    own === undefined
      ? `${offered(packages)} Elsewhere build this package from its source, which needs Rust (npm ci && npm run build), and install its folder.`
      : `npm left out the package that holds it, as --omit=optional or a lock file of another platform make it do: npm install ${own.name}@${own.version}`;
  return new BoundaryError('BB_ADDON_NOT_BUILT', message, { hint, cause });
}

interface PlatformPackage {
  readonly name: string;
  readonly version: string;
}

/** The packages of binaries that this one names as its optional dependencies. A package that was not released names none. */
function platformPackages(root: string): readonly PlatformPackage[] {
  try {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      readonly optionalDependencies?: Readonly<Record<string, string>>;
    };
    return Object.entries(manifest.optionalDependencies ?? {}).flatMap(([name, version]) =>
      name.startsWith(`${NAME}-`) ? [{ name, version }] : [],
    );
  } catch {
    return [];
  }
}

function offered(packages: readonly PlatformPackage[]): string {
  const platforms = packages.map(({ name }) => name.slice(NAME.length + 1));
  return platforms.length === 0
    ? 'This package was packed without binaries.'
    : `There are binaries for ${platforms.join(', ')}.`;
}

function isInstalled(root: string, name: string): boolean {
  try {
    createRequire(join(root, 'package.json')).resolve(name);
    return true;
  } catch {
    return false;
  }
}

/** The first line of the innermost reason: the loader wraps what each place said. */
function firstReason(thrown: unknown): string {
  let reason = thrown;
  while (reason instanceof Error && reason.cause instanceof Error) reason = reason.cause;
  const text = reason instanceof Error ? reason.message : String(reason);
  return text.split('\n', 1)[0]!;
}
