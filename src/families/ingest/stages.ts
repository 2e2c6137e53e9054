/**
 * The time per batch on each side. `tinybench` times each batch separately, as the suite's own sampler does in Rust. Results are
 * summed between batches, untimed.
 */
import { crossing, type IngestStage } from '../../crossing-addon.js';
import { explainedAsync } from '../../errors.js';
import { ColumnsDecoder, ColumnsEncoder, type SeriesNames } from '../../library/codecs/columns-codec.js';
import { LineEncoder, LineParser, type ParsedLines } from '../../library/codecs/line-codec.js';
import type { Checksum } from '../../records/record.js';
import type { ColumnBatch, JsCodec } from '../../clients/js-codec.js';
import { importPackage } from '../../clients/optional-package.js';
import type { OpenCell, Stopwatch } from '../workload.js';
import { bodyOf, expectedOf, inputBatches, PointCheck, type PointReader, StageSums } from './input.js';
import { matrix } from './matrix.js';
import { stageSpec } from './native-stage.js';

const { Bench } = await importPackage('tinybench', () => import('tinybench'));

const MS_PER_SECOND = 1000;

/** The unit of the times in bodies. */
const PRECISION = { precision: 'ms' } as const;

/** An upper bound of the bytes of a point in any encoding. */
const MOST_POINT_BYTES = 128;

/** One side's implementation of a stage. */
interface StageRun {
  /** Prepares a sample, or a check of each point, untimed. */
  begin?(isCheck: boolean): void;
  /** Does the work on input number `input`. Timed. */
  run(input: number): void;
  /** Hands the result of the last `run` to the reader. Untimed. */
  consume(reader: PointReader): void;
  /** Ends the sample or check. Returns the sample's checksum. Only of a stage that sums and checks its points itself. */
  finish?(): Checksum;
  close?(): Promise<void>;
}

/** Opens a cell of the sides `napi` and `js`. The latter has a codec. */
export async function openStageCell(workload: string, batches: number, codec?: JsCodec): Promise<OpenCell> {
  const run = await stageRun(workload, batches, codec);
  const bench = { batches, inputs: matrix.inputBatches };
  return {
    expected: expectedOf(batches),
    sample: async (stopwatch, signal) => {
      signal.throwIfAborted();
      const sums = new StageSums();
      run.begin?.(false);
      timeBatches(stopwatch, bench, run, sums);
      return run.finish?.() ?? sums.checksum;
    },
    verify: async (_stopwatch, signal) => {
      const check = new PointCheck(inputBatches());
      run.begin?.(true);
      for (let batch = 0; batch < batches; batch += 1) {
        signal.throwIfAborted();
        run.run(batch % bench.inputs);
        run.consume(check);
      }
      if (run.finish === undefined) check.finish(batches);
      else run.finish();
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
    consume: (reader) => reader.add(decoded.values, decoded.timestamps),
  };
}

function parseRun(bodies: readonly Uint8Array[]): StageRun {
  const parser = new LineParser();
  let parsed = parser.parse(bodies[0]!, PRECISION);
  return {
    run: (input) => {
      parsed = parser.parse(bodies[input]!, PRECISION);
    },
    consume: (reader) => {
      reader.addNames?.(namesOf(parsed));
      reader.addNanoseconds(parsed.rawValues, parsed.timestamps);
    },
  };
}

function decodeRun(bodies: readonly Uint8Array[]): StageRun {
  const decoder = new ColumnsDecoder();
  let decoded = decoder.decode(bodies[0]!);
  return {
    run: (input) => {
      decoded = decoder.decode(bodies[input]!);
    },
    consume: (reader) => {
      reader.addNames?.([decoded]);
      reader.add(decoded.values, decoded.timestamps ?? []);
    },
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
    consume: (reader) => {
      if (decoder instanceof ColumnsDecoder) {
        const batch = decoder.decode(encoded());
        reader.addNames?.([batch]);
        reader.add(batch.values, batch.timestamps ?? []);
      } else {
        const points = decoder.parse(encoded(), PRECISION);
        reader.addNames?.(namesOf(points));
        reader.addNanoseconds(points.rawValues, points.timestamps);
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
  const stage = await explainedAsync<IngestStage>(() =>
    crossing.IngestStage.open(JSON.stringify(stageSpec(workload, batches))),
  );
  const points = matrix.batchRows;
  return {
    begin: (isCheck) => (isCheck ? stage.beginCheck() : stage.begin()),
    run: (input) => {
      if (stage.run(bodies[input]!) !== points) throw new Error(`a batch did not have ${points} points`);
    },
    consume: () => stage.consume(),
    finish: () => JSON.parse(stage.finish()) as Checksum,
    close: () => explainedAsync(() => stage.close()),
  };
}

/** The names of the series of parsed lines, with each of its fields. */
function namesOf({ series, tables }: ParsedLines): readonly SeriesNames[] {
  const fields = tables.flatMap((table) => Object.keys(table.fields));
  return series.flatMap(({ measurement, tags }) => fields.map((field) => ({ measurement, tags, field })));
}
