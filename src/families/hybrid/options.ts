/** What the user says of the shards, by options of the command line or by variables. */
import { BoundaryError } from '../../errors.js';
import type { FamilyOptions } from '../workload.js';
import { HYBRID_MATRIX } from './data.js';

/** The folder of shards that keep their rows on the disk. */
export const DATA_DIR_VARIABLE = 'HYBRID_DATA_DIR';

/** `1`: use the rows that are there, and fail where they are others. */
export const SKIP_POPULATE_VARIABLE = 'HYBRID_SKIP_POPULATE';

/** A second: on earth nothing is farther. */
const MOST_DELAY_US = 1_000_000;

/** Who simulates a network: the kernel where it can and the shards are ours, else a proxy; or one of them alone. */
const NETWORKS = ['auto', 'kernel', 'proxy'] as const;

export type NetworkBy = (typeof NETWORKS)[number];

/** What stands in the configuration of a run, since it changes what is measured. */
export interface HybridSettings {
  /** The part of 75 million rows. */
  readonly scale: number;
  /** How much later everything arrives that goes to or comes from a shard, in microseconds; 0: nothing is delayed. */
  readonly netDelayUs: number;
  /** The megabits a second in each direction; 0: as many as there are. */
  readonly netBandwidthMbps: number;
  readonly netBy: NetworkBy;
}

/** The variables that say what no option does. */
const VARIABLES: Readonly<Record<keyof HybridSettings, string>> = {
  scale: 'HYBRID_SCALE',
  netDelayUs: 'HYBRID_NET_DELAY_US',
  netBandwidthMbps: 'HYBRID_NET_BANDWIDTH_MBPS',
  netBy: 'HYBRID_NET_BY',
};

export const DEFAULT_SETTINGS: HybridSettings = {
  scale: HYBRID_MATRIX.scale,
  netDelayUs: 0,
  netBandwidthMbps: 0,
  netBy: 'auto',
};

/** The settings that variables give. Throws `BB_USAGE` for those that are none. */
export function settingsOfVariables(): Partial<HybridSettings> {
  const given = Object.entries(VARIABLES).flatMap(([name, variable]) => {
    const text = process.env[variable];
    return text === undefined || text === '' ? [] : [[name, name === 'netBy' ? text : Number(text)] as const];
  });
  const settings = Object.fromEntries(given) as Partial<HybridSettings>;
  check({ ...DEFAULT_SETTINGS, ...settings });
  return settings;
}

/** All settings of a run. Throws `BB_USAGE` for those that are none. */
export function settingsOf({ settings }: Pick<FamilyOptions, 'settings'>): HybridSettings {
  const all = { ...DEFAULT_SETTINGS, ...settingsOfVariables(), ...settings } as HybridSettings;
  check(all);
  return all;
}

function check({ scale, netDelayUs, netBandwidthMbps, netBy }: HybridSettings): void {
  const rows = totalRows({ scale });
  if (!(Number.isSafeInteger(rows) && rows >= 1)) {
    throw new BoundaryError('BB_USAGE', `the scale of hybrid must be a number above 0, such as 0.01, not ${scale}`);
  }
  if (!(Number.isInteger(netDelayUs) && netDelayUs >= 0 && netDelayUs <= MOST_DELAY_US)) {
    const range = `an integer of 0 to ${MOST_DELAY_US}`;
    throw new BoundaryError('BB_USAGE', `netDelayUs of hybrid must be ${range}, not ${netDelayUs}`);
  }
  if (!(Number.isFinite(netBandwidthMbps) && netBandwidthMbps >= 0)) {
    const wrong = `netBandwidthMbps of hybrid must be a number of 0 or more, not ${netBandwidthMbps}`;
    throw new BoundaryError('BB_USAGE', wrong);
  }
  if (!NETWORKS.includes(netBy)) {
    throw new BoundaryError('BB_USAGE', `netBy of hybrid must be one of ${NETWORKS.join(', ')}, not ${netBy}`);
  }
}

/** The rows of all shards together. */
export function totalRows({ scale }: Pick<HybridSettings, 'scale'>): number {
  return Math.round(HYBRID_MATRIX.rowsAtScale1 * scale);
}

/** Where shards keep their rows on the disk; `undefined`: in memory. */
export function dataDir(): string | undefined {
  const folder = process.env[DATA_DIR_VARIABLE];
  return folder === '' ? undefined : folder;
}

export function skipsPopulate(): boolean {
  return process.env[SKIP_POPULATE_VARIABLE] === '1';
}
