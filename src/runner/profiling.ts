/**
 * Profiles of the cells of a family. Each cell is executed once more, in a process of its own, so that no profiler disturbs a sample. If
 * Linux allows `perf`, the flame graph has the frames of Rust and of JavaScript. Otherwise it has the frames of JavaScript.
 */
import { join } from 'node:path';

import { toBoundaryError } from '../errors.js';
import type { PlannedCell } from '../families/workload.js';
import { PERF_FLAGS, startPerf } from '../profile/perf.js';
import type { Stack } from '../profile/stacks.js';
import { stacksOfV8 } from '../profile/v8-profile.js';
import type { Profile } from '../records/record.js';
import type { ForkedSampler } from './fork.js';
import { exists, makeFolder, writeAtomically } from './files.js';
import type { RunListener } from './events.js';

/** The folder of profiles in the folder of a run. */
const FOLDER = 'profiles';

/** The cells to profile, and how one is opened in a process with these flags of V8. */
export interface Profiling {
  readonly cells: readonly PlannedCell[];
  readonly directory: string;
  readonly signal: AbortSignal;
  readonly emit: RunListener;
  /** The reason why `perf` can't be used. `undefined` if it can. */
  readonly withoutPerf: string | undefined;
  open(planned: PlannedCell, flags: readonly string[]): Promise<ForkedSampler>;
}

/** Profiles cells, one after the other. A cell that can't be profiled is only warned of. */
export async function profileCells(profiling: Profiling): Promise<Profile[]> {
  const { cells, directory, signal, emit, withoutPerf } = profiling;
  const profiles: Profile[] = [];
  for (const planned of cells) {
    if (signal.aborted) break;
    const { id, side } = planned.cell;
    if (side === 'rust' && withoutPerf !== undefined) continue;
    const base = join(FOLDER, id.replaceAll(/[^\w.-]+/g, '_'));
    const profile = {
      id,
      flameGraph: `${base}.svg`,
      ...(side !== 'rust' && { cpuProfile: `${base}.cpuprofile` }),
    };
    try {
      if (!(await exists(join(directory, profile.flameGraph)))) {
        emit({ type: 'cell-profiling', cell: planned.cell });
        await profileCell(profiling, planned, profile);
      }
      profiles.push(profile);
    } catch (error) {
      const { code, message } = toBoundaryError(error);
      emit({ type: 'warning', message: `${id} could not be profiled: ${code}: ${message}` });
    }
  }
  return profiles;
}

async function profileCell(
  { directory, open, withoutPerf }: Profiling,
  planned: PlannedCell,
  { id, flameGraph, cpuProfile }: Profile,
): Promise<void> {
  const hasPerf = withoutPerf === undefined;
  const pathOf = (file: string): string => join(directory, file);
  await makeFolder(pathOf(FOLDER));
  const sampler = await open(planned, hasPerf ? PERF_FLAGS : []);
  let stacks: readonly Stack[] = [];
  try {
    if (cpuProfile !== undefined) {
      const { timed, profile } = await sampler.exercise(true);
      stacks = stacksOfV8(profile!, timed);
      await writeAtomically(pathOf(cpuProfile), JSON.stringify(profile!.profile));
    }
    if (hasPerf) stacks = await stacksByPerf(sampler, pathOf(`${flameGraph}.perf`));
  } finally {
    await sampler.abandon();
  }
  // Loaded with its charts when there is something to draw, not when a run starts.
  const { flameGraphText } = await import('../report/html/flame-graph.js');
  await writeAtomically(pathOf(flameGraph), await flameGraphText(id, stacks));
}

async function stacksByPerf(sampler: ForkedSampler, file: string): Promise<readonly Stack[]> {
  const recording = await startPerf(sampler.pid, file);
  try {
    const { timed } = await sampler.exercise(false);
    return await recording.stacks(timed);
  } finally {
    await recording.remove();
  }
}
