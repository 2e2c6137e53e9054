import type { HostContext } from '../records/host.js';

/**
 * The relative difference in memory that is ignored: equal machines report slightly different sizes, by what the firmware
 * reserves.
 */
const MEMORY_TOLERANCE = 0.1;

/**
 * The differences between two hosts that make their times incomparable, one phrase each. Empty if they are alike. The release of an
 * operating system's kernel counts too.
 */
export function hardwareDifferences(a: HostContext, b: HostContext): string[] {
  const differences: string[] = [];
  const require = (same: boolean, what: string, left: unknown, right: unknown): void => {
    if (!same) differences.push(`${what}: ${left ?? 'none'} and ${right ?? 'none'}`);
  };
  require(a.os.trim() === b.os.trim(), 'operating system', a.os, b.os);
  require(a.arch === b.arch, 'architecture', a.arch, b.arch);
  require(a.cpu === b.cpu, 'CPU', a.cpu, b.cpu);
  if (a.cpuKind !== undefined && b.cpuKind !== undefined) {
    require(kindOf(a.cpuKind) === kindOf(b.cpuKind), 'kind of CPU', kindOf(a.cpuKind), kindOf(b.cpuKind));
  }
  require(a.logicalCores === b.logicalCores, 'logical cores', a.logicalCores, b.logicalCores);
  require(isRoughly(a.memoryBytes, b.memoryBytes), 'memory in bytes', a.memoryBytes, b.memoryBytes);
  require(a.cgroup?.cpus === b.cgroup?.cpus, 'CPU limit', a.cgroup?.cpus, b.cgroup?.cpus);
  require(isRoughly(a.cgroup?.memoryBytes ?? 0, b.cgroup?.memoryBytes ?? 0), 'memory limit in bytes', a.cgroup
    ?.memoryBytes, b.cgroup?.memoryBytes);
  return differences;
}

/** The family, model and stepping of a CPU: many kinds of different speed share one name. */
function kindOf({ family, model, stepping }: NonNullable<HostContext['cpuKind']>): string {
  return `family ${family}, model ${model}, stepping ${stepping}`;
}

function isRoughly(a: number, b: number): boolean {
  return Math.abs(a - b) <= MEMORY_TOLERANCE * Math.max(a, b);
}
