import { spawn } from 'node:child_process';
import { once as event } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  type ServerKind,
  enginesWithKey,
  liveUrl,
  openTarget,
  reachTarget,
  targetSkip,
  targetUrl,
  withApiKey,
} from '../../../src/families/requests/target-server.js';
import { kvFamily } from '../../../src/families/kv/family.js';
import { KvClient } from '../../../src/index.js';
import { lacks } from '../../needs.js';
import { startRedis, startRedisCluster } from '../../redis-server.js';
import { errorWith, failureOf } from '../../error-with.js';
import { listening } from '../../listening.js';

describe('targetUrl', () => {
  it('takes the option and no variable, and neither for a private server', () => {
    vi.stubEnv('REDIS_URL', 'redis://variable');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(targetUrl('redis', {})).toBeUndefined();
    expect(targetUrl('redis', { redis: 'redis://option' })).toBe('redis://option');
    expect(targetUrl('redis', { redis: 'redis:' })).toBeUndefined();
    expect(targetUrl('redis', { redis: '', mysql: 'mysql://other' })).toBeUndefined();
  });
});

describe('an API key', () => {
  it('goes to the servers of its kind alone', () => {
    const engines = {
      rest: 'http://host:4406',
      shards: 'http://a,http://:own@b',
      redis: 'redis://host',
      ingest: 'ingest:',
    };
    const options = {
      rows: 0,
      workers: 1,
      engines,
      apiKeys: { rest: 'pre.rest', shards: 'pre.shards', ingest: 'none' },
    };
    expect(enginesWithKey('rest', options)).toEqual({ ...engines, rest: 'http://:pre.rest@host:4406' });
    expect(enginesWithKey('shards', options)['shards']).toBe('http://:pre.shards@a,http://:own@b');
    expect(enginesWithKey('redis', options)).toEqual(engines);
    expect(enginesWithKey('ingest', options)).toEqual(engines);
  });
});

describe('withApiKey', () => {
  it('makes the key the password of the URL, unless there is one', () => {
    expect(withApiKey('http://host:4406', undefined)).toBe('http://host:4406');
    expect(withApiKey('http://host:4406/', 'pre.secret')).toBe('http://:pre.secret@host:4406');
    expect(withApiKey('http://:other@host:4406', 'pre.secret')).toBe('http://:other@host:4406');
    expect(() => withApiKey('host', 'geheim')).toThrow(expect.objectContaining({ code: 'BB_INVALID_ARGUMENT' }));
  });
});

describe('targetSkip', () => {
  it('asks for no program if there is a URL', () => {
    expect(targetSkip('redis', { redis: 'redis://nowhere' })).toBeUndefined();
  });
});

const SERVERS: readonly { kind: ServerKind; name: RegExp }[] = [
  { kind: 'redis', name: /(Redis|Valkey) \d+\.\d+.* \(private\)$/ },
  { kind: 'redis-cluster', name: /(Redis|Valkey) \d+\.\d+.* \(private\)$/ },
  { kind: 'mysql', name: /\d+\.\d+.* \(private\)$/ },
  { kind: 'rest', name: /^boundary-bench \d+\.\d+\.\d+ \(private\)$/ },
  { kind: 'ingest', name: /^boundary-bench \d+\.\d+\.\d+ \(private\)$/ },
];

describe.each(SERVERS)('a private server of $kind', ({ kind, name }) => {
  it.skipIf((kind === 'redis-cluster' && lacks('redis')) || ((kind === 'redis' || kind === 'mysql') && lacks(kind)))(
    'answers until it is closed',
    async () => {
      const server = await openTarget(kind, {});
      expect(server.version).toMatch(name);
      expect(server.isPrivate).toBe(true);
      expect(server.processIds).toHaveLength(kind === 'redis-cluster' ? 3 : 1);
      expect(server.newPrefix()).not.toBe(server.newPrefix());
      expect(server.newPrefix()).toMatch(/^bb[0-9a-z]+$/);
      // The same server, attached by its URL as a server that is not ours.
      const { url } = server;
      const attached = await openTarget(kind, { [kind]: url });
      expect(attached).toMatchObject({ isPrivate: false, version: server.version.replace(' (private)', '') });
      await attached.close();
      expect((await openTarget(kind, { [kind]: url })).version).toBe(attached.version);
      await server.close();
      await expect(openTarget(kind, { [kind]: url })).rejects.toMatchObject({ code: expect.stringMatching(/^BB_/) });
    },
  );
});

describe('a private cluster', () => {
  it.skipIf(lacks('redis'))(
    'has ended when one of its masters has, and names the cluster to clients by its URL',
    async () => {
      const cluster = await openTarget('redis-cluster', {});
      expect(new URL(cluster.url).searchParams.get('cluster')).toBe('true');
      const attached = await openTarget('redis', { redis: cluster.url.replace('?cluster=true', '') });
      expect(attached).toMatchObject({ url: cluster.url, processIds: [] });
      const several = cluster.url.replace('127.0.0.1', '127.0.0.1:1,127.0.0.1');
      expect((await openTarget('redis-cluster', { 'redis-cluster': several })).url).toMatch(
        /^redis:\/\/127\.0\.0\.1:\d+\?/,
      );
      expect(cluster.ending()).toBeUndefined();
      process.kill(cluster.processIds[2]!, 'SIGKILL');
      while (cluster.ending() === undefined) await delay(5);
      expect(cluster.ending()).toContain('has ended');
      await cluster.close();
      expect(cluster.processIds.filter(isAlive)).toEqual([]);
    },
  );

  it.skipIf(lacks('redis'))('is not a single server', async () => {
    const single = await openTarget('redis', {});
    await expect(openTarget('redis-cluster', { 'redis-cluster': single.url })).rejects.toThrow(
      errorWith('BB_ENGINE', '--redis-url'),
    );
    await single.close();
  });
});

describe("a server of the user's cluster", () => {
  it.skipIf(lacks('redis'))('is replaced by another one of the cluster when it is lost', async () => {
    const [cluster, busPort] = [await startRedisCluster(), await freePort()];
    // A member without slots.
    const settings = ['--cluster-enabled', 'yes', '--cluster-port', busPort, '--cluster-announce-ip', '127.0.0.1'];
    const seed = await startRedis(settings);
    for (const server of [seed, cluster]) onTestFinished(() => server.stop());
    const { port } = new URL(seed.url);
    await using client = await KvClient.connect(cluster.url.replace('cluster=true', 'cluster=false'));
    await client.pipeline().command('CLUSTER', 'MEET', '127.0.0.1', port, busPort).execute();
    await vi.waitUntil(() => openTarget('redis-cluster', { 'redis-cluster': seed.url }).catch(() => undefined), {
      timeout: 20_000,
    });
    await reachTarget('redis-cluster', seed.url);
    expect(liveUrl(seed.url)).toBe(`${seed.url}?cluster=true`);
    const options = { rows: 1, workers: 1, engines: { 'redis-cluster': seed.url } };
    const cells = kvFamily.plan(options).filter(({ cell }) => cell.engine === 'redis-cluster');
    const family = await kvFamily.open(options, cells);
    await family.versions();
    await seed.stop();
    await reachTarget('redis-cluster', seed.url);
    const { engines } = (await family.shared!())!;
    const live = engines!['redis-cluster']!;
    expect(live).toBe(liveUrl(seed.url));
    expect(live).toMatch(/^redis:\/\/127\.0\.0\.1:\d+\?cluster=true$/);
    expect(new URL(live).port).not.toBe(port);
    await (await openTarget('redis-cluster', { 'redis-cluster': live })).close();
    await family.close();
  });
});

describe('a server that refuses', () => {
  it.each([
    ['redis', 'redis://user:geheim@127.0.0.1:1'],
    ['mysql', 'mysql://user:geheim@127.0.0.1:1/db'],
    ['redis', 'http://user:geheim@127.0.0.1'],
    ['mysql', 'mysql://user:geheim@127.0.0.1:notaport'],
    ['rest', 'http://:geheim@127.0.0.1:1'],
    ['ingest', 'ftp://:geheim@127.0.0.1:1'],
  ] as const)('is an error without the password: %s %s', async (kind, url) => {
    const error = await failureOf(openTarget(kind, { [kind]: url }));
    expect(error).toMatchObject({ code: expect.stringMatching(/^BB_/) });
    expect(String(error)).not.toContain('geheim');
  });
});

describe('a process that is killed', () => {
  it.skipIf(lacks('redis'))('leaves no server', async () => {
    const addon = new URL('../../../dist/crossing-addon.js', import.meta.url);
    const script = `const { crossing } = await import('${addon.href}');
      const server = await crossing.PrivateServer.start('redis');
      console.log(server.processIds[0]);
      setInterval(() => server, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(child.stdout)).split('\n');
    const server = Number(line);
    expect(isAlive(server)).toBe(true);
    child.kill('SIGKILL');
    while (isAlive(server)) await delay(10);
  });
});

/** A port on which nothing listens. */
async function freePort(): Promise<string> {
  const server = createServer();
  const port = await listening(server);
  server.close();
  await event(server, 'close');
  return String(port);
}

/** The first chunk of a stream. */
async function once(stream: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve) => {
    stream.once('data', (data: Buffer) => resolve(data.toString()));
  });
}

/** Whether a process runs; a zombie, which has ended but was not waited for, does not. */
function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0);
  } catch {
    return false;
  }
  if (process.platform !== 'linux') return true;
  try {
    return !/\) Z /.test(readFileSync(`/proc/${processId}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
