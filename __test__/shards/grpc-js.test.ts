import { once } from 'node:events';
import { connect } from 'node:http2';
import { fileURLToPath } from 'node:url';
import {
  type Client,
  type ClientReadableStream,
  type ClientWritableStream,
  type UntypedServiceImplementation,
  status,
} from '@grpc/grpc-js';
import { type PackageDefinition, loadSync } from '@grpc/proto-loader';
import {
  Field,
  FixedSizeBinary,
  Float64,
  Int32,
  Int64,
  MessageReader,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  makeData,
  tableFromIPC,
} from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ShardRow } from '../../src/index.js';
import { ROW_BYTES } from '../../src/library/shards/shard-row.js';
import { packedRows } from '../../src/families/hybrid/data.js';
import { Reflection } from './reflected.js';
import { ShardServer } from './shard-process.js';

const PROTO = fileURLToPath(new URL('../../proto/boundary_bench/shards/v1/shards.proto', import.meta.url));
const SERVICE = 'boundary_bench.shards.v1.ShardService';

/** The number of rows of the one shard. It may be asked for any key: the client chooses the shard. */
const ROWS = 10_000;

type Reflected = Client & UntypedServiceImplementation;
type Message = Readonly<Record<string, unknown>>;

let server: ShardServer;
let reflection: Reflection;
let client: Reflected;

beforeAll(async () => {
  server = await ShardServer.start(1, 2);
  reflection = new Reflection(server.url);
  client = (await reflection.clientOf(SERVICE)) as Reflected;
  await populate(populationOf(keysTo(ROWS)));
});
afterAll(async () => {
  client.close();
  await server.end();
});

function keysTo(end: number): number[] {
  return Array.from({ length: end }, (_, key) => key);
}

/** Calls a method with one request and one answer. */
function call(method: string, request: object = {}): Promise<Message> {
  return new Promise((resolve, reject) => {
    const answered = (error: Error | null, answer: Message): void => (error === null ? resolve(answer) : reject(error));
    (client[method] as unknown as Function).call(client, request, { deadline: Date.now() + 60_000 }, answered);
  });
}

function populate(messages: Iterable<object>): Promise<Message> {
  return new Promise((resolve, reject) => {
    const answered = (error: Error | null, answer: Message): void => (error === null ? resolve(answer) : reject(error));
    const stream = (client['Populate'] as unknown as Function).call(client, answered) as ClientWritableStream<object>;
    for (const message of messages) stream.write(message);
    stream.end();
  });
}

function scan(): ClientReadableStream<{ readonly ipc_header?: Buffer; readonly ipc_body?: Buffer }> {
  return (client['Scan'] as unknown as Function).call(client, {});
}

/** The messages of a population with the generated rows of keys, as apache-arrow writes them. */
function* populationOf(keys: readonly number[], replace = false): Generator<object> {
  yield { begin: { rows: keys.length, total_rows: ROWS, replace } };
  const rows = new Uint8Array(packedRows(keys).buffer);
  const column = (at: number, width: number): Uint8Array<ArrayBuffer> => {
    const values = new Uint8Array(keys.length * width);
    for (const index of keys.keys()) {
      const start = index * ROW_BYTES + at;
      values.set(rows.subarray(start, start + width), index * width);
    }
    return values;
  };
  const length = keys.length;
  const children = [
    makeData({ type: new Int64(), length, data: new BigInt64Array(column(0, 8).buffer) }),
    makeData({ type: new Int32(), length, data: new Int32Array(column(8, 4).buffer) }),
    makeData({ type: new Float64(), length, data: new Float64Array(column(12, 8).buffer) }),
    makeData({ type: new Int64(), length, data: new BigInt64Array(column(20, 8).buffer) }),
    makeData({ type: new FixedSizeBinary(172), length, data: column(28, 172) }),
  ];
  const names = ['key', 'quantity', 'price', 'updated_at', 'payload'];
  const schema = new Schema(names.map((name, index) => new Field(name, children[index]!.type, false)));
  const batch = new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length, children }));
  yield* piecesOf(RecordBatchStreamWriter.writeAll([batch]).toUint8Array(true));
}

/** The messages of an Arrow stream, each with a separate body. */
function* piecesOf(stream: Uint8Array): Generator<object> {
  const reader = new MessageReader(stream);
  const view = new DataView(stream.buffer, stream.byteOffset, stream.byteLength);
  for (let at = 0; at < stream.length;) {
    const end = at + 8 + view.getInt32(at + 4, true);
    const { value, done } = reader.next();
    const length = done ? 0 : value.bodyLength;
    if (!done) reader.readMessageBody(length);
    yield { ipc_header: stream.subarray(at, end), ipc_body: stream.subarray(end, end + length) };
    at = end + length;
  }
}

/** The properties of each message and enumeration that matter on the wire. */
function shapesOf(definition: PackageDefinition): Record<string, unknown> {
  type Field = { name: string; number: number; type?: string; typeName?: string; label?: string; oneofIndex?: number };
  const shapes: Record<string, unknown> = {};
  for (const [name, described] of Object.entries(definition)) {
    if (!('type' in described)) continue;
    const { field, value } = described.type as unknown as { readonly field?: Field[]; readonly value?: Field[] };
    shapes[name] = (field ?? value)!.map(({ name, number, type, typeName, label, oneofIndex }) => ({
      name,
      number,
      type,
      typeName,
      label,
      oneofIndex,
    }));
  }
  return shapes;
}

function rowOf(key: number): ShardRow {
  return new ShardRow(new Uint8Array(packedRows([key]).buffer));
}

/**
 * A row in the form of grpc-js, with 64-bit integers as text. An optional field that is present has a mark such as
 * `_price`.
 */
function messageOf(key: number): Message {
  const { quantity, price, updatedAt, payload } = rowOf(key);
  const integers = { key: String(key), quantity, updated_at: String(updatedAt) };
  return { ...integers, price, _price: 'price', payload: Buffer.from(payload) };
}

describe('a shard, to @grpc/grpc-js with what its reflection says', () => {
  it('tells of its services, in both versions of reflection', async () => {
    for (const version of ['v1', 'v1alpha']) {
      const services = await new Reflection(server.url, version).services();
      expect(services).toEqual(expect.arrayContaining([SERVICE, 'grpc.health.v1.Health']));
    }
    await expect(reflection.definitionOf('no.Service')).rejects.toThrow('no.Service');
  });

  it('describes what the proto says', async () => {
    const [told, written] = [await reflection.definitionOf(SERVICE), loadSync(PROTO, { keepCase: true })];
    expect(Object.keys(shapesOf(told))).toHaveLength(22);
    expect(shapesOf(told)).toEqual(shapesOf(written));
    const methods = Object.values(told[SERVICE]!) as {
      path: string;
      requestStream: boolean;
      responseStream: boolean;
    }[];
    expect(methods.map(({ path, requestStream, responseStream }) => `${path} ${requestStream} ${responseStream}`))
      .toMatchInlineSnapshot(`
      [
        "/boundary_bench.shards.v1.ShardService/Describe false false",
        "/boundary_bench.shards.v1.ShardService/Get false false",
        "/boundary_bench.shards.v1.ShardService/MultiGet false false",
        "/boundary_bench.shards.v1.ShardService/Put false false",
        "/boundary_bench.shards.v1.ShardService/PutMany false false",
        "/boundary_bench.shards.v1.ShardService/Scan false true",
        "/boundary_bench.shards.v1.ShardService/Aggregate false false",
        "/boundary_bench.shards.v1.ShardService/Populate true false",
      ]
    `);
  });

  it('does what each method says', async () => {
    expect(await call('Describe')).toEqual({
      shard: 1,
      shards: 2,
      rows: String(ROWS),
      populated: true,
      total_rows: String(ROWS),
      max_message_bytes: 4 << 20,
    });
    expect(await call('Get', { key: 17 })).toEqual({ row: messageOf(17) });
    expect(await call('Get', { key: ROWS })).toEqual({});
    await call('Put', { row: { ...messageOf(18), key: '-1' } });
    expect(await call('Get', { key: '-1' })).toEqual({ row: { ...messageOf(18), key: '-1' } });
    const keys = [5, ROWS + 5, 5, 9999, -2];
    await call('PutMany', { rows: Buffer.from(packedRows([ROWS + 5]).buffer) });
    const { found, rows } = await call('MultiGet', { keys });
    expect([...(found as Buffer)]).toEqual([0b01111]);
    expect(rows).toEqual(Buffer.from(packedRows([5, ROWS + 5, 5, 9999]).buffer));
    const filter = { column: 'COLUMN_KEY', comparison: 'COMPARISON_GREATER_OR_EQUAL', value: { integer: ROWS - 3 } };
    const prices = [ROWS - 3, ROWS - 2, ROWS - 1, ROWS + 5].map((key) => rowOf(key).price);
    expect(await call('Aggregate', { column: 'COLUMN_PRICE', filter })).toEqual({
      count: '4',
      real_sum: prices.reduce((sum, price) => sum + price),
      min: { kind: 'real', real: Math.min(...prices) },
      max: { kind: 'real', real: Math.max(...prices) },
    });
    expect(await populate(populationOf(keysTo(100), true))).toEqual({ rows: '100' });
    const pieces: Uint8Array[] = [];
    const nothing = new Uint8Array();
    for await (const { ipc_header: header, ipc_body: body } of scan()) pieces.push(header ?? nothing, body ?? nothing);
    const table = tableFromIPC(Buffer.concat(pieces));
    expect(table.numRows).toBe(100);
    for (const row of table) {
      const { key, quantity, price, updated_at: updatedAt, payload } = row.toJSON();
      const told = { key: String(key), quantity, price, updated_at: String(updatedAt), payload: Buffer.from(payload) };
      expect(messageOf(Number(key))).toMatchObject(told);
    }
    await populate(populationOf(keysTo(ROWS), true));
  });

  it('ends what takes too long by its own clock too', async () => {
    const session = connect(server.url);
    const call = session.request({
      ':method': 'POST',
      ':path': `/${SERVICE}/Populate`,
      'content-type': 'application/grpc',
      te: 'trailers',
      'grpc-timeout': '200m',
    });
    // The call is open and the server waits for its first message.
    const [headers] = (await once(call, 'response')) as [Readonly<Record<string, string>>];
    expect(headers).toMatchObject({
      'grpc-status': String(status.DEADLINE_EXCEEDED),
      'bb-code': 'BB_TIMEOUT',
      'bb-shard': '1',
    });
    session.destroy();
  });
});
