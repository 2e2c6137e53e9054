/** A simulated network in front of the shards, and its measured round trips. */
import { type PrivateDelays, crossing } from '../../crossing-addon.js';
import { toBoundaryError } from '../../errors.js';
import { ShardClient } from '../../library/shards/shard-client.js';
import { shardOf } from '../../library/shards/shard-placing.js';
import type { RoundTrip, SimulatedNetwork } from '../../records/record.js';
import { quantileOfSorted } from '../../stats/quantile.js';
import type { HybridValues } from './options.js';

/** The round trips measured per shard, the time limit in milliseconds, and the least number of trips despite the limit. */
const ROUND_TRIPS = 100;
const MOST_MS = 500;
const LEAST_TRIPS = 5;

const NANOSECONDS_PER_MS = 1e6;

/** The first round trips of a connection, which take longer and are not counted. */
const WARM_UP = 10;

/** Whether there is a network to simulate. */
export function isSimulated({ netDelayUs, netBandwidthMbps }: HybridValues): boolean {
  return netDelayUs > 0 || netBandwidthMbps > 0;
}

/** Shards behind a simulated network. */
export interface SlowShards {
  readonly addresses: readonly string[];
  readonly network: SimulatedNetwork;
  close(): Promise<void>;
}

/** Puts a proxy before each of filled shards, and measures the network without them and with them. */
export async function slowDown(addresses: readonly string[], values: HybridValues): Promise<SlowShards> {
  const { netDelayUs, netBandwidthMbps } = values;
  const megabits = netBandwidthMbps === 0 ? undefined : netBandwidthMbps;
  const plain = await roundTrip(addresses);
  let delays: PrivateDelays | undefined;
  try {
    const hosts = addresses.map((address) => new URL(address).host);
    delays = await crossing.PrivateDelays.start(hosts, netDelayUs, megabits);
    const network: SimulatedNetwork = {
      by: 'proxy',
      delayUs: netDelayUs,
      ...(megabits === undefined ? {} : { megabits }),
      plain,
      delayed: await roundTrip(delays.urls),
    };
    return { addresses: delays.urls, network, close: async () => delays?.stop() };
  } catch (thrown) {
    await delays?.stop();
    throw toBoundaryError(thrown);
  }
}

/** The times of a `Get` of one row over all shards, in nanoseconds: the shortest call there is. */
export async function roundTrip(addresses: readonly string[]): Promise<RoundTrip> {
  await using client = await ShardClient.connect(addresses);
  const times: number[] = [];
  for (let shard = 0; shard < addresses.length; shard += 1) {
    let key = 0;
    while (shardOf(key, addresses.length) !== shard) key += 1;
    const end = performance.now() + MOST_MS;
    for (let trip = -WARM_UP; trip < ROUND_TRIPS; trip += 1) {
      if (trip >= LEAST_TRIPS && performance.now() > end) break;
      const started = performance.now();
      await client.get(key);
      if (trip >= 0) times.push((performance.now() - started) * NANOSECONDS_PER_MS);
    }
  }
  const sorted = Float64Array.from(times).toSorted();
  const at = (part: number): number => Math.round(quantileOfSorted(sorted, part));
  return { p50: at(0.5), p99: at(0.99) };
}
