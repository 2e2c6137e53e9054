/** Hosts with several addresses, the first of which drops packets. The system's resolver is replaced, for a name that no system has. */
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';

import { startScriptedRedis } from '../library/kv/scripted-redis.js';
import { greeting, okPacket, PLAIN, startScriptedMysql } from '../library/sql/scripted-mysql.js';
import { resultOf } from './run-script.js';
import { folderOfTest } from '../temporary-folder.js';
import { listening } from '../listening.js';

/** A thread that listens at ports of 127.0.0.2, whose queues hold two connections each, and then sleeps. */
const SILENT = `
  const { parentPort, workerData: ports } = require('node:worker_threads');
  const listening = ports.map((port) => new Promise((resolve) => {
    require('node:net').createServer().listen({ port, host: '127.0.0.2', backlog: 1 }, resolve);
  }));
  Promise.all(listening).then(() => {
    parentPort.postMessage('listens');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;

test.skipIf(process.platform !== 'linux')(
  'every client takes the address that answers',
  async () => {
    const folder = folderOfTest();
    const resolver = join(folder, 'resolver.so');
    const source = fileURLToPath(new URL('scripts/two-addresses.c', import.meta.url));
    execFileSync('cc', ['-shared', '-fPIC', '-o', resolver, source, '-ldl']);

    const http = createServer((_, response) => response.end('x'));
    const http2 = createHttp2Server((_, response) => void response.writeHead(404).end('x'));
    const redis = await startScriptedRedis((_, socket) => void socket.write('-ERR unknown\r\n'));
    const mysql = await startScriptedMysql(greeting(PLAIN), (_, socket) => void socket.write(okPacket(1)));
    const portOf = (url: string): number => Number(new URL(url).port);
    const ports = [await listening(http), await listening(http2), portOf(redis.url), portOf(mysql.url)];

    const silent = new Worker(SILENT, { eval: true, workerData: ports });
    await new Promise((resolve) => silent.once('message', resolve));
    const fillers = ports.flatMap((port) => [connect(port, '127.0.0.2'), connect(port, '127.0.0.2')]);
    await Promise.all(fillers.map((filler) => new Promise((resolve) => filler.once('connect', resolve))));

    const env = { LD_PRELOAD: resolver };
    expect(await resultOf('two-addresses.mjs', ports.map(String), { env })).toEqual({
      HttpClient: 200,
      'HttpClient.stream': 200,
      'HttpClient of HTTP/2': 404,
      KvClient: 'connected',
      SqlClient: 'connected',
      ShardClient: 'BB_UNSUPPORTED',
      'the engine mysql': 'connected',
      'the engine flight': 'BB_CONNECTION',
    });

    for (const filler of fillers) filler.destroy();
    await silent.terminate();
    for (const server of [http, http2, redis, mysql]) server.close();
  },
  60_000,
);
