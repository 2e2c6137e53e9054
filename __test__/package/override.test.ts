import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ENTRY = new URL('../../dist/index.js', import.meta.url).href;

test("another addon's variable does not name ours", () => {
  const script = `
    const { SqlType } = await import(${JSON.stringify(ENTRY)});
    console.log(typeof SqlType.int, process.env.NAPI_RS_NATIVE_LIBRARY_PATH);
  `;
  const env = { ...process.env, NAPI_RS_NATIVE_LIBRARY_PATH: fileURLToPath(import.meta.url) };
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], { env, encoding: 'utf8' });
  expect(output.trim()).toBe(`function ${fileURLToPath(import.meta.url)}`);
});
