import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { HttpClient, JsonPaths } from '../../../src/index.js';
import { type TargetServer, openTarget } from '../../../src/families/requests/target-server.js';
import { AggregationSums, expectedAggregation } from '../../../src/families/rest/aggregation.js';
import { RestInput, RestSums } from '../../../src/families/rest/data.js';
import { addressOf, restFamily } from '../../../src/families/rest/family.js';
import { verifyChecksum } from '../../../src/families/verify-checksum.js';
import type { Stopwatch } from '../../../src/families/workload.js';
import type { Checksum } from '../../../src/records/record.js';
import { LatencyHistogram } from '../../../src/stats/latency-histogram.js';
import { REQUESTS, openCells, sampleCells, signal, stopwatch } from '../sampled-cells.js';
import { listening } from '../../listening.js';
import { errorWith } from '../../error-with.js';

/** The columns of the row of an operation, by their names. */
function rowOf(input: RestInput, operation: number): Record<string, string> {
  const values = input.valuesOf(operation);
  return Object.fromEntries(input.names.map((name, column) => [name, values[column]!]));
}

/** The paths of the operations' ids and of each column in the response to a batch. */
function pathsOf({ names }: RestInput): JsonPaths {
  return new JsonPaths('result.*.body.operationId', ...names.map((name) => `result.*.body.data.${name}`));
}

describe('the requests of the rest family', () => {
  it.each(['pkread', 'pkread.many_columns', 'pkread.binary'])(
    'ask for every row, and have sums in closed form: %s',
    (workload) => {
      const input = new RestInput(workload);
      const keys = new Set<unknown>();
      const sums = new RestSums();
      for (let operation = 0; operation < 1000; operation += 1) {
        const body = JSON.parse(input.read(operation)) as {
          filters: { value: unknown }[];
          readColumns: { column: string }[];
          operationId: string;
        };
        keys.add(body.filters[0]!.value);
        expect(body.readColumns.map(({ column }) => column)).toEqual(input.names);
        const data = rowOf(input, operation);
        sums.addRow({ operationId: body.operationId, data }, input, operation);
      }
      expect(keys.size).toBe(1000);
      expect(sums.checksum()).toEqual(input.expected(1000));
      const batch = JSON.parse(input.batch(3, 5)) as { operations: { body: unknown }[] };
      expect(batch.operations.map(({ body }) => body)).toEqual([JSON.parse(input.read(3)), JSON.parse(input.read(4))]);
    },
  );

  const [first, second] = [0, 1];
  it.each([
    { what: 'nothing is wrong', ids: [first, second], values: [first, second] },
    { what: 'two answers are exchanged', ids: [second, first], values: [second, first] },
    { what: 'two rows have exchanged their values', ids: [first, second], values: [second, first] },
    { what: 'a row came instead of another', ids: [first, second], values: [first, first] },
    { what: 'an answer came twice', ids: [first, first], values: [first, first] },
    { what: 'a value is cut', ids: [first, second], values: [first, second], cut: 1 },
  ])('see in each way of reading them whether $what', ({ what, ids, values, cut = 0 }) => {
    for (const workload of ['batchpkread', 'batchpkread.many_columns', 'batchpkread.binary']) {
      const input = new RestInput(workload);
      const result = ids.map((id, index) => {
        const data = rowOf(input, values[index]!);
        if (index === 1) data['col0'] = data['col0']!.slice(cut);
        return { code: 200, body: { operationId: `${id}`, data } };
      });
      const [parsed, picked] = [new RestSums(), new RestSums()];
      parsed.addBatch({ result }, input, 0);
      picked.addPicked(pathsOf(input).pick(Buffer.from(JSON.stringify({ result }))), input, 0);
      expect(picked.checksum()).toEqual(parsed.checksum());
      const isRight = JSON.stringify(parsed.checksum()) === JSON.stringify(input.expected(2));
      expect(isRight, workload).toBe(what === 'nothing is wrong');
    }
  });

  it.each([
    { what: 'two columns of a row have exchanged their values', names: ['col0', 'col1'], values: [1, 0] },
    { what: 'two columns of a row have exchanged their names', names: ['col1', 'col0'], values: [0, 1] },
  ])('see in each way of reading them whether $what', ({ names, values }) => {
    const input = new RestInput('batchpkread.many_columns');
    const row = input.valuesOf(0);
    const others = Object.entries(rowOf(input, 0)).slice(2);
    const data = Object.fromEntries([...names.map((name, place) => [name, row[values[place]!]]), ...others]);
    const result = [{ code: 200, body: { operationId: '0', data } }];
    const [parsed, picked] = [new RestSums(), new RestSums()];
    parsed.addBatch({ result }, input, 0);
    picked.addPicked(pathsOf(input).pick(Buffer.from(JSON.stringify({ result }))), input, 0);
    for (const sums of [parsed, picked]) expect(sums.checksum()).not.toEqual(input.expected(1));
  });

  it('see in what RonSQL answers whether groups are exchanged, or have what others lack', () => {
    const checksum = (groups: readonly (readonly [flag: string, quantity: number])[]): Checksum => {
      const rest = { sum_base_price: 1, sum_disc_price: 1, sum_charge: 1, avg_disc: 0.5, count_order: 2 };
      const data = groups.map(([flag, sum_qty]) => ({ l_returnflag: flag, l_linestatus: 'F', sum_qty, ...rest }));
      const sums = new AggregationSums();
      sums.addAnswer(JSON.stringify({ data }));
      return sums.checksum();
    };
    const right = checksum([
      ['A', 10],
      ['R', 20],
    ]);
    expect(right).toMatchObject({ rows: 2, sums: { 'AF.quantity': 10, 'RF.quantity': 20, 'RF.count': '2' } });
    for (const [first, second] of [
      [20, 10],
      // The total stays, also if each group counts by its place.
      [14, 18],
    ] as const) {
      const wrong = checksum([
        ['A', first],
        ['R', second],
      ]);
      expect(() => verifyChecksum(wrong, right)).toThrow('the sum of AF.quantity');
    }
    const disordered = checksum([
      ['R', 20],
      ['A', 10],
    ]);
    expect(() => verifyChecksum(disordered, right)).toThrow('disordered');
    const renamed = checksum([
      ['R', 10],
      ['A', 20],
    ]);
    expect(() => verifyChecksum(renamed, right)).toThrow('quantity');
  });

  it('take the key of a URL into a header', () => {
    expect(addressOf('http://:a%2Fb@h:4406/x/')).toEqual({
      url: 'http://h:4406/x',
      headers: { 'content-type': 'application/json', 'x-api-key': 'a/b' },
    });
    expect(addressOf('http://h').headers).not.toHaveProperty('x-api-key');
  });

  it('know what the query over lineitem returns', () => {
    const { rows, sums } = expectedAggregation(2, 6000);
    expect([rows, typeof sums['AF.count'], Object.keys(sums).length]).toEqual([8, 'string', 25]);
  });
});

describe('the rest family', () => {
  let server: TargetServer;
  beforeAll(
    async () => void (server = await openTarget('rest', {}, ['--scale-factor', '0.01', '--max-batch', '128'])),
    120_000,
  );
  afterAll(() => server.close());

  it('does the work of every cell of every side', async () => {
    const options = {
      ...REQUESTS,
      engines: { rest: server.url },
      // Threads take turns between two addresses, whether they are of one server or of two.
      restUrl2: server.url,
      operations: 160,
      connections: [1, 3],
      // 150 is above the server's limit: such batches are divided.
      batch: [1, 16, 150],
    };
    const cells = restFamily
      .plan(options)
      .map((planned) =>
        planned.cell.workload.startsWith('aggregation.')
          ? { ...planned, cell: { ...planned.cell, operations: 1 } }
          : planned,
      );
    expect(new Set(cells.map(({ cell }) => cell.side))).toEqual(new Set(['rust', 'napi', 'js']));
    const lanes = cells.filter(({ cell }) => cell.side === 'napi').map(({ cell }) => cell.lane);
    expect(new Set(lanes)).toEqual(new Set(['call', 'call-async', 'call-blocking', 'batch']));
    await sampleCells(await restFamily.open(options, cells), cells);
  }, 300_000);

  it.skipIf(process.platform !== 'linux').each(['rust', 'napi', 'js'] as const)(
    'counts the CPU time of both of two servers, or of none: %s',
    async (side) => {
      const options = { ...REQUESTS, engines: {}, operations: 600, connections: [2] };
      const planned = restFamily
        .plan(options)
        .find(({ cell }) => cell.workload === 'pkread.two_servers' && cell.side === side)!;
      const counted = async (second: { readonly restUrl2?: string }): Promise<boolean> => {
        let isCounted = false;
        const addRequests: Stopwatch['addRequests'] = ({ serverCpuUserSeconds: user }) =>
          (isCounted = user !== undefined);
        await openCells(await restFamily.open({ ...options, ...second }, [planned]), [planned], async (cell) =>
          expect(await cell.sample({ ...stopwatch, addRequests }, signal)).toEqual(cell.expected),
        );
        return isCounted;
      };
      // The second one is the user's, whose process nobody knows.
      expect(await counted({ restUrl2: server.url })).toBe(false);
      expect(await counted({})).toBe(true);
    },
  );

  it.each(['rust', 'napi', 'js'] as const)(
    'shows how latencies grow above what the server can bear: %s',
    async (side) => {
      const options = { ...REQUESTS, engines: { rest: server.url }, operations: 500 };
      const planned = restFamily
        .plan({ ...options, rate: 1e6 })
        .find(({ cell }) => cell.workload === 'pkread' && cell.lane === 'call' && cell.side === side)!;
      let late: LatencyHistogram | undefined;
      let [startedAt, seconds] = [0, 0];
      const timing: Stopwatch = {
        ...stopwatch,
        start: () => (startedAt = performance.now()),
        stop: () => (seconds = (performance.now() - startedAt) / 1000),
        add: (timing) => ({ seconds } = timing),
        addRequests: ({ latency }) => (late = LatencyHistogram.fromBase64(latency!)),
      };
      await openCells(await restFamily.open(options, [planned]), [planned], async (cell) => {
        await cell.sample(timing, signal);
      });
      // All requests are due at once, so the last one waits for all others, whatever disturbs them.
      expect(late!.quantile(1) / 1e9).toBeGreaterThan(seconds / 2);
    },
  );

  it('skips what a server has not, and says which key it wants', async () => {
    const options = { ...REQUESTS, engines: {}, operations: 10 };
    const key = `${'k'.repeat(16)}.${'s'.repeat(64)}`;
    const guarded = await openTarget('rest', {}, ['--api-key', key]);
    onTestFinished(() => guarded.close());
    for (const side of ['napi', 'js', 'rust'] as const) {
      const family = await restFamily.open({ ...options, engines: { rest: guarded.url } }, []);
      const planned = restFamily.plan(options).find(({ cell }) => cell.workload === 'pkread' && cell.side === side)!;
      await expect(family.openCell(planned)).rejects.toThrow('--api-key');
      await family.close();
      const url = guarded.url.replace('://', `://:${key}@`);
      await openCells(await restFamily.open({ ...options, engines: { rest: url } }, []), [planned], async (cell) =>
        expect(await cell.sample(stopwatch, signal)).toEqual(cell.expected),
      );
    }
  });

  it('sees in every cell that two rows or columns have exchanged their values, and refuses other rows', async () => {
    const engines = { rest: server.url };
    const options = { ...REQUESTS, engines, restUrl2: server.url, operations: 20, batch: [1, 4] };
    const cells = restFamily.plan(options).filter(({ cell }) => !cell.workload.startsWith('aggregation.'));
    const family = await restFamily.open(options, cells);
    const client = new HttpClient(server.url);
    onTestFinished(() => client.close());
    /** Writes the text of one row into another, in all tables: rows 617 and 234 are the second and the third to be read. */
    const write = async (key: number, row: number, columnOf = (column: number): number => column): Promise<void> => {
      const text = (number: number, bytes: number): string => number.toString(36).padStart(4, '0').padEnd(bytes, 'a');
      const binary = Buffer.alloc(3000);
      binary.writeBigUInt64LE(BigInt(key), 2992);
      const operations = [
        { table: 'table_1', id: key, values: [text(row, 100)] },
        { table: 'table_2', id: binary.toString('base64'), values: [btoa(text(row, 100))] },
        {
          table: 'table_3',
          id: key,
          values: Array.from({ length: 100 }, (_, column) => text(row * 100 + columnOf(column), 4)),
        },
      ].map(({ table, id, values }) => ({
        method: 'POST',
        'relative-url': `rdrs_bench/${table}/pk-write`,
        body: {
          filters: [{ column: 'id0', value: id }],
          writeColumns: values.map((value, column) => ({ column: `col${column}`, value })),
        },
      }));
      const answer = await client.request({ path: '/0.1.0/batchwrite', body: JSON.stringify({ operations }) });
      expect(answer.text().match(/"code":200/g)).toHaveLength(3);
    };
    onTestFinished(() => family.close());
    onTestFinished(() => write(0, 0));
    const withBatch = cells.filter(({ cell }) => cell.batch! > 1 && cell.workload.startsWith('batchpkread'));
    expect(withBatch.length).toBeGreaterThan(5);
    for (const planned of cells) {
      const { id } = planned.cell;
      const cell = await family.openCell(planned);
      expect(await cell.sample(stopwatch, signal), id).toEqual(cell.expected);
      await write(617, 234);
      await write(234, 617);
      expect(await cell.sample(stopwatch, signal), id).not.toEqual(cell.expected);
      await write(617, 617);
      await write(234, 234);
      expect(await cell.sample(stopwatch, signal), id).toEqual(cell.expected);
      await cell.close();
    }
    for (const planned of cells.filter(({ cell }) => cell.workload.endsWith('many_columns'))) {
      const { id } = planned.cell;
      const cell = await family.openCell(planned);
      await write(617, 617, (column) => [3, 1, 2, 0][column] ?? column);
      expect(await cell.sample(stopwatch, signal), id).not.toEqual(cell.expected);
      await write(617, 617);
      expect(await cell.sample(stopwatch, signal), id).toEqual(cell.expected);
      await cell.close();
    }
    // The first row that is read.
    await write(0, 1);
    for (const planned of cells) {
      await expect(family.openCell(planned), planned.cell.id).rejects.toThrow(
        errorWith('BB_CHECKSUM_MISMATCH', 'docs/rest.md'),
      );
    }
  }, 300_000);
});

it('skips the cells of HTTP/2 if the server speaks HTTP/1.1 alone', async () => {
  const server = createServer((_request, response) => response.end('{}'));
  const engines = { rest: `http://127.0.0.1:${await listening(server)}` };
  const options = { ...REQUESTS, engines, batch: [8] };
  const cells = restFamily.plan(options).filter(({ cell }) => cell.workload === 'pkread.http2');
  // Rust's client has three drivers.
  expect(cells.map(({ cell }) => cell.side)).toEqual(['rust', 'rust', 'rust', 'napi', 'js']);
  const family = await restFamily.open(options, cells);
  onTestFinished(() => server.closeAllConnections());
  onTestFinished(() => void server.close());
  onTestFinished(() => family.close());
  for (const planned of cells) {
    await expect(family.openCell(planned), planned.cell.id).rejects.toThrow(
      errorWith('BB_UNSUPPORTED', /the server does not speak HTTP\/2|HTTP\/2 was asked for, but .* "HTTP\/1.1/),
    );
  }
});
