/** The shards of a run: as processes or at the user's addresses, and a copy of the rows in this process for the setting `direct`. */
import { join } from 'node:path';

import { type PrivateShards, crossing } from '../../crossing-addon.js';
import { explainedAsync, invalidArgument } from '../../errors.js';
import { ShardClient } from '../../library/shards/shard-client.js';
import { ShardStore } from '../../library/shards/shard-store.js';
import type { SimulatedNetwork } from '../../records/record.js';
import type { PlannedRequests } from '../requests/grid.js';
import { type TargetServer, targetUrl } from '../requests/target-server.js';
import type { SharedServer } from '../workload.js';
import { HYBRID_MATRIX, type Setting } from './data.js';
import { checkMemory, restoreBlanks } from './input.js';
import { type SlowShards, isSimulated, slowDown } from './network.js';
import { type HybridValues, totalRows } from './options.js';

/** The shards as a cell uses them. */
export interface HybridServer extends TargetServer {
  /** The places of the shards, in their order. */
  readonly places: readonly (string | ShardStore)[];
  /** The shards that a cell of the side `rust` opens itself. */
  readonly stores: readonly OwnStore[];
  /** The server with the places of a setting. The URL names the same places. */
  inSetting(setting: Setting): HybridServer;
}

/** A shard that is in the process of a cell of the side `rust`. */
interface OwnStore {
  readonly shard: number;
  readonly shards: number;
  /** The folder of its rows; absent: it makes them in memory. */
  readonly folder?: string;
}

/** The place of a shard that another process opens. */
const ELSEWHERE = 'local:';

/** The folder of the direct shards, beside the folders of the shard processes, which lock theirs. */
const DIRECT_FOLDER = 'direct';

/**
 * Starts the shards or connects to them, and fills those that are not filled yet. `shared`: another process has
 * done so, with the network in front of them.
 */
export async function openHybridServer(
  engines: Readonly<Record<string, string>>,
  cells: readonly PlannedRequests[],
  values: HybridValues,
  shared?: SharedServer,
): Promise<HybridServer> {
  const direct = cells.filter(({ skip, setting }) => skip === undefined && setting !== 'grpc');
  // The program of the side `rust` opens its stores itself. Those on the disk are filled here.
  const isForNode = direct.some(({ cell }) => cell.side !== 'rust');
  const isOpenedHere = isForNode || (direct.length > 0 && values.dataDir !== undefined);
  const url = targetUrl('shards', engines);
  const total = totalRows(values);
  // The memory of all copies is checked together, before the first is made.
  if (values.dataDir === undefined) checkMemory(total * (Number(url === undefined) + Number(direct.length > 0)));
  const ours = url === undefined ? await startShards(values) : undefined;
  const stores: ShardStore[] = [];
  let slow: SlowShards | undefined;
  const close = async (): Promise<void> => {
    for (const store of stores) store.close();
    try {
      await slow?.close();
    } finally {
      await ours?.stop();
    }
  };
  try {
    const addresses = ours?.urls ?? url!.split(',');
    await fill(addresses, values, ours !== undefined);
    if (isOpenedHere) {
      for (const shard of addresses.keys()) stores.push(await openStore(values, shard, addresses.length));
      await fill(stores, values, true);
      if (!isForNode) closeAll(stores);
    }
    // Filled without the delay, which applies only to measured requests.
    if (shared === undefined && isSimulated(values)) slow = await slowDown(addresses, values);
    const { processIds = [], isPrivate = false } = shared ?? {
      processIds: ours?.processIds,
      isPrivate: ours !== undefined,
    };
    const shards = { ours, values, network: slow?.network, processIds, isPrivate };
    return hybridServer(slow?.addresses ?? addresses, stores, shards, close);
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

function startShards({ dataDir }: HybridValues): Promise<PrivateShards> {
  return explainedAsync(() => crossing.PrivateShards.start(HYBRID_MATRIX.shards, dataDir));
}

function openStore(values: HybridValues, shard: number, shards: number): Promise<ShardStore> {
  const folder = folderOf(values, shard);
  return folder === undefined ? Promise.resolve(ShardStore.inMemory()) : ShardStore.open(folder, shard, shards);
}

/** The folder of a direct shard. `undefined` for one in memory. */
function folderOf({ dataDir }: HybridValues, shard: number): string | undefined {
  return dataDir === undefined ? undefined : join(dataDir, DIRECT_FOLDER, `shard_${shard}`);
}

/** Closes all stores, and takes them off the list. */
function closeAll(stores: ShardStore[]): void {
  stores.splice(0).forEach((store) => store.close());
}

/** Fills the shards, unless they hold the rows of this scale already. */
async function fill(places: readonly (string | ShardStore)[], values: HybridValues, isOurs: boolean): Promise<void> {
  const total = totalRows(values);
  await using client = await ShardClient.connect(places);
  const states = await client.describe();
  if (states.every(({ populated }) => populated === total)) {
    await restoreBlanks(client);
    return;
  }
  const isMemory = values.dataDir === undefined && isOurs;
  if (values.skipPopulate && !isMemory) {
    const held = states.map(({ populated }) => populated ?? 'none').join(', ');
    throw invalidArgument(`the shards hold the rows of another population (${held} rows), not of ${total} rows`, {
      hint: 'Give the scale that they were filled with, or let them be filled.',
    });
  }
  await client.populate(total, { replace: isOurs });
}

interface OpenShards {
  readonly processIds: readonly number[];
  readonly isPrivate: boolean;
  readonly ours: PrivateShards | undefined;
  readonly values: HybridValues;
  readonly network: SimulatedNetwork | undefined;
}

function hybridServer(
  addresses: readonly string[],
  stores: ShardStore[],
  { ours, values, network, processIds, isPrivate }: OpenShards,
  close: () => Promise<void>,
): HybridServer {
  const kept = values.dataDir === undefined ? 'in memory' : 'on disk';
  let cells = 0;
  const all: HybridServer = {
    kind: 'shards',
    url: addresses.join(','),
    places: addresses,
    stores: [],
    version: `${addresses.length} shards, ${totalRows(values)} rows${ours === undefined ? '' : ` ${kept} (private)`}${networkText(network)}`,
    ...(network === undefined ? {} : { network }),
    isPrivate,
    processIds,
    namePrefix: 'bb',
    newPrefix: () => `bb${(cells += 1)}`,
    ending: () => ours?.ending ?? undefined,
    // Another process can't open the shards' files before.
    handOver: () => closeAll(stores),
    close,
    inSetting: (setting) => {
      const isHere = (shard: number): boolean => setting === 'direct' || (setting === 'hybrid' && shard === 0);
      const places = addresses.map((address, shard) => (isHere(shard) ? (stores[shard] ?? ELSEWHERE) : address));
      const shards = addresses.length;
      return {
        ...all,
        places,
        stores: [...addresses.keys()].filter(isHere).map((shard) => {
          const folder = folderOf(values, shard);
          return { shard, shards, ...(folder === undefined ? {} : { folder }) };
        }),
        url: places.map((place) => (typeof place === 'string' ? place : place.place)).join(','),
        // Only the processes that get requests, for their CPU time.
        processIds: processIds.filter((_, shard) => !isHere(shard)),
        close: async () => {},
      };
    },
  };
  return all;
}

/** The description of the network, appended to the version. */
function networkText(network: SimulatedNetwork | undefined): string {
  if (network === undefined) return '';
  const bandwidth = network.megabits === undefined ? '' : `, ${network.megabits} Mbit/s`;
  return `, ${network.delayUs} µs each way${bandwidth} by a proxy`;
}
