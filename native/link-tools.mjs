// Run by npm after an install in this repository: links the files in node_modules that cargo needs to paths that are
// the same on every machine (.cargo/config.toml). On Windows, where not everyone may make links, a file is copied, and libduckdb gets
// the import library that its linkers need.
import { copyFileSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import { makeImportLibrary } from './import-library.mjs';

const IS_WINDOWS = process.platform === 'win32';

const require = createRequire(import.meta.url);
const modules = join(import.meta.dirname, '..', 'node_modules');

link(duckdbFolder(), '.duckdb', 'junction');
mkdirSync(join(modules, '.protoc'), { recursive: true });
if (IS_WINDOWS) {
  copyFileSync(protocBinary(), join(modules, '.protoc', 'protoc.exe'));
  makeImportLibrary(join(duckdbFolder(), 'duckdb.dll'), 'duckdb_');
} else {
  link(protocBinary(), join('.protoc', 'protoc'), 'file');
}

/** The folder that holds libduckdb for this platform, wherever npm put it. */
function duckdbFolder() {
  const isMusl = process.platform === 'linux' && !process.report.getReport().header.glibcVersionRuntime;
  const platformPackage = `@duckdb/node-bindings-${process.platform}-${process.arch}${isMusl ? '-musl' : ''}`;
  const fromBindings = createRequire(require.resolve('@duckdb/node-bindings/package.json'));
  return dirname(fromBindings.resolve(`${platformPackage}/package.json`));
}

/**
 * The compiler of protocol buffers for this platform. The package has one for each platform, and the files it includes.
 */
function protocBinary() {
  const folder = dirname(require.resolve('protoc/package.json'));
  const assets = JSON.parse(readFileSync(join(folder, 'assets.json'), 'utf8'));
  const asset = assets.find(({ platform, arch }) => platform === process.platform && arch === process.arch);
  if (asset === undefined) throw new Error(`the npm package protoc has none for ${process.platform} ${process.arch}`);
  return join(folder, 'bin', asset.executable);
}

function link(target, name, type) {
  const path = join(modules, name);
  rmSync(path, { force: true, recursive: true });
  symlinkSync(target, path, type);
}
