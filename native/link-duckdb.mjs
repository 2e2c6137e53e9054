// Run by npm after an install in this repository: links node_modules/.duckdb to the folder that holds libduckdb for
// this platform, wherever npm put it, so that cargo finds one path on every machine (.cargo/config.toml).
import { rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);
const isMusl = process.platform === 'linux' && !process.report.getReport().header.glibcVersionRuntime;
const platformPackage = `@duckdb/node-bindings-${process.platform}-${process.arch}${isMusl ? '-musl' : ''}`;
const fromBindings = createRequire(require.resolve('@duckdb/node-bindings/package.json'));
const libraryFolder = dirname(fromBindings.resolve(`${platformPackage}/package.json`));
const link = join(import.meta.dirname, '..', 'node_modules', '.duckdb');
rmSync(link, { force: true, recursive: true });
symlinkSync(libraryFolder, link, 'junction');
