import { addon } from '../../addon.js';
import { explainedAsync } from '../../errors.js';
import { type Checksum, itemsOf } from '../../records/record.js';
import { untilAborted } from '../../library/crossing/cancellation.js';
import type { NativeTiming, OpenCell, RequestMeasures } from '../workload.js';
import type { PlannedRequests } from './grid.js';
import type { TargetServer } from './target-server.js';

/** The input of the Rust side of a family. */
export interface NativeRequests {
  readonly planned: PlannedRequests;
  readonly server: TargetServer;
  /** The checksum that every sample must return. */
  readonly expected: Checksum;
  /** Further options of the family's cells, such as the size of a value. */
  readonly options?: Readonly<Record<string, unknown>>;
}

/** A sample as the native suite returns it. */
interface NativeSample extends NativeTiming, RequestMeasures {
  readonly checksum: Checksum;
}

/** Opens a cell of the `rust` side. The addon only starts it, and the event loop is idle in the meantime. */
export async function openNativeRequests(requests: NativeRequests): Promise<OpenCell> {
  const native = await explainedAsync(() => addon.NativeRequests.open(specOf(requests)));
  return {
    expected: requests.expected,
    sample: async (stopwatch, signal) => {
      if (stopwatch.ready !== undefined) {
        await untilAborted(signal, (cancel) => native.prepare(cancel));
        await stopwatch.ready();
      }
      const sample = JSON.parse(await untilAborted(signal, (cancel) => native.sample(cancel))) as NativeSample;
      const { checksum, latency, behind, serverCpuUserSeconds, serverCpuSystemSeconds, ...timing } = sample;
      stopwatch.add(timing);
      stopwatch.addRequests({
        ...(latency === undefined ? {} : { latency }),
        ...(behind === undefined ? {} : { behind }),
        ...(serverCpuUserSeconds === undefined ? {} : { serverCpuUserSeconds }),
        ...(serverCpuSystemSeconds === undefined ? {} : { serverCpuSystemSeconds }),
      });
      return checksum;
    },
    verify: (_stopwatch, signal) => untilAborted(signal, (cancel) => native.verify(cancel)),
    close: () => explainedAsync(() => native.close()),
  };
}

/** The specification of the cell, as `native/suite/src/requests.rs` reads it. */
function specOf({ planned, server, options }: NativeRequests): string {
  const { cell, setting, client } = planned;
  return JSON.stringify({
    family: cell.family,
    workload: cell.workload,
    lane: cell.lane,
    setting,
    driver: cell.driver,
    client,
    url: server.url,
    connections: cell.connections,
    batch: cell.batch,
    operations: itemsOf(cell),
    rate: cell.rate,
    prefix: server.newPrefix(),
    serverProcesses: server.processIds,
    options,
  });
}
