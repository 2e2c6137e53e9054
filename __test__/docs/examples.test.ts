/** The examples of code in the pages must fit the declarations of the package, and those that need no server must run. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterAll, beforeAll, expect, it, test } from 'vitest';

import { PACKAGE } from '../package/installed.js';
import { blocks } from './pages.js';

/** Declarations of the names that the examples use without declaring them. */
const AROUND = `
declare const bodies: readonly string[];
declare const path: string;
declare const header: Uint8Array;
declare const body: Uint8Array;
declare const second: import('boundary-bench').ShardBatches;
declare const third: import('boundary-bench').ShardBatches;
declare function pairsOf(size: number): [string, string][];
declare function levenshtein(pair: [string, string]): number;
declare const addon: {
  levenshtein(pair: [string, string]): number;
  levenshteinMany(pairs: [string, string][]): Uint32Array;
};
declare class URL { constructor(path: string, base: string); readonly href: string; }
interface ImportMeta { readonly url: string; }
`;

const NEEDS_SERVER = /\b(?:KvClient|SqlClient|HttpClient|ShardClient)\.connect\(/;

const examples = blocks()
  .filter(({ language }) => ['js', 'ts', 'javascript', 'typescript'].includes(language))
  .map(({ page, text }, index) => {
    // A module that another example imports begins with its name.
    const [, named] = /^\/\/ (\w+)\.ts\n/.exec(text) ?? [];
    return { name: `${page} ${index}`, file: named ?? `example-${index}`, text };
  });

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'boundary-bench-examples-'));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(PACKAGE, join(folder, 'node_modules/boundary-bench'));
  const compilerOptions = {
    target: 'es2023',
    lib: ['es2023', 'esnext.disposable'],
    module: 'nodenext',
    strict: true,
    types: [],
    outDir: 'out',
  };
  write('package.json', JSON.stringify({ type: 'module' }));
  write('tsconfig.json', JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  write('around.d.ts', AROUND);
  for (const { file, text } of examples) write(`${file}.ts`, text);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text: string): void {
  writeFileSync(join(folder, name), text);
}

test('every example fits the declarations', () => {
  const manifest = createRequire(import.meta.url).resolve('typescript/package.json');
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { bin: { tsc: string } };
  const { stdout } = spawnSync(process.execPath, [join(dirname(manifest), bin.tsc), '-p', folder], {
    encoding: 'utf8',
  });
  expect(stdout).toBe('');
  expect(examples.length).toBeGreaterThan(4);
});

it.each(examples.filter(({ text }) => !NEEDS_SERVER.test(text)))('$name runs', ({ file }) => {
  const { status, stderr } = spawnSync(process.execPath, [join(folder, 'out', `${file}.js`)], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
});
