import type { RoundTrip, SimulatedNetwork } from '../records/record.js';
import { formatLatency } from './format.js';

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
