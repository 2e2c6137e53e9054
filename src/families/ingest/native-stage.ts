/** The stages of the native suite. */
import { addon } from '../../addon.js';
import { explainedAsync } from '../../errors.js';
import type { Checksum } from '../../records/record.js';
import { untilAborted } from '../../library/crossing/cancellation.js';
import type { NativeTiming, OpenCell } from '../workload.js';
import { expectedOf } from './input.js';
import { matrix } from './matrix.js';

/** Opens a cell of the `rust` side. The event loop is idle while it runs. */
export async function openNativeStage(workload: string, batches: number): Promise<OpenCell> {
  const native = await explainedAsync(() => addon.NativeIngest.open(stageSpec(workload, batches)));
  return {
    expected: expectedOf(batches),
    sample: async (stopwatch, signal) => {
      const sample = await untilAborted(signal, (cancel) => native.sample(cancel));
      const { checksum, ...timing } = JSON.parse(sample) as NativeSample;
      stopwatch.add(timing);
      return checksum;
    },
    verify: (_stopwatch, signal) => untilAborted(signal, (cancel) => native.verify(cancel)),
    close: () => explainedAsync(() => native.close()),
  };
}

interface NativeSample extends NativeTiming {
  readonly checksum: Checksum;
}

/** The stage of a workload, as the suite reads it. */
export function stageSpec(workload: string, batches: number): string {
  const { stage = workload, durable = false } = matrix.workloads[workload]!;
  return JSON.stringify({ workload: stage, durable, batches, batch: matrix.batchRows, inputs: matrix.inputBatches });
}
