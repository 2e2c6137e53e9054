/** When the addon is loaded, and which one. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

import { InstalledPackage } from './installed.js';

const ENTRY = new URL('../../dist/index.js', import.meta.url).href;

/** The output of a program that imports the library as `library`. */
function output(script: string, { entry = ENTRY, env = {} }: { entry?: string; env?: NodeJS.ProcessEnv } = {}): string {
  const program = `import { createRequire } from 'node:module';
    import * as library from ${JSON.stringify(entry)};
    const loaded = () => Object.keys(createRequire(import.meta.url).cache).filter((file) => file.endsWith('.node')).length;
    ${script}`;
  const words = ['--input-type=module', '--eval', program];
  return execFileSync(process.execPath, words, { env: { ...process.env, ...env }, encoding: 'utf8' }).trim();
}

it('is loaded when it is first used', () => {
  const script = `const before = loaded();
    new library.LineParser();
    console.log(before, loaded() > 0);`;
  expect(output(script)).toBe('0 true');
});

it('rejects the first use of an addon that is not there, and the next one', () => {
  using installed = new InstalledPackage();
  installed.removeBinaries();
  const script = `for (const _ of [1, 2]) {
      await library.KvClient.connect('redis://127.0.0.1').then(console.log, ({ code }) => console.log(code));
    }`;
  const entry = new URL('../index.js', `file://${installed.cli}`).href;
  expect(output(script, { entry })).toBe('BB_ADDON_NOT_BUILT\nBB_ADDON_NOT_BUILT');
});

it("is not the one that another addon's variable names", () => {
  const path = fileURLToPath(import.meta.url);
  const script = 'new library.LineParser(); console.log(loaded() > 0, process.env.NAPI_RS_NATIVE_LIBRARY_PATH);';
  expect(output(script, { env: { NAPI_RS_NATIVE_LIBRARY_PATH: path } })).toBe(`true ${path}`);
});
