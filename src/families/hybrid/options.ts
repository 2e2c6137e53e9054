import { type FilledValues, type OptionTable, option } from '../option.js';
import { type MustBe, kinds } from '../option-values.js';
import { HYBRID_MATRIX } from './data.js';

/** A second: on earth nothing is farther. */
const MOST_DELAY_US = 1_000_000;

const called = (calledAs: string) => ({ calledAs: `${calledAs} of hybrid`, code: 'BB_USAGE' });

/** The options of the family `hybrid` alone. */
export const HYBRID_OPTIONS = {
  scale: option('--scale <n>', kinds.scale, 'of hybrid: the part of 75 million rows', {
    ...called('the scale'),
    default: HYBRID_MATRIX.scale,
    variable: 'HYBRID_SCALE',
    check: (scale: number, mustBe: MustBe) => {
      const rows = totalRows({ scale });
      if (!(Number.isSafeInteger(rows) && rows >= 1)) mustBe('a number above 0, such as 0.01', scale);
    },
  }),
  dataDir: option('--data-dir <path>', kinds.path, 'of hybrid: where private shards keep their rows', {
    otherwise: 'memory',
    variable: 'HYBRID_DATA_DIR',
  }),
  skipPopulate: option(
    '--skip-populate',
    kinds.flag,
    'of hybrid: use the rows that are there, once they are checked to be those of this scale',
    { variable: 'HYBRID_SKIP_POPULATE' },
  ),
  netDelayUs: option('--net-delay-us <n>', kinds.amount, 'of hybrid: delay gRPC so many microseconds each way', {
    ...called('netDelayUs'),
    default: 0,
    variable: 'HYBRID_NET_DELAY_US',
    check: (delay: number, mustBe: MustBe) => {
      const isRight = Number.isInteger(delay) && delay >= 0 && delay <= MOST_DELAY_US;
      if (!isRight) mustBe(`an integer of 0 to ${MOST_DELAY_US}`, delay);
    },
  }),
  netBandwidthMbps: option(
    '--net-bandwidth-mbps <n>',
    kinds.amount,
    'of hybrid: megabits a second each way, of a shard or a connection; 0 for as many as there are',
    { ...called('netBandwidthMbps'), default: 0, variable: 'HYBRID_NET_BANDWIDTH_MBPS' },
  ),
  netBy: option('--net-by <who>', kinds.text, 'of hybrid: who does both: the kernel (netem, as root), else a proxy', {
    ...called('netBy'),
    choices: ['auto', 'kernel', 'proxy'],
    default: 'auto',
    variable: 'HYBRID_NET_BY',
  }),
} satisfies OptionTable;

export type HybridValues = FilledValues<typeof HYBRID_OPTIONS>;

/** The rows of all shards together. */
export function totalRows({ scale }: Pick<HybridValues, 'scale'>): number {
  return Math.round(HYBRID_MATRIX.rowsAtScale1 * scale);
}
