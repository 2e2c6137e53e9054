/** The smallest difference between two cells that a run on this machine can tell from none. */
import { type Noise, probeNoise } from './noise-probe.js';
import { riskOf } from '../compare/rate-ratio.js';
import { LOOKS } from '../stats/looks.js';
import { reachOf } from '../stats/resampling.js';
import type { WebAbortSignal } from '../platform-types.js';

/** The longest probe in seconds, and its longest part of a run's time. */
const PROBE_SECONDS = 1;
const PART_OF_RUN = 0.05;

/** The parts of a probe, each of which is like a pair of processes on this machine. */
const PARTS = 10;

/**
 * The standard deviation of the logarithm of a pair's ratio, in addition to the noise of the machine: equal processes
 * place their memory and compile their code differently. This is an assumption. The deviation differs from work to
 * work, and is not known before the run.
 */
const OF_PROCESSES = 0.02;

/**
 * Probes the machine before a run of `runSeconds`, for a second at most. Resolves to the smallest difference, as a
 * part, that `forks` processes of each cell tell from none, and to the seconds of the probe's loop.
 */
export async function probeMachine(
  forks: number | undefined,
  runSeconds: number,
  signal: WebAbortSignal,
): Promise<{ readonly resolution: number; readonly loopSeconds: number }> {
  const noise = await probeNoise(Math.min(PROBE_SECONDS, PART_OF_RUN * runSeconds), signal as AbortSignal);
  return { resolution: resolutionOf(noise, forks), loopSeconds: noise.loopSeconds };
}

/** The smallest difference, as a part, that `forks` processes of each cell tell from none. `forks` absent: as many as decide. */
export function resolutionOf({ ratio, high }: Pick<Noise, 'ratio' | 'high'>, forks?: number): number {
  const processes = forks ?? LOOKS.at(-1)!;
  // The probe's interval is the interval of two means of its parts.
  const ofMachine = (Math.log(high / ratio) / reachOf(2 * (PARTS - 1))) * Math.sqrt(PARTS);
  const risk = riskOf({ config: forks === undefined ? {} : { forks } });
  const deviation = Math.hypot(ofMachine, OF_PROCESSES) / Math.sqrt(processes);
  return Math.expm1(reachOf(Math.max(1, processes - 1), risk) * deviation);
}
