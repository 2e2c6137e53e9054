/**
 * The time per batch on each side. `tinybench` times each batch separately, as the suite's own sampler does in Rust; results are
 * summed between batches, untimed.
 */
import { Bench } from 'tinybench';

import { addon, type IngestStage } from '../../addon.js';
import { toBoundaryError } from '../../errors.js';
import { ColumnsDecoder, ColumnsEncoder } from '../../library/codecs/columns-codec.js';
import { LineEncoder, LineParser } from '../../library/codecs/line-codec.js';
import type { Checksum } from '../../records/record.js';
import type { ColumnBatch, JsCodec } from '../../clients/js-codec.js';
import type { OpenCell, NativeTiming, Stopwatch } from '../workload.js';
import { bodyOf, expectedOf, inputBatches, StageSums } from './input.js';
import { matrix } from './matrix.js';

const MS_PER_SECOND = 1000;

/** The unit of the times in bodies. */
const PRECISION = { precision: 'ms' } as const;

/** An upper bound of the bytes of a point in any encoding. */
const MOST_POINT_BYTES = 128;

/** One side's implementation of a stage. */
interface StageRun {
  /** Prepares a sample, untimed. */
  begin?(): void;
  /** Does the work on input number `input`. Timed. */
  run(input: number): void;
  /** Adds the result of the last `run` to `sums`. Untimed. */
  consume(sums: StageSums): void;
  /** The checksum of the sample, if it is not that of the sums. */
  finish?(): Checksum;
  close?(): Promise<void>;
}

/** Opens a cell of the sides `napi` and `js`; the latter has a codec. */
export async function openStageCell(workload: string, batches: number, codec?: JsCodec): Promise<OpenCell> {
  const run = await stageRun(workload, batches, codec);
  const bench = { batches, inputs: matrix.inputBatches };
  return {
    expected: expectedOf(batches),
    sample: async (stopwatch, signal) => {
      signal.throwIfAborted();
      const sums = new StageSums();
      run.begin?.();
      timeBatches(stopwatch, bench, run, sums);
      return run.finish?.() ?? sums.checksum;
    },
    close: async () => run.close?.(),
  };
}

function timeBatches(
  stopwatch: Stopwatch,
  { batches, inputs }: { readonly batches: number; readonly inputs: number },
  run: StageRun,
  sums: StageSums,
): void {
  let batch = -1;
  const bench = new Bench({
    iterations: batches,
    time: 0,
    warmup: false,
    retainSamples: true,
    // Subtracted, as in Rust, and reading the clock takes longer here.
    subtractTimerOverhead: true,
    throws: true,
  });
  bench.add('batch', () => run.run(batch % inputs), {
    beforeEach: () => {
      batch += 1;
    },
    afterEach: () => run.consume(sums),
  });
  bench.runSync();
  const result = bench.tasks[0]?.result;
  const times = result !== undefined && 'latency' in result ? result.latency.samples : undefined;
  if (times?.length !== batches) throw new Error(`${times?.length ?? 0} of ${batches} batches were timed`);
  stopwatch.add({ seconds: times.reduce((sum, time) => sum + time, 0) / MS_PER_SECOND });
}

function stageRun(workload: string, batches: number, codec: JsCodec | undefined): StageRun | Promise<StageRun> {
  const { input } = matrix.workloads[workload]!;
  const inputs = inputBatches();
  if (input === 'columns') return encodeRun(workload, inputs, codec);
  const bodies = inputs.map((batch) => bodyOf(input, batch));
  if (codec?.decoder !== undefined) return jsDecodeRun(codec.decoder(), bodies);
  if (workload === 'line_protocol_parse') return parseRun(bodies);
  if (workload === 'columnar_decode') return decodeRun(bodies);
  return addonStage(workload, batches, bodies);
}

function jsDecodeRun(decode: ReturnType<NonNullable<JsCodec['decoder']>>, bodies: readonly Uint8Array[]): StageRun {
  let decoded = decode(bodies[0]!);
  return {
    run: (input) => {
      decoded = decode(bodies[input]!);
    },
    consume: (sums) => sums.add(decoded.values, decoded.timestamps),
  };
}

function parseRun(bodies: readonly Uint8Array[]): StageRun {
  const parser = new LineParser();
  let parsed = parser.parse(bodies[0]!, PRECISION);
  return {
    run: (input) => {
      parsed = parser.parse(bodies[input]!, PRECISION);
    },
    consume: (sums) => sums.addNanoseconds(parsed.rawValues, parsed.timestamps),
  };
}

function decodeRun(bodies: readonly Uint8Array[]): StageRun {
  const decoder = new ColumnsDecoder();
  let decoded = decoder.decode(bodies[0]!);
  return {
    run: (input) => {
      decoded = decoder.decode(bodies[input]!);
    },
    consume: (sums) => sums.add(decoded.values, decoded.timestamps ?? []),
  };
}

function encodeRun(workload: string, inputs: readonly ColumnBatch[], codec: JsCodec | undefined): StageRun {
  const isLines = workload === 'line_protocol_encode';
  const encoders = encodersOf(isLines, inputs, codec);
  let encoded = encoders[0]!();
  const decoder = isLines ? new LineParser() : new ColumnsDecoder();
  return {
    run: (input) => {
      encoded = encoders[input]!();
    },
    consume: (sums) => {
      if (decoder instanceof ColumnsDecoder) {
        const { values, timestamps } = decoder.decode(encoded());
        sums.add(values, timestamps ?? []);
      } else {
        const { rawValues, timestamps } = decoder.parse(encoded(), PRECISION);
        sums.addNanoseconds(rawValues, timestamps);
      }
    },
  };
}

/** For each input, a function that encodes it and returns a getter of the bytes, which is not timed. */
function encodersOf(
  isLines: boolean,
  inputs: readonly ColumnBatch[],
  codec: JsCodec | undefined,
): readonly (() => () => Uint8Array)[] {
  if (codec?.encoder !== undefined) {
    return inputs.map((batch) => {
      const encode = codec.encoder!(matrix, batch);
      let encoded: Uint8Array;
      const read = (): Uint8Array => encoded;
      return () => {
        encoded = encode();
        return read;
      };
    });
  }
  const encoder = isLines ? new LineEncoder(matrix) : new ColumnsEncoder(matrix);
  const into = Buffer.allocUnsafeSlow(matrix.batchRows * MOST_POINT_BYTES);
  let length = 0;
  const read = (): Uint8Array => into.subarray(0, length);
  return inputs.map(({ values, timestamps }) => () => {
    length = encoder.encodeInto(into, values, timestamps);
    return read;
  });
}

/** A stage of the suite, called through the addon. */
async function addonStage(workload: string, batches: number, bodies: readonly Uint8Array[]): Promise<StageRun> {
  const stage = await ours<IngestStage>(addon.IngestStage.open(stageSpec(workload, batches)));
  const points = matrix.batchRows;
  return {
    begin: () => stage.begin(),
    run: (input) => {
      if (stage.run(bodies[input]!) !== points) throw new Error(`a batch did not have ${points} points`);
    },
    consume: () => stage.consume(),
    finish: () => JSON.parse(stage.finish()) as Checksum,
    close: () => ours(stage.close()),
  };
}

/** Opens a cell of the `rust` side. The event loop is idle while it runs. */
export async function openNativeStage(workload: string, batches: number): Promise<OpenCell> {
  const native = await ours(addon.NativeIngest.open(stageSpec(workload, batches)));
  return {
    expected: expectedOf(batches),
    sample: async (stopwatch, signal) => {
      const cancel = new addon.Cancel();
      const onAbort = (): void => cancel.cancel();
      if (signal.aborted) onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
      try {
        const { checksum, ...timing } = JSON.parse(await ours(native.sample(cancel))) as NativeSample;
        stopwatch.add(timing);
        return checksum;
      } finally {
        signal.removeEventListener('abort', onAbort);
      }
    },
    close: () => ours(native.close()),
  };
}

interface NativeSample extends NativeTiming {
  readonly checksum: Checksum;
}

function stageSpec(workload: string, batches: number): string {
  const { stage = workload, durable = false } = matrix.workloads[workload]!;
  return JSON.stringify({ workload: stage, durable, batches, batch: matrix.batchRows, inputs: matrix.inputBatches });
}

/** Awaits the addon, and maps its errors to ours. */
async function ours<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (thrown) {
    throw toBoundaryError(thrown);
  }
}
