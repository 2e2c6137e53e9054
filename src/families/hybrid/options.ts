import { type FilledValues, type OptionTable, option } from '../option.js';
import { amount, flag, path, scale, isCount, passing } from '../option-values.js';
import { HYBRID_MATRIX } from './data.js';

/** A second: on earth nothing is farther. */
const MOST_DELAY_US = 1_000_000;

const called = (calledAs: string) => ({ calledAs: `${calledAs} of hybrid`, code: 'BB_USAGE' });

const DATA_DIR = { otherwise: 'memory', variable: 'HYBRID_DATA_DIR' };
const ABOUT_SKIPPING = 'of hybrid: use the rows that are there, once they are checked to be rows of this scale';

/** The options of the family `hybrid` alone. */
export const HYBRID_OPTIONS = {
  scale: option('--scale <n>', scale, 'of hybrid: the part of 75 million rows', {
    ...called('the scale'),
    default: HYBRID_MATRIX.scale,
    variable: 'HYBRID_SCALE',
    check: passing('a number above 0, such as 0.01', (given: number) => isCount(totalRows({ scale: given }))),
  }),
  dataDir: option('--data-dir <path>', path, 'of hybrid: where private shards keep their rows', DATA_DIR),
  skipPopulate: option('--skip-populate', flag, ABOUT_SKIPPING, { variable: 'HYBRID_SKIP_POPULATE' }),
  netDelayUs: option('--net-delay-us <n>', amount, 'of hybrid: microseconds by which gRPC is delayed each way', {
    ...called('netDelayUs'),
    default: 0,
    variable: 'HYBRID_NET_DELAY_US',
    check: passing(
      `an integer of 0 to ${MOST_DELAY_US}`,
      (delay: number) => delay === 0 || (isCount(delay) && delay <= MOST_DELAY_US),
    ),
  }),
  netBandwidthMbps: option(
    '--net-bandwidth-mbps <n>',
    amount,
    'of hybrid: megabits per second each way of a connection; 0 for as many as there are',
    { ...called('netBandwidthMbps'), default: 0, variable: 'HYBRID_NET_BANDWIDTH_MBPS' },
  ),
} satisfies OptionTable;

export type HybridValues = FilledValues<typeof HYBRID_OPTIONS>;

/** The rows of all shards together. */
export function totalRows({ scale: part }: { readonly scale: number }): number {
  return Math.round(HYBRID_MATRIX.rowsAtScale1 * part);
}
