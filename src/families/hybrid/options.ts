import type { FilledValues, OptionTable } from '../option.js';
import { HYBRID_MATRIX } from './data.js';

/** A second: on earth nothing is farther. */
const MOST_DELAY_US = 1_000_000;

/** The options of the family `hybrid` alone. */
export const HYBRID_OPTIONS = {
  scale: {
    flag: '--scale <n>',
    type: 'scale',
    help: 'of hybrid: the part of 75 million rows',
    otherwise: String(HYBRID_MATRIX.scale),
    default: HYBRID_MATRIX.scale,
    variable: 'HYBRID_SCALE',
    calledAs: 'the scale of hybrid',
    code: 'BB_USAGE',
    check: (scale: number, mustBe) => {
      const rows = totalRows({ scale });
      if (!(Number.isSafeInteger(rows) && rows >= 1)) mustBe('a number above 0, such as 0.01', scale);
    },
  },
  dataDir: {
    flag: '--data-dir <path>',
    type: 'path',
    help: 'of hybrid: where private shards keep their rows',
    otherwise: 'memory',
    variable: 'HYBRID_DATA_DIR',
  },
  skipPopulate: {
    flag: '--skip-populate',
    type: 'flag',
    help: 'of hybrid: use the rows that are there, once they are checked to be those of this scale',
    variable: 'HYBRID_SKIP_POPULATE',
  },
  netDelayUs: {
    flag: '--net-delay-us <n>',
    type: 'amount',
    help: 'of hybrid: delay gRPC so many microseconds each way',
    otherwise: '0',
    default: 0,
    variable: 'HYBRID_NET_DELAY_US',
    calledAs: 'netDelayUs of hybrid',
    code: 'BB_USAGE',
    check: (delay: number, mustBe) => {
      const isRight = Number.isInteger(delay) && delay >= 0 && delay <= MOST_DELAY_US;
      if (!isRight) mustBe(`an integer of 0 to ${MOST_DELAY_US}`, delay);
    },
  },
  netBandwidthMbps: {
    flag: '--net-bandwidth-mbps <n>',
    type: 'amount',
    help: 'of hybrid: megabits a second each way, of a shard or a connection',
    otherwise: '0, as many as there are',
    default: 0,
    variable: 'HYBRID_NET_BANDWIDTH_MBPS',
    calledAs: 'netBandwidthMbps of hybrid',
    code: 'BB_USAGE',
  },
  netBy: {
    flag: '--net-by <who>',
    type: 'text',
    help: 'of hybrid: who does both: the kernel (netem, as root), else a proxy',
    otherwise: 'auto',
    choices: ['auto', 'kernel', 'proxy'],
    default: 'auto',
    variable: 'HYBRID_NET_BY',
    calledAs: 'netBy of hybrid',
    code: 'BB_USAGE',
  },
} as const satisfies OptionTable;

export type HybridValues = FilledValues<typeof HYBRID_OPTIONS>;

/** The rows of all shards together. */
export function totalRows({ scale }: Pick<HybridValues, 'scale'>): number {
  return Math.round(HYBRID_MATRIX.rowsAtScale1 * scale);
}
