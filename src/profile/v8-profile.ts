/** V8's profiler, and the stacks in what it writes (`Profiler.Profile` of the Chrome DevTools Protocol). */
import type { Profiler } from 'node:inspector';

import { type Span, isWithin } from '../runner/time-spans.js';
import type { Stack } from './stacks.js';

/** The time between two samples of the profiler in microseconds. */
const INTERVAL_US = 200;

/** A profile of V8, whose times are on the clock of `process.hrtime`. */
export interface V8Profile {
  readonly profile: Profiler.Profile;
  /** The microseconds of `process.hrtime` at its start: the clock of the profile may be another. */
  readonly startedAt: number;
}

/** Starts V8's profiler in this thread. The result stops it, and resolves to the profile. */
export async function startV8Profile(): Promise<() => Promise<V8Profile>> {
  const { Session } = await import('node:inspector/promises');
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: INTERVAL_US });
  await session.post('Profiler.start');
  const startedAt = Number(process.hrtime.bigint()) / 1e3;
  return async () => {
    const { profile } = await session.post('Profiler.stop');
    session.disconnect();
    return { profile, startedAt };
  };
}

/** The stacks of a profile within timed work, whose spans are in microseconds of `process.hrtime`. */
export function stacksOfV8({ profile, startedAt }: V8Profile, timed: readonly Span[]): Stack[] {
  const { nodes, samples = [], timeDeltas = [] } = profile;
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const framesOf = (id: number): string[] => {
    const frames: string[] = [];
    // The root, which has no parent, is no call.
    for (let at: number | undefined = id; at !== undefined && parents.has(at); at = parents.get(at)) {
      frames.unshift(nameOf(byId.get(at)!.callFrame));
    }
    return frames;
  };
  const stacks: Stack[] = [];
  let time = startedAt;
  samples.forEach((id, index) => {
    time += timeDeltas[index] ?? 0;
    // A sample stands for the time until the next one.
    const seconds = Math.max(0, timeDeltas[index + 1] ?? 0) / 1e6;
    if (seconds > 0 && isWithin(time, timed)) stacks.push({ frames: framesOf(id), seconds });
  });
  return stacks;
}

function nameOf({ functionName, url, lineNumber }: Profiler.ProfileNode['callFrame']): string {
  const name = functionName === '' ? '(anonymous)' : functionName;
  return url === '' ? name : `${name} ${url.slice(url.lastIndexOf('/') + 1)}:${lineNumber + 1}`;
}
