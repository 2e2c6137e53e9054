import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';

import { ShardClient } from '../../src/index.js';
import { expectedOf, packedRows } from '../../src/families/hybrid/data.js';
import { readAll } from '../../src/families/hybrid/input.js';
import { HybridSums } from '../../src/families/hybrid/reads.js';
import { folderOfTest } from '../temporary-folder.js';
import { ShardServers, memoryOf } from './shard-process.js';

const MEBIBYTE = 1 << 20;

/** Rows of 200 MB: far more than may be buffered for a client that does not read. */
const MANY = 1_000_000;

/**
 * Limit of the memory of buffered rows, in bytes, with room for what engines and allocators take of their own accord.
 */
const MOST_ON_THE_WAY = 100 * MEBIBYTE;

/** Waits until a number of bytes changes by less than a mebibyte; resolves to it. */
async function settled(read: () => number): Promise<number> {
  for (let last = read(); ;) {
    await sleep(300);
    const now = read();
    if (Math.abs(now - last) < MEBIBYTE) return now;
    last = now;
  }
}

describe.skipIf(process.platform !== 'linux')('a scan that is not read', () => {
  it('waits, and takes no memory for it on either side', async () => {
    // The rows are on disk: reading them ahead would take memory, while rows in memory are sent without a copy.
    await using servers = await ShardServers.start(1, { dataDir: folderOfTest() });
    await using client = await ShardClient.connect(servers.urls);
    await client.populate(MANY);
    const [there, here] = [await settled(() => servers.each[0]!.memory), await settled(() => memoryOf(process.pid))];
    const scan = client.scan()[Symbol.asyncIterator]();
    let read = 0;
    const take = async (): Promise<boolean> => {
      const { value } = await scan.next();
      read += value?.rowCount ?? 0;
      value?.release();
      return value !== undefined;
    };
    for (let chunk = 0; chunk < 5; chunk += 1) await take();
    expect((await settled(() => servers.each[0]!.memory)) - there).toBeLessThan(MOST_ON_THE_WAY);
    expect((await settled(() => memoryOf(process.pid))) - here).toBeLessThan(MOST_ON_THE_WAY);
    // The same scan goes on.
    expect(read).toBeLessThan(MANY);
    while (await take());
    expect(read).toBe(MANY);
  });
});

describe('a shard that takes one call of a connection at a time', () => {
  const words = ['--max-streams', '1'];

  it('is free again when a scan is left', async () => {
    await using servers = await ShardServers.start(1, { words });
    await using filling = await ShardClient.connect(servers.urls);
    await filling.populate(100_000);
    await using client = await ShardClient.connect(servers.urls, { timeoutMs: 60_000 });
    for await (const chunk of client.scan()) {
      expect(chunk.rowCount).toBeGreaterThan(0);
      // The scan is far from its end. This call goes over the same connection, which takes one call at a time.
      const waiting = client.describe().then(() => 'answered');
      expect(await Promise.race([waiting, sleep(200, 'busy')])).toBe('busy');
      break;
    }
    expect(await client.describe()).toMatchObject([{ rows: 100_000 }]);
    const controller = new AbortController();
    const chunks = client.scan({ signal: controller.signal })[Symbol.asyncIterator]();
    await chunks.next();
    controller.abort(new Error('enough'));
    await expect(chunks.next()).rejects.toMatchObject({ code: 'BB_ABORTED', cause: controller.signal.reason });
    expect(await client.describe()).toMatchObject([{ rows: 100_000 }]);
  });
});

describe('more than fits into a message', () => {
  it.each([1, 4])('of %i MiB is divided', async (mebibytes) => {
    const words = ['--max-message', String(mebibytes * MEBIBYTE)];
    await using servers = await ShardServers.start(2, { words });
    await using client = await ShardClient.connect(servers.urls);
    const rows = 60_000;
    const keys = Array.from({ length: rows }, (_, key) => key);
    await client.putMany(new Uint8Array(packedRows(keys).buffer));
    const sums = new HybridSums('multi_get');
    sums.addFound(keys, await client.multiGet(Int32Array.from(keys)));
    expect(sums.checksum()).toEqual(expectedOf('scan', 1, rows));
    const scanned = new HybridSums('scan');
    await readAll(scanned, client);
    expect(scanned.checksum()).toEqual(expectedOf('scan', 1, rows));
    await client.populate(rows, { replace: true });
    expect((await client.describe()).reduce((sum, { rows: held }) => sum + held, 0)).toBe(rows);
  });
});
