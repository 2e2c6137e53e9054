/** The clock that worker threads share with the thread that starts them, in each runtime that is installed. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { findRuntime } from '../../src/host/runtimes.js';
import { folderOfSuite } from '../temporary-folder.js';

const CLOCK = new URL('../../dist/families/working-threads.js', import.meta.url).href;

/** Prints the times before a message to a thread, in the thread, and after its answer. The thread starts later than the process. */
const SCRIPT = `
import { Worker, isMainThread, parentPort } from 'node:worker_threads';
import { sharedNow } from ${JSON.stringify(CLOCK)};
if (isMainThread) {
  await new Promise((resolve) => setTimeout(resolve, 200));
  const worker = new Worker(new URL(import.meta.url));
  const answer = () => new Promise((resolve) => worker.once('message', resolve));
  await answer();
  const before = sharedNow();
  worker.postMessage('');
  const within = await answer();
  console.log(JSON.stringify([before, within, sharedNow()]));
  process.exit();
} else {
  parentPort.on('message', () => parentPort.postMessage(sharedNow()));
  parentPort.postMessage('ready');
}
`;

const folder = folderOfSuite();

const installed = ['bun', 'deno', 'node@22', 'node@26'].filter((name) => 'program' in findRuntime(name));

it.each(['node', ...installed])('%s', (name) => {
  const found = name === 'node' ? { program: process.execPath, args: [] } : findRuntime(name);
  if ('missing' in found) throw new Error(found.missing);
  const script = join(folder, 'clock.mjs');
  writeFileSync(script, SCRIPT);
  const { stdout, stderr } = spawnSync(found.program, [...found.args, script], { encoding: 'utf8' });
  const [before, within, after] = JSON.parse(stdout || JSON.stringify(stderr)) as [number, number, number];
  // The origins of the clocks of two threads are known to a microsecond or so.
  expect(within - before).toBeGreaterThan(-0.1);
  expect(after - within).toBeGreaterThan(-0.1);
});
