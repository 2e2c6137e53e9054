/** What the user says of the shards, by options of the command line, which set these variables, or by the variables. */
import { BoundaryError } from '../../errors.js';
import { HYBRID_MATRIX } from './data.js';

/** The part of 75 million rows. */
export const SCALE_VARIABLE = 'HYBRID_SCALE';

/** The folder of shards that keep their rows on the disk. */
export const DATA_DIR_VARIABLE = 'HYBRID_DATA_DIR';

/** `1`: use the rows that are there, and fail where they are others. */
export const SKIP_POPULATE_VARIABLE = 'HYBRID_SKIP_POPULATE';

/** The rows of all shards together. */
export function totalRows(): number {
  const text = process.env[SCALE_VARIABLE];
  const scale = text === undefined || text === '' ? HYBRID_MATRIX.scale : Number(text);
  const rows = Math.round(HYBRID_MATRIX.rowsAtScale1 * scale);
  if (Number.isSafeInteger(rows) && rows >= 1) return rows;
  throw new BoundaryError('BB_USAGE', `the scale of hybrid must be a number above 0, such as 0.01, not ${text}`);
}

/** Where shards keep their rows on the disk; `undefined`: in memory. */
export function dataDir(): string | undefined {
  const folder = process.env[DATA_DIR_VARIABLE];
  return folder === '' ? undefined : folder;
}

export function skipsPopulate(): boolean {
  return process.env[SKIP_POPULATE_VARIABLE] === '1';
}

/** How much later everything arrives that goes to or comes from a server, in microseconds; 0: nothing is delayed. */
export const NET_DELAY_VARIABLE = 'HYBRID_NET_DELAY_US';

/** The megabits a second of a connection, in each direction. */
export const NET_BANDWIDTH_VARIABLE = 'HYBRID_NET_BANDWIDTH_MBPS';

/** A network to be simulated. */
export interface Network {
  readonly delayUs: number;
  readonly megabits: number | undefined;
}

/** `undefined`: the network is as it is. */
export function simulatedNetwork(): Network | undefined {
  const delayUs = amountOf(NET_DELAY_VARIABLE) ?? 0;
  const megabits = amountOf(NET_BANDWIDTH_VARIABLE);
  return delayUs === 0 && megabits === undefined ? undefined : { delayUs: Math.round(delayUs), megabits };
}

function amountOf(name: string): number | undefined {
  const text = process.env[name];
  if (text === undefined || text === '') return undefined;
  const amount = Number(text);
  if (Number.isFinite(amount) && amount >= 0) return amount;
  throw new BoundaryError('BB_USAGE', `${name} must be a number, not ${text}`);
}
