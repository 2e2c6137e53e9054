/**
 * Parts that the scripts of this folder share: their options, folders, other programs, disturbed machines, and the files of
 * results, from which bench/docs makes the tables of the pages.
 */
import { once } from 'node:events';
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { runContext } from '../../dist/host/provenance.js';
import { loadNativeBuild } from '../../dist/native-build.js';

/** The command line, by the options with their defaults. An option whose default is a boolean takes no value. */
export function optionsOf(defaults, allowPositionals = false) {
  const options = Object.entries(defaults).map(([name, value]) => [
    name,
    typeof value === 'boolean' ? { type: 'boolean', default: value } : { type: 'string', default: value },
  ]);
  return parseArgs({ allowPositionals, options: Object.fromEntries(options) });
}

/** Writes a file of results, if the command line names one. */
export function writeResult(path, file) {
  if (path !== undefined) writeFileSync(path, resultText(file));
}

/** The origin of what a script measures from now on: the time, the machine, the versions, the build and the commit. */
export async function origin() {
  return originOf(await runContext({ startedAt: new Date(), config: {}, build: await loadNativeBuild() }));
}

/** The origin of a run, by its context. */
export function originOf({ startedAt, host, versions, build, git }) {
  return { startedAt, host, versions, build, git };
}

/**
 * The text of a file: JSON with one line per field, or per element if the field is a list. Throws for a number that JSON
 * has no form for.
 */
export function resultText(file) {
  const fields = Object.entries(file)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${JSON.stringify(name)}:${fieldText(value)}`);
  return `{\n${fields.join(',\n')}\n}\n`;
}

function fieldText(value) {
  if (!Array.isArray(value) || value.length === 0) return jsonOf(value);
  return `[\n${value.map(jsonOf).join(',\n')}\n]`;
}

function jsonOf(value) {
  return JSON.stringify(value, (name, part) => {
    // JSON would have null, and a table NaN.
    if (typeof part === 'number' && !Number.isFinite(part)) throw new Error(`${name} is ${part}, which is no result`);
    return part;
  });
}

/** Makes a folder that is removed when this process ends. */
export function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'boundary-bench-lab-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The output of a program; throws if it fails. */
export function outputOf(program, args, { environment = {}, output = 'pipe', cwd } = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', output, output],
    env: { ...process.env, ...environment },
  });
  if (error !== undefined) throw error;
  // Some programs print their errors to the output, and inherited output was shown already.
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr ?? ''}${stdout ?? ''}`);
  return stdout;
}

/** The first line of a program's version. Some programs print it to standard error, or with a usage that fails. */
export function versionLine(program) {
  const { stdout, stderr } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return `${stdout}${stderr}`
    .split('\n')
    .find((line) => /\d\.\d/.test(line))
    .trim();
}

/** The path of the first of the programs that is on the PATH. If none is, ends this process with the names of Debian's packages. */
export function findProgram(names, packages) {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    for (const name of names) {
      try {
        const path = join(folder, name);
        accessSync(path, constants.X_OK);
        return path;
      } catch {
        // Not in this folder; the next one is tried.
      }
    }
  }
  console.error(`${names.join(' or ')} is not on the PATH (Debian: ${packages})`);
  process.exit(2);
}

/** Builds an example of one of our crates for release, and the other `targets`. Returns the path of the example's program. */
export function builtExample(crate, example, targets = []) {
  outputOf('cargo', ['build', '--release', '--locked', '-p', crate, '--example', example, ...targets], {
    output: 'inherit',
  });
  const metadata = JSON.parse(outputOf('cargo', ['metadata', '--no-deps', '--format-version', '1']));
  return join(metadata.target_directory, 'release', 'examples', example);
}

const DISTURBER = fileURLToPath(new URL('disturber.mjs', import.meta.url));

/** Works on each of the machines by its name: `quiet`, or `disturbed`, next to programs that keep its CPU and its memory busy. */
export async function onEachMachine(names, work) {
  for (const machine of names.split(',')) {
    const disturbing = machine === 'disturbed' ? ['cpu', 'memory'] : [];
    const disturbers = disturbing.map((what) => spawn(process.execPath, [DISTURBER, what], { stdio: 'ignore' }));
    try {
      await work(machine);
    } finally {
      for (const child of disturbers) child.kill();
    }
  }
}

/**
 * Starts a process that answers messages, one after the other, each within `milliseconds`. An empty message ends it. It is
 * killed if it does not end.
 */
export function startAsked(what, [program, ...words], milliseconds) {
  const child = spawn(program, words, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the process of ${what} ended with the code ${code}`);
  });
  ended.catch(() => {});
  const ask = async (message) => {
    child.send(message);
    const signal = milliseconds === undefined ? undefined : AbortSignal.timeout(milliseconds);
    return (await Promise.race([once(child, 'message', { signal }), ended]))[0];
  };
  const close = async () => {
    if (child.connected) child.send({});
    const killing = setTimeout(() => child.kill('SIGKILL'), 5000);
    await ended.catch(() => clearTimeout(killing));
  };
  return { ask, close };
}
