import { type ProcessCpu, cpuOfProcess } from '../../host/process-cpu.js';
import type { Checksum } from '../../records/record.js';
import type { OpenCell, Stopwatch } from '../workload.js';
import { type Load, type Requester, runLoad } from './load.js';

/** A cell of the sides `napi` and `js`: connected, with everything there that its requests need. */
export interface LoadCell {
  /** One a thread, each with a connection of its own. */
  readonly requesters: readonly Requester[];
  readonly load: Load;
  /** The servers' processes, where they are known and on this machine. */
  readonly serverProcesses: readonly number[];
  /** What every sample must return. */
  readonly expected: Checksum;
  /** Untimed, before each sample: begins its sums anew, empties what it writes to. */
  prepare?(signal: AbortSignal): void | Promise<void>;
  /** Untimed, after each sample: what the requests read, or for writes what is found now. */
  checksum(signal: AbortSignal): Checksum | Promise<Checksum>;
  /** Removes what is the cell's on the server, and closes its connections. */
  close(): Promise<void>;
}

/** The cell as the runner takes it. Timed is the load alone, from the common start to the last answer consumed. */
export function openLoadCell(cell: LoadCell): OpenCell {
  return {
    expected: cell.expected,
    sample: async (stopwatch, signal) => {
      await cell.prepare?.(signal);
      await timeLoad(cell, stopwatch, signal);
      return cell.checksum(signal);
    },
    close: () => cell.close(),
  };
}

async function timeLoad(
  { requesters, load, serverProcesses }: LoadCell,
  stopwatch: Stopwatch,
  signal: AbortSignal,
): Promise<void> {
  const serverCpu = (): ProcessCpu | undefined => cpuOfProcesses(serverProcesses);
  const before = serverCpu();
  stopwatch.start();
  const { latency, behind } = await runLoad(requesters, load, signal);
  stopwatch.stop();
  const after = serverCpu();
  stopwatch.addRequests({
    latency: latency.toBase64(),
    ...(behind === undefined ? {} : { behind: behind.toBase64() }),
    ...(before === undefined || after === undefined
      ? {}
      : {
          serverCpuUserSeconds: Math.max(0, after.user - before.user),
          serverCpuSystemSeconds: Math.max(0, after.system - before.system),
        }),
  });
}

/** The CPU time of all; `undefined` where there is none, or one of them is not to be seen. */
function cpuOfProcesses(processIds: readonly number[]): ProcessCpu | undefined {
  let sum: ProcessCpu | undefined;
  for (const id of processIds) {
    const cpu = cpuOfProcess(id);
    if (cpu === undefined) return undefined;
    sum = { user: (sum?.user ?? 0) + cpu.user, system: (sum?.system ?? 0) + cpu.system };
  }
  return sum;
}
