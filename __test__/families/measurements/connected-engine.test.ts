import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';

import type { Connection } from '../../../src/library/engine/connection.js';
import { ConnectedEngine } from '../../../src/families/measurements/connected-engine.js';
import { folderOfTest } from '../../temporary-folder.js';

/** The connections made so far, with their URIs. */
const connected: { uri: string; connection: Connection }[] = [];
/** The refused URIs; `what` is the part of a URI that makes a connection fail. */
const refused: { uris: string[]; what: string | undefined } = { uris: [], what: undefined };

// An embedded database stands in for the server: two connections to one file share the database, too.
vi.mock('../../../src/library/engine/connection.js', async (importOriginal) => {
  const original = await importOriginal<typeof import('../../../src/library/engine/connection.js')>();
  return {
    ...original,
    connect: async (uri: string) => {
      if (refused.what !== undefined && uri.includes(refused.what)) {
        refused.uris.push(uri);
        throw new Error('refused');
      }
      const connection = await original.connect(uri.replace(/^hyper:/, 'embedded:').replace(/\?.*/, ''));
      connected.push({ uri, connection });
      return connection;
    },
  };
});

beforeEach(() => {
  connected.length = 0;
  refused.uris = [];
  refused.what = undefined;
});

const fileOf = (uri: string | undefined): string => /^hyper:([^?]*)/.exec(uri ?? '')?.[1] ?? '';

describe('an engine with transports', () => {
  it('has one database for all of them, whose tables are loaded once', async () => {
    const engine = await ConnectedEngine.open('hyper', 'hyper:');
    const [tcp, ipc, again] = [await engine.over('tcp'), await engine.over('ipc'), await engine.over('ipc')];
    expect(again.connection).toBe(ipc.connection);
    expect(ipc.connection).not.toBe(tcp.connection);
    const file = fileOf(connected[0]?.uri);
    expect(connected.map(({ uri }) => uri)).toEqual([`hyper:${file}?transport=tcp`, `hyper:${file}?transport=ipc`]);

    const key = { table: 't', rows: 10, workers: 1 };
    const leases = [await tcp.tables.acquire(key), await ipc.tables.acquire(key)];
    expect(leases[0]?.table).toBe(leases[1]?.table);
    expect(await ipc.connection.executeQuery('SELECT count(*) AS n FROM t')).toEqual([{ n: 10n }]);
    for (const lease of leases) await lease.release();
    expect(await ipc.connection.listTables()).toEqual([]);

    expect(existsSync(file)).toBe(true);
    await engine.close();
    expect(existsSync(dirname(file))).toBe(false);
    for (const { connection } of connected) {
      await expect(connection.listTables()).rejects.toThrow(expect.objectContaining({ code: 'BB_CLOSED' }));
    }
  });

  it('leaves no folder if it or a transport cannot be opened', async () => {
    refused.what = 'tcp';
    await expect(ConnectedEngine.open('hyper', 'hyper:')).rejects.toThrow('refused');
    expect(existsSync(dirname(fileOf(refused.uris[0])))).toBe(false);

    refused.what = 'ipc';
    const engine = await ConnectedEngine.open('hyper', 'hyper:');
    const folder = dirname(fileOf(connected[0]?.uri));
    expect(existsSync(folder)).toBe(true);
    await expect(engine.over('ipc')).rejects.toThrow('refused');
    await engine.close();
    expect(existsSync(folder)).toBe(false);
  });

  it('keeps the database that the URI names', async () => {
    const folder = folderOfTest();
    const file = join(folder, 'mine.hyper');
    const engine = await ConnectedEngine.open('hyper', `hyper:${file}`);
    await engine.over('grpc-sync');
    await engine.close();
    expect(connected.map(({ uri }) => uri)).toEqual([
      `hyper:${file}?transport=tcp`,
      `hyper:${file}?transport=grpc-sync`,
    ]);
    expect(existsSync(file)).toBe(true);
  });
});

it('an engine without transports is connected to as its URI says', async () => {
  const engine = await ConnectedEngine.open('memory', 'memory:');
  const { connection } = await engine.over(undefined);
  expect(connected).toEqual([{ uri: 'memory:', connection }]);
  expect(engine.version).toMatch(/\d/);
  await engine.close();
});
