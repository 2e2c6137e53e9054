import { type Checksum, itemsOf } from '../../records/record.js';
import { openNative } from '../native-program.js';
import type { OpenCell } from '../workload.js';
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

/** Opens a cell of the `rust` side. */
export function openNativeRequests(requests: NativeRequests): Promise<OpenCell> {
  return openNative({ kind: 'requests', spec: specOf(requests) }, requests.expected);
}

/** The specification of the cell, as `native/suite/src/requests.rs` reads it. */
function specOf({ planned, server, options }: NativeRequests): object {
  const { cell, setting, client } = planned;
  return {
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
  };
}
