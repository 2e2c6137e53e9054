/** The machine of a run. */
export interface HostContext {
  readonly os: string;
  readonly arch: string;
  readonly cpu: string;
  /** The kind of CPU, by the numbers of its maker, since many kinds share one name. Absent if the system does not tell. */
  readonly cpuKind?: { readonly family: number; readonly model: number; readonly stepping: number };
  /** The clock of the first core at the start of the run. */
  readonly cpuMhz?: number;
  /** The part of the CPU time since the start of the machine that the hypervisor gave to other machines. */
  readonly stolenPart?: number;
  readonly physicalCores?: number;
  readonly logicalCores: number;
  readonly governor?: string;
  readonly memoryBytes: number;
  /** The limits of the control group in which this process runs, if it has any. */
  readonly cgroup?: { readonly cpus?: number; readonly memoryBytes?: number };
}
