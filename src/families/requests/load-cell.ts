import { type ProcessCpu, cpuOfProcess } from '../../host/process-cpu.js';
import type { Checksum } from '../../records/record.js';
import type { OpenCell, Stopwatch } from '../workload.js';
import { type PlannedRequests, requestsOf } from './grid.js';
import { type Load, type Requester, runLoad } from './load.js';
import type { TargetServer } from './target-server.js';

/** A cell of the sides `napi` and `js`: connected, with all data that its requests need. */
export interface LoadCell {
  /** One requester per connection of the load. */
  readonly requesters: readonly Requester[];
  readonly load: Load;
  /** The ids of the servers' processes, if they are known and on this machine. */
  readonly serverProcesses: readonly number[];
  /** The checksum that every sample must return. */
  readonly expected: Checksum;
  /** Prepares a sample, untimed: resets its sums, empties the places that it writes to. */
  prepare?(signal: AbortSignal): void | Promise<void>;
  /** The checksum after a sample, untimed: of the values that requests read or, for writes, of the rows now on the server. */
  checksum(signal: AbortSignal): Checksum | Promise<Checksum>;
  /**
   * Has the load sent once more, after `prepare`, and checks each answer by itself, or what a writer has stored. Throws a
   * `BoundaryError` for the first that is wrong.
   */
  verify?(send: () => Promise<void>, signal: AbortSignal): Promise<void>;
  /** Removes the cell's data from the server, and closes its connections. */
  close(): Promise<void>;
}

/** The cell for the runner. Only the load is timed, from the common start to the last response consumed. */
export function openLoadCell(cell: LoadCell): OpenCell {
  return {
    expected: cell.expected,
    sample: async (stopwatch, signal) => {
      await cell.prepare?.(signal);
      await timeLoad(cell, stopwatch, signal);
      return cell.checksum(signal);
    },
    ...(cell.verify === undefined
      ? {}
      : {
          verify: async (_stopwatch: Stopwatch, signal: AbortSignal): Promise<void> => {
            await cell.prepare?.(signal);
            const send = async (): Promise<void> => {
              await runLoad(cell.requesters, { requests: cell.load.requests }, signal);
            };
            await cell.verify!(send, signal);
          },
        }),
    close: () => cell.close(),
  };
}

/** A cell over a server, whose requesters are opened for its connections. */
export interface RequestCell<R extends Requester> extends Omit<
  LoadCell,
  'requesters' | 'load' | 'serverProcesses' | 'verify' | 'close'
> {
  openRequester(index: number): R | Promise<R>;
  /** Like `LoadCell.verify`. */
  verify?(send: () => Promise<void>, signal: AbortSignal, requesters: readonly R[]): Promise<void>;
  /** Gives back what the cell has beside its requesters, after they are closed, and also if one of them can't be opened. */
  close?(): Promise<void>;
}

/** The settings with one client for all callers, which sends the requests of a turn of the event loop together. */
const ONE_FOR_ALL: ReadonlySet<string> = new Set(['auto', 'shared']);

/** Opens the requesters of a cell, one per connection or one for all, and the cell over them. */
export async function openRequestCell<R extends Requester>(
  { cell, setting = '' }: PlannedRequests,
  { processIds }: TargetServer,
  { openRequester, verify, close: closeRest, ...rest }: RequestCell<R>,
): Promise<OpenCell> {
  const count = ONE_FOR_ALL.has(setting) ? 1 : cell.connections;
  const requesters: R[] = [];
  const close = async (): Promise<void> => {
    await Promise.allSettled(requesters.map((requester) => requester.close?.()));
    await closeRest?.();
  };
  try {
    while (requesters.length < count) requesters.push(await openRequester(requesters.length));
  } catch (thrown) {
    // The first error is the more useful one.
    await close().catch(() => {});
    throw thrown;
  }
  return openLoadCell({
    ...rest,
    requesters: Array.from({ length: cell.connections }, (_, index) => requesters[index % count]!),
    load: { requests: cell.requests ?? requestsOf(cell), rate: cell.rate },
    serverProcesses: processIds,
    ...(verify && { verify: (send, signal) => verify(send, signal, requesters) }),
    close,
  });
}

async function timeLoad(
  { requesters, load, serverProcesses }: LoadCell,
  stopwatch: Stopwatch,
  signal: AbortSignal,
): Promise<void> {
  const serverCpu = (): ProcessCpu | undefined => cpuOfProcesses(serverProcesses);
  await stopwatch.ready?.();
  const before = serverCpu();
  stopwatch.start();
  const { latency, behind, idleSeconds } = await runLoad(requesters, load, signal);
  stopwatch.stop();
  const after = serverCpu();
  stopwatch.addRequests({
    latency: latency.toBase64(),
    ...(behind === undefined ? {} : { behind: behind.toBase64() }),
    ...(idleSeconds === undefined ? {} : { idleSeconds }),
    ...(before === undefined || after === undefined
      ? {}
      : {
          serverCpuUserSeconds: Math.max(0, after.user - before.user),
          serverCpuSystemSeconds: Math.max(0, after.system - before.system),
        }),
  });
  await stopwatch.ended?.();
}

/** The CPU time of all processes; `undefined` if there is none, or one of them can't be read. */
function cpuOfProcesses(processIds: readonly number[]): ProcessCpu | undefined {
  let sum: ProcessCpu | undefined;
  for (const id of processIds) {
    const cpu = cpuOfProcess(id);
    if (cpu === undefined) return undefined;
    sum = { user: (sum?.user ?? 0) + cpu.user, system: (sum?.system ?? 0) + cpu.system };
  }
  return sum;
}
