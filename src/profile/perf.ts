/**
 * Linux's `perf`, which sees the frames of Rust and of JavaScript together: V8 writes the names of its functions to a file for it. Sources:
 * perf-record(1), perf-script(1), and `--perf-basic-prof` of https://nodejs.org/api/cli.html.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync, rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';

import { BoundaryError } from '../errors.js';
import { firstPlace } from '../first-place.js';
import { type Span, isWithin } from '../runner/time-spans.js';
import type { Stack } from './stacks.js';

/** The samples of `perf` in a second: no divisor of a timer's frequency, which would be sampled always at the same place. */
const FREQUENCY = 1999;

/** The time that `perf` has to begin. */
const START_MS = 500;

/** The time that `perf script` may take. */
const SCRIPT_MS = 60_000;

/** The flags by which V8 tells `perf` the names of its functions. */
export const PERF_FLAGS = ['--perf-basic-prof', '--interpreted-frames-native-stack'];

/** The reason why `perf` can't be used here. `undefined` if it can. */
export function whyNoPerf(): string | undefined {
  if (process.platform !== 'linux') return 'perf is a program of Linux';
  const words = ['record', '-o', '/dev/null', '-e', 'cpu-clock', '--', process.execPath, '--version'];
  const { status, error, stderr } = spawnSync('perf', words, { encoding: 'utf8' });
  if (error !== undefined) return `perf can't be started: ${error.message}`;
  if (status === 0) return undefined;
  const said = stderr.split('\n').find((line) => line.trim() !== '' && line.trim() !== 'Error:');
  return `perf is not allowed: ${said?.trim() ?? `exit code ${status}`}`;
}

/** A recording under way. */
export interface Recording {
  /** Ends it, and resolves to the stacks within timed work. */
  stacks(timed: readonly Span[]): Promise<readonly Stack[]>;
  /** Ends it if it runs, and removes its files. */
  remove(): Promise<void>;
}

/** Has `perf` record a process and its children into a file. */
export async function startPerf(pid: number, file: string): Promise<Recording> {
  const words = ['record', '-g', '-e', 'cpu-clock', '-F', String(FREQUENCY), '-k', 'CLOCK_MONOTONIC', '-o', file];
  const recording = spawn('perf', [...words, '-p', [pid, ...childrenOf(pid)].join(',')], { stdio: 'ignore' });
  // An error shows in that there is nothing to read.
  const ended = once(recording, 'exit').catch(() => {});
  await setTimeout(START_MS);
  const end = async (): Promise<void> => {
    recording.kill('SIGINT');
    await ended;
  };
  return {
    stacks: async (timed) => {
      await end();
      await keepLastNames(mapOf(pid));
      return stacksOfPerf(await printed(file), timed);
    },
    remove: async () => {
      await end();
      rmSync(file, { force: true });
      rmSync(mapOf(pid), { force: true });
    },
  };
}

/** The ids of the children of a process: the program of a cell of the side `rust`, for one. */
function childrenOf(pid: number): number[] {
  const tasks = `/proc/${pid}/task`;
  try {
    return readdirSync(tasks).flatMap((task) =>
      readFileSync(`${tasks}/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    );
  } catch {
    // The kernel was built without the list.
    return [];
  }
}

/** The file to which V8 writes the names of its functions, each with the memory of its code. */
function mapOf(pid: number): string {
  return `/tmp/perf-${pid}.map`;
}

/** Leaves the last name of each memory in a map: `perf` takes the first, which may be of a function whose code was collected since. */
async function keepLastNames(map: string): Promise<void> {
  const text = await readFile(map, 'utf8').catch(() => '');
  await writeFile(map, lastNames(text.split('\n')).join('\n'));
}

/** The lines `ADDRESS SIZE NAME` whose memory no later line has. */
export function lastNames(lines: readonly string[]): string[] {
  /** The kept memory, in ascending order. */
  const kept: { readonly from: number; readonly to: number }[] = [];
  return lines.toReversed().filter((line) => {
    const [start = Number.NaN, size = Number.NaN] = line.split(' ', 2).map((each) => Number.parseInt(each, 16));
    if (Number.isNaN(start + size)) return false;
    const end = start + size;
    const place = firstPlace(kept, ({ from }) => from > start);
    const isTaken = (kept[place - 1]?.to ?? 0) > start || (kept[place]?.from ?? Infinity) < end;
    if (!isTaken) kept.splice(place, 0, { from: start, to: end });
    return !isTaken;
  });
}

/** The output of `perf script`. Inlined frames would take it minutes. */
async function printed(file: string): Promise<string> {
  const words = ['script', '--no-inline', '-i', file, '-F', 'time,period,ip,sym'];
  const child = spawn('perf', words, { stdio: ['ignore', 'pipe', 'pipe'], timeout: SCRIPT_MS });
  let [output, problem] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (problem += text));
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  if (code !== 0) throw new BoundaryError('BB_PROFILE', `perf script ended by ${signal ?? code}: ${problem.trim()}`);
  return output;
}

/** The stacks in the output of `perf script -F time,period,ip,sym`, within timed work. */
export function stacksOfPerf(text: string, timed: readonly Span[]): Stack[] {
  return text.split('\n\n').flatMap((entry): Stack[] => {
    const [head = '', ...lines] = entry.trim().split('\n');
    const [, time, period] = /^(\d+\.\d+):\s+(\d+)/.exec(head.trim()) ?? [];
    if (time === undefined || !isWithin(Number(time) * 1e6, timed)) return [];
    const frames = lines.map((line) => nameOf(line.trim().replace(/^[\da-f]+ /, ''))).toReversed();
    return [{ frames, seconds: Number(period) / 1e9 }];
  });
}

/** A name without the hash of Rust's symbols, and without the mark of how V8 has compiled it. */
function nameOf(symbol: string): string {
  return symbol
    .replace(/::h[\da-f]{16}$/, '')
    .replace(/^(?:(?:JS|LazyCompile|Function|Eval|Script|Builtin|Handler|BytecodeHandler):)?[~*^+]*/, '')
    .replace(/^ /, '(anonymous) ')
    .replace(/ (?:file:\/\/)?\/\S*\//, ' ');
}
