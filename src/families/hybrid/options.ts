/** The user's settings for the shards, by command line options or by environment variables. */
import { BoundaryError } from '../../errors.js';
import type { FamilyOptions } from '../workload.js';
import { HYBRID_MATRIX } from './data.js';

/** The variable of the folder in which shards keep their rows on disk. */
export const DATA_DIR_VARIABLE = 'HYBRID_DATA_DIR';

/** The variable that, set to `1`, reuses existing rows, and fails if they are not the expected ones. */
export const SKIP_POPULATE_VARIABLE = 'HYBRID_SKIP_POPULATE';

/** The highest delay in microseconds, a second: above any round trip on earth. */
const MOST_DELAY_US = 1_000_000;

/** What simulates a network. `auto`: the kernel, if it can and we start the shards, else a proxy. */
const NETWORKS = ['auto', 'kernel', 'proxy'] as const;

export type NetworkBy = (typeof NETWORKS)[number];

/** The settings that change what is measured, and are recorded in the configuration of a run. */
export interface HybridSettings {
  /** The fraction of 75 million rows. */
  readonly scale: number;
  /** The delay in microseconds of all data to and from a shard; 0: no delay. */
  readonly netDelayUs: number;
  /** The bandwidth in megabits per second in each direction; 0: unlimited. */
  readonly netBandwidthMbps: number;
  readonly netBy: NetworkBy;
}

/** The environment variables of settings that have no option. */
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

/** The settings given by environment variables. Throws `BB_USAGE` for invalid ones. */
export function settingsOfVariables(): Partial<HybridSettings> {
  const given = Object.entries(VARIABLES).flatMap(([name, variable]) => {
    const text = process.env[variable];
    return text === undefined || text === '' ? [] : [[name, name === 'netBy' ? text : Number(text)] as const];
  });
  const settings = Object.fromEntries(given) as Partial<HybridSettings>;
  check({ ...DEFAULT_SETTINGS, ...settings });
  return settings;
}

/** All settings of a run. Throws `BB_USAGE` for invalid ones. */
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

/** The folder in which shards keep their rows on disk; `undefined`: in memory. */
export function dataDir(): string | undefined {
  const folder = process.env[DATA_DIR_VARIABLE];
  return folder === '' ? undefined : folder;
}

export function skipsPopulate(): boolean {
  return process.env[SKIP_POPULATE_VARIABLE] === '1';
}
