/** The stages of the native suite. */
import { openNative } from '../native-program.js';
import type { OpenCell } from '../workload.js';
import { expectedOf } from './input.js';
import { matrix } from './matrix.js';

/** Opens a cell of the `rust` side. */
export function openNativeStage(workload: string, batches: number): Promise<OpenCell> {
  return openNative({ kind: 'ingest', spec: stageSpec(workload, batches) }, expectedOf(batches));
}

/** The stage of a workload, as the suite reads it. */
export function stageSpec(workload: string, batches: number): object {
  const { stage = workload, durable = false } = matrix.workloads[workload]!;
  return { workload: stage, durable, batches, batch: matrix.batchRows, inputs: matrix.inputBatches };
}
