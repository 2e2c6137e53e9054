/** Cells of the side `rust`: the program `boundary-bench-native` does their work, in a process without JavaScript. */
import { nativeEnvironment, nativeFile } from '../binaries.js';
import type { Checksum } from '../records/record.js';
import type { WebAbortSignal } from '../platform-types.js';
import { RunningProgram } from './running-program.js';
import type { NativeTiming, OpenCell, RequestMeasures } from './workload.js';

/** The time that the program has to remove what its cell has made, in milliseconds. */
const GRACE_MS = 60_000;

/** The cell that the program is to open, as `native/suite/src/program/cell.rs` reads it. */
export type NativeInput =
  | {
      readonly kind: 'engine';
      readonly uri: string;
      /** The engine over the transport by which tables are loaded; absent: the same. */
      readonly loadUri?: string;
      /** Whether other processes read the tables, too. They are then loaded if they are missing, and kept. */
      readonly isShared: boolean;
      readonly spec: object;
    }
  | { readonly kind: 'requests' | 'inProcess' | 'ingest' | 'soak'; readonly spec: object };

/** A sample as the program returns it. */
interface NativeSample extends NativeTiming, RequestMeasures {
  readonly type: 'sample';
  readonly checksum: Checksum;
}

/** Starts the program, and opens a cell. Throws the error of the cell. */
export function startNative(input: NativeInput, signal?: WebAbortSignal): Promise<RunningProgram> {
  return RunningProgram.start({
    program: nativeFile(),
    arguments: [],
    env: nativeEnvironment(),
    opening: { input },
    graceMs: GRACE_MS,
    ...(signal && { signal }),
  });
}

/** Opens a cell of the side `rust`. `repeats`: its calls are counted. The event loop is idle while the program works. */
export async function openNative(input: NativeInput, expected: Checksum, repeats = false): Promise<OpenCell> {
  const running = await startNative(input);
  return {
    expected,
    ...(repeats && { repeats }),
    async sample(stopwatch, signal, times = 1) {
      if (stopwatch.ready !== undefined) {
        await running.prepare(signal);
        await stopwatch.ready();
      }
      const sample = (await running.sample(times, signal)) as NativeSample;
      const { type: _, checksum, latency, behind, serverCpuUserSeconds, serverCpuSystemSeconds, ...timing } = sample;
      stopwatch.add(timing);
      if (input.kind === 'requests') {
        stopwatch.addRequests({
          ...(latency === undefined ? {} : { latency }),
          ...(behind === undefined ? {} : { behind }),
          ...(serverCpuUserSeconds === undefined ? {} : { serverCpuUserSeconds }),
          ...(serverCpuSystemSeconds === undefined ? {} : { serverCpuSystemSeconds }),
        });
      }
      return checksum;
    },
    async verify(_stopwatch, signal) {
      await running.result(signal);
    },
    close: () => running.close(),
  };
}
