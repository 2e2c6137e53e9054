/**
 * An application's own performance test: how should orders go into the engine? It measures two ways through the addon, and
 * asserts what must be true on any machine: that each way stored the same orders. The speeds are printed, not asserted.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Connection, RowInserter, SqlType, TableDefinition, connect } from 'boundary-bench';
import { type LaneDefinition, defineWorkload, renderRunTerminal, run } from 'boundary-bench/bench';
import { expect, test } from 'vitest';

const orders = new TableDefinition('orders', [
  { name: 'id', type: SqlType.int(), nullable: false },
  { name: 'customer', type: SqlType.text() },
  { name: 'total', type: SqlType.decimal(12, 2) },
]);

type Order = readonly [id: number, customer: string, total: string];

const newOrders = (count: number): Order[] =>
  Array.from({ length: count }, (_, id) => [id, `customer ${id % 100}`, `${id % 1000}.50`]);

interface OrderLane extends LaneDefinition {
  insert(connection: Connection, rows: readonly Order[]): Promise<void>;
}

const statement: OrderLane = {
  lane: 'batch',
  side: 'napi',
  engine: 'embedded',
  variant: 'INSERT of 1000 rows',
  async insert(connection, rows) {
    for (let start = 0; start < rows.length; start += 1000) {
      const values = rows.slice(start, start + 1000).map(([id, customer, total]) => `(${id}, '${customer}', ${total})`);
      await connection.execute(`INSERT INTO orders VALUES ${values.join()}`);
    }
  },
};

const inserter: OrderLane = {
  lane: 'staged-row',
  side: 'napi',
  engine: 'embedded',
  variant: 'RowInserter',
  async insert(connection, rows) {
    await using insert = new RowInserter(connection, orders);
    for (const row of rows) {
      if (!insert.addRow(row)) await insert.drain();
    }
    await insert.execute();
  },
};

const insertOrders = defineWorkload<OrderLane>({
  family: 'orders',
  name: 'insert.orders',
  rows: 20_000,
  lanes: [statement, inserter],
  async open(lane, { rows }) {
    const connection = await connect('embedded:');
    const input = newOrders(rows);
    return {
      expected: { rows, sums: { id: `${(rows * (rows - 1)) / 2}` } },
      async sample(stopwatch) {
        await connection.createTable(orders, { mode: 'replace' });
        stopwatch.start();
        await lane.insert(connection, input);
        stopwatch.stop();
        const [stored] = await connection.executeQuery<{ count: bigint; sum: string }>(
          'SELECT count(*) AS count, sum(id) AS sum FROM orders',
        );
        return { rows: Number(stored?.count), sums: { id: String(stored?.sum) } };
      },
      close: () => connection.close(),
    };
  },
});

test('every way to insert orders stores the same orders', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'orders-'));
  try {
    const { run: finished } = await run({
      families: [insertOrders],
      forks: 2,
      samples: 5,
      directory: join(directory, 'run'),
    });
    console.log(renderRunTerminal(finished));
    expect(finished.records.map(({ variant, outcome }) => [variant, outcome])).toEqual([
      ['INSERT of 1000 rows', 'completed'],
      ['RowInserter', 'completed'],
    ]);
  } finally {
    await rm(directory, { recursive: true });
  }
});
