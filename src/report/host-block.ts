import {
  commitText,
  shortHash,
  type RunContext,
  type RoundTrip,
  type SimulatedNetwork,
  type Cell,
} from '../records/record.js';
import type { HostContext } from '../records/host.js';
import { LOOKS } from '../stats/looks.js';
import { formatBytes, formatPercent, formatLatency } from './format.js';

/** The versions that come first, with their labels. The others follow under their own names. */
const NAMED_VERSIONS: readonly (readonly [key: string, label: string])[] = [
  ['rustc', 'Rust'],
  ['node', 'Node.js'],
  ['v8', 'V8'],
];

/** The hardware and software of a run, one line each, in the seeds' order. */
export function hostLines(context: RunContext): string[] {
  const { host, versions, build, git, networks = {} } = context;
  const named = NAMED_VERSIONS.flatMap(([key, label]) => {
    const version = versions[key];
    return version === undefined ? [] : [`${label}: ${version}`];
  });
  const namedKeys = new Set(NAMED_VERSIONS.map(([key]) => key));
  const others = Object.entries(versions).filter(([key]) => !namedKeys.has(key));
  return [
    `OS: ${host.os} (${host.arch})`,
    `CPU: ${host.cpu} (${coresOf(host)})`,
    ...kindOf(host),
    ...(host.stolenPart === undefined
      ? []
      : [`Stolen by other machines since the start: ${formatPercent(host.stolenPart)} of the CPU time`]),
    ...(host.governor === undefined ? [] : [`CPU governor: ${host.governor}`]),
    `Memory: ${formatBytes(host.memoryBytes)}`,
    ...limitsOf(host),
    ...named,
    ...others.map(([name, version]) => `${name}: ${version}`),
    ...Object.values(networks).map(networkText),
    `Build: ${build.profile}, target CPU ${build.targetCpu}, addon ${shortHash(build.addonSha256)}`,
    ...(git === undefined ? [] : [`Commit: ${commitText(git)}`]),
    ...methodOf(context.config),
    `Date: ${context.startedAt}`,
  ];
}

/** How often each cell was measured. */
function methodOf({ forks, slowForks, quick, aa }: RunContext['config']): string[] {
  const rough = quick === true ? '; quick, so rough' : '';
  if (forks === undefined) {
    const looks = `${LOOKS.slice(0, -1).join(', ')} or ${LOOKS.at(-1)}`;
    return [`Method: ${looks} processes per cell, as many as decide its comparisons${rough}`];
  }
  if (typeof forks !== 'number') return [];
  const times = aa === true ? 2 : 1;
  const processes = forks * times === 1 ? '1 process' : `${forks * times} processes`;
  const slow = typeof slowForks === 'number' && slowForks < forks ? `, ${slowForks * times} if a sample is slow` : '';
  return [`Method: ${processes} per cell${slow}${aa === true ? ', as two cells' : ''}${rough}`];
}

/** The kind of a CPU and its clock, which tell CPUs of one name apart. */
function kindOf({ cpuKind, cpuMhz }: HostContext): string[] {
  const parts = [
    ...(cpuKind === undefined
      ? []
      : [`family ${cpuKind.family}, model ${cpuKind.model}, stepping ${cpuKind.stepping}`]),
    ...(cpuMhz === undefined ? [] : [`${Math.round(cpuMhz)} MHz at the start`]),
  ];
  return parts.length === 0 ? [] : [`CPU kind: ${parts.join(', ')}`];
}

function coresOf(host: HostContext): string {
  const logical = `${host.logicalCores} logical cores`;
  return host.physicalCores === undefined ? logical : `${host.physicalCores} physical / ${logical}`;
}

function limitsOf({ cgroup }: HostContext): string[] {
  const limits = [
    ...(cgroup?.cpus === undefined ? [] : [`${cgroup.cpus} CPUs`]),
    ...(cgroup?.memoryBytes === undefined ? [] : [formatBytes(cgroup.memoryBytes)]),
  ];
  return limits.length === 0 ? [] : [`Limited to: ${limits.join(', ')}`];
}

const MAKERS: Readonly<Record<SimulatedNetwork['by'], string>> = {
  proxy: 'a proxy before each server',
  kernel: 'the kernel (netem, each server in a network namespace of its own)',
};

/** The description of a simulated network, requested and measured: a sentence without its full stop. */
export function networkText({ by, delayUs, megabits, plain, delayed }: SimulatedNetwork): string {
  const bandwidth = megabits === undefined ? '' : ` and ${megabits} Mbit/s`;
  return (
    `Simulated network: ${delayUs} µs${bandwidth} each way by ${MAKERS[by]}; a call of one row took ` +
    `${tripText(plain)} before and ${tripText(delayed)} with it: ${formatLatency(delayed.p50 - plain.p50)} a round trip ` +
    `were added in the median, ${delayUs * 2} µs were asked for`
  );
}

function tripText({ p50, p99 }: RoundTrip): string {
  return `${formatLatency(p50)} (p99 ${formatLatency(p99)})`;
}

const CRATE = 'crate ';

/** The line of the clients of some cells: `Clients: ioredis 6.0.0, crate redis 1.8.1.` None if all clients are our own. */
export function clientLines(cells: readonly Cell[], { versions }: Pick<RunContext, 'versions'>): string[] {
  const clients = Object.entries(versions).filter(([name]) => cells.some((cell) => isOfClient(cell, name)));
  return clients.length === 0 ? [] : [`Clients: ${clients.map((client) => client.join(' ')).join(', ')}.`];
}

/** Whether a cell has a client, or a crate, in its variant or in the part of its id after its engine. */
function isOfClient({ id, side, variant, engine }: Cell, name: string): boolean {
  const isCrate = name.startsWith(CRATE);
  const [, ...dimensions] = id.split(`/${engine}/`);
  const words = [...variant.split(/[ ,()]+/), ...dimensions.join('/').split('/')];
  return isCrate === (side === 'rust') && words.includes(isCrate ? name.slice(CRATE.length) : name);
}
