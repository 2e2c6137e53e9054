/**
 * The examples of code in the pages must fit the declarations of the package. Examples of the API, and examples of
 * other pages that need no server, must run, and print what the comments behind their `console.log` say.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import { beforeAll, describe, expect, it, test } from 'vitest';

import { PACKAGE } from '../package/installed.js';
import { openTarget } from '../../src/families/requests/target-server.js';
import { lacks } from '../needs.js';
import { API, blocks, examplesOfApi } from './pages.js';
import { folderOfSuite } from '../temporary-folder.js';

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
declare const console: { log(...values: unknown[]): void };
declare class TextEncoder { encode(text: string): Uint8Array<ArrayBuffer>; }
declare const connection: import('boundary-bench').Connection;
declare const kv: import('boundary-bench').KvClient;
declare const RowInserter: typeof import('boundary-bench').RowInserter;
declare const ArrowInserter: typeof import('boundary-bench').ArrowInserter;
declare const table: import('boundary-bench').TableDefinition;
declare const rows: Iterable<import('boundary-bench').RowInput>;
declare const id: Int32Array;
declare const value: Float64Array;
declare const bytes: Uint8Array;
declare const sql: string;
declare const keys: readonly string[];
interface Point { id: number; value: number; }
declare class URL { constructor(path: string, base: string); readonly href: string; }
interface ImportMeta { readonly url: string; }
`;

/** The pages whose examples are parts of programs. */
const PARTS: ReadonlySet<string> = new Set(['code.md', 'code-out.md']);

const NEEDS_SERVER = /\b(?:KvClient|SqlClient|HttpClient|ShardClient)\.connect\(/;

/** The servers whose URLs stand in examples. */
const SERVERS = [
  { kind: 'redis', url: 'redis://127.0.0.1:6379', isMissing: () => lacks('redis') },
  { kind: 'mysql', url: 'mysql://user:password@127.0.0.1:3306/test', isMissing: () => lacks('mysql') },
  { kind: 'rest', url: 'http://127.0.0.1:4406', isMissing: () => false },
] as const;

const examples = [...blocks(), ...examplesOfApi()]
  .filter(({ language }) => ['js', 'ts', 'javascript', 'typescript'].includes(language))
  .map(({ page, text }, index) => {
    // A module that another example imports begins with its name.
    const [, named] = /^\/\/ (\w+)\.ts\n/.exec(text) ?? [];
    return { name: `${page} ${index}`, page, file: named ?? `example-${index}`, text };
  });

const folder = folderOfSuite();
/** The complaints of the compiler about the examples. */
let complaints: string;

beforeAll(() => {
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(PACKAGE, join(folder, 'node_modules/boundary-bench'));
  const compilerOptions = {
    target: 'es2023',
    lib: ['es2023', 'esnext.disposable'],
    module: 'nodenext',
    moduleDetection: 'force',
    strict: true,
    types: [],
    outDir: 'out',
  };
  write('package.json', JSON.stringify({ type: 'module' }));
  write('tsconfig.json', JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  write('around.d.ts', AROUND);
  for (const { file, text } of examples) write(`${file}.ts`, text);
  const runs = join(PACKAGE, 'results/linux-x64');
  const main = readdirSync(runs).findLast((name) => /^\d{4}-\d\d-\d\d\.json$/.test(name))!;
  for (const name of ['before', 'after']) cpSync(join(runs, main), join(folder, name, 'run.json'));
  const manifest = createRequire(import.meta.url).resolve('typescript/package.json');
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { bin: { tsc: string } };
  const compiler = [join(dirname(manifest), bin.tsc), '-p', folder];
  complaints = spawnSync(process.execPath, compiler, { encoding: 'utf8' }).stdout;
});

function write(name: string, text: string): void {
  writeFileSync(join(folder, name), text);
}

test('every example fits the declarations', () => {
  expect(complaints).toBe('');
  expect(examples.length).toBeGreaterThan(4);
});

/** The outcome of an example, with its output without spaces. */
interface Printed {
  readonly status: number | null;
  readonly stderr: string;
  readonly printed: string;
}

/** Runs an example, with other URLs instead of the URLs of `SERVERS`. */
function run({ file, text }: (typeof examples)[number], urls: Readonly<Record<string, string>> = {}): Printed {
  const path = join(folder, 'out', `${file}.js`);
  const script = Object.entries(urls).reduce(
    (now, [url, other]) => now.replaceAll(url, other),
    readFileSync(path, 'utf8'),
  );
  writeFileSync(path, script);
  for (const [, name = '', code = ''] of text.matchAll(/^\/\/ (\w+\.js): (.+)$/gm)) write(join('out', name), code);
  const { status, stdout, stderr } = spawnSync(process.execPath, [path], { cwd: folder, encoding: 'utf8' });
  return { status, stderr, printed: stdout.replaceAll(/\s/g, '') };
}

function expected({ text }: (typeof examples)[number]): Printed {
  const said = Array.from(text.matchAll(/console\.log\(.*; \/\/ (.+)$/gm), ([, each]) => each);
  return { status: 0, stderr: '', printed: said.join('').replaceAll(/\s/g, '') };
}

const isApi = ({ page }: { readonly page: string }): boolean => page === API;

const isWhole = ({ page, text }: (typeof examples)[number]): boolean => !PARTS.has(page) && !NEEDS_SERVER.test(text);

it.each(examples.filter((example) => !isApi(example) && isWhole(example)))('$name runs', (example) => {
  expect(run(example)).toEqual(expected(example));
});

it.each(examples.filter((example) => isApi(example) && !SERVERS.some(({ url }) => example.text.includes(url))))(
  '$name runs',
  (example) => {
    expect(run(example)).toEqual(expected(example));
  },
);

describe.each(SERVERS.map((server) => ({ ...server, isLeftOut: server.isMissing() })))(
  'with a server of $kind',
  (server) => {
    it.skipIf(server.isLeftOut).each(examples.filter((example) => isApi(example) && example.text.includes(server.url)))(
      '$name runs',
      async (example) => {
        const target = await openTarget(server.kind, {});
        try {
          expect(run(example, { [server.url]: target.url })).toEqual(expected(example));
        } finally {
          await target.close();
        }
      },
    );
  },
);
