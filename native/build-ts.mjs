// Compiles src/ to dist/, removes what earlier builds have left there, and adds what programs need that `require` the package: an entry
// in CommonJS, and declarations for it. A declaration in CommonJS can't name one of an ES module where `module` is `node16`, so each
// declaration that the entry leads to is there twice.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..');
const dist = path.join(root, 'dist');

const compiled = compile();
const ENTRIES = ['index', 'bench', 'testing/vitest'];
const written = new Set([
  ...compiled,
  ...ENTRIES.map(writeEntry),
  ...writeDeclarations(ENTRIES.map((entry) => `${entry}.d.ts`)),
]);
for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
  const file = path.join(entry.parentPath, entry.name);
  if (entry.isFile() && !written.has(file)) rmSync(file);
}

/** Runs the compiler, and returns the paths of the files that it wrote. */
function compile() {
  const manifest = createRequire(import.meta.url).resolve('typescript/package.json');
  const tsc = path.join(path.dirname(manifest), JSON.parse(readFileSync(manifest, 'utf8')).bin.tsc);
  const words = [tsc, '-p', 'tsconfig.json', '--listEmittedFiles'];
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26, stdio: ['ignore', 'pipe', 'inherit'] };
  const { stdout, status } = spawnSync(process.execPath, words, options);
  const lines = stdout.split('\n').filter((line) => line !== '');
  const isFile = (line) => line.startsWith('TSFILE: ');
  for (const line of lines.filter((line) => !isFile(line))) console.error(line);
  if (status !== 0) process.exit(status ?? 1);
  return lines.filter(isFile).map((line) => path.resolve(root, line.slice('TSFILE: '.length).trim()));
}

function writeEntry(entry) {
  return write(
    `${entry}.cjs`,
    `'use strict';\n// Modules of this package wait for nothing when they are loaded, so that Node can require them.\nmodule.exports = require('./${entry.split('/').at(-1)}.js');\n`,
  );
}

/** Writes the declarations that `entries` lead to as declarations of modules in CommonJS. Returns their paths. */
function writeDeclarations(entries) {
  const left = [...entries];
  const paths = new Map();
  for (let file = left.pop(); file !== undefined; file = left.pop()) {
    if (paths.has(file)) continue;
    const text = readFileSync(path.join(dist, file), 'utf8').replace(/^\/\/# sourceMappingURL=.*$/m, '');
    // A comment may have an example that imports a module of the user's.
    const imports = /\/\*.*?\*\/|(from |import\()(['"])(\.[^'"]*)\.js\2/gs;
    const renamed = text.replaceAll(imports, (found, before, quote, specifier) => {
      if (before === undefined) return found;
      left.push(path.join(path.dirname(file), `${specifier}.d.ts`));
      return `${before}${quote}${specifier}.cjs${quote}`;
    });
    paths.set(file, write(file.replace(/\.d\.ts$/, '.d.cts'), renamed));
  }
  return paths.values();
}

function write(name, text) {
  const file = path.join(dist, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}
