/** The error if there is no addon, or one that can't be loaded. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

import { addonError, platformName } from '../../src/addon-error.js';
import { addonPath } from '../../src/addon.js';
import { folderOfTest } from '../temporary-folder.js';

const CAUSE = new Error('Cannot find native binding.', { cause: new Error('libc.so: too old\nRequire stack: ...') });

let root: string;
beforeEach(() => void (root = folderOfTest()));

function said(platform: string): Record<string, unknown> {
  const { code, message, hint, cause } = addonError(CAUSE, { root, platform });
  expect(cause).toBe(CAUSE);
  return { code, message: message.replace(root, 'ROOT'), hint };
}

/** A package as it is released, with binaries for these platforms. */
function release(...platforms: readonly string[]): void {
  const optionalDependencies = Object.fromEntries(platforms.map((name) => [`boundary-bench-${name}`, '1.2.3']));
  writeFileSync(
    join(root, 'package.json'),
    JSON.stringify({ optionalDependencies: { ioredis: '1', ...optionalDependencies } }),
  );
}

it('names the platform as the file of the addon does', () => {
  expect(addonPath()).toContain(`boundary-bench.${platformName()}.node`);
});

describe('in the source', () => {
  beforeEach(() => writeFileSync(join(root, 'Cargo.toml'), ''));

  it('says how to build it', () => {
    expect(said('linux-x64-gnu')).toEqual({
      code: 'BB_ADDON_NOT_BUILT',
      message: 'there is no addon for linux-x64-gnu: ROOT holds no boundary-bench.linux-x64-gnu.node',
      hint: 'Build it: npm run build',
    });
  });

  it('says why it is not loaded', () => {
    writeFileSync(join(root, 'boundary-bench.linux-x64-gnu.node'), '');
    expect(said('linux-x64-gnu')).toEqual({
      code: 'BB_ADDON_NOT_LOADED',
      message: "the addon for linux-x64-gnu can't be loaded: libc.so: too old",
      hint: 'Build it again on this machine: npm run build',
    });
  });
});

describe('as npm installs it', () => {
  it('names the package that npm left out', () => {
    release('linux-x64-gnu', 'darwin-arm64');
    expect(said('darwin-arm64')).toMatchObject({
      code: 'BB_ADDON_NOT_BUILT',
      hint: 'npm left out the package that holds it, as --omit=optional or a lock file of another platform make it do: npm install boundary-bench-darwin-arm64@1.2.3',
    });
  });

  it('names the platforms with binaries on another one', () => {
    release('linux-x64-gnu', 'darwin-arm64');
    expect(said('freebsd-x64')).toMatchObject({
      code: 'BB_ADDON_NOT_BUILT',
      message: 'there is no addon for freebsd-x64: ROOT holds no boundary-bench.freebsd-x64.node',
      hint: 'There are binaries for linux-x64-gnu, darwin-arm64. Elsewhere build this package from its source, which needs Rust (npm ci && npm run build), and install its folder.',
    });
    release();
    expect(said('freebsd-x64')['hint']).toMatch(/^This package was packed without binaries\. /);
  });

  it('says why the binary of its package is not loaded', () => {
    release('linux-x64-gnu');
    const home = join(root, 'node_modules/boundary-bench-linux-x64-gnu');
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, 'package.json'), '{ "main": "a.node" }');
    writeFileSync(join(home, 'a.node'), '');
    expect(said('linux-x64-gnu')).toMatchObject({
      code: 'BB_ADDON_NOT_LOADED',
      hint: 'Install the package again on this machine, with its optional dependencies: npm install boundary-bench',
    });
  });
});
