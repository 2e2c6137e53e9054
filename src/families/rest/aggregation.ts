/**
 * TPC-H's first query over `lineitem`: the rows are pulled by a scan and aggregated here, or RonSQL aggregates on the
 * server. The expected result comes from the formulas by which the reference server generates its rows, as in
 * `native/fixtures/server/src/lineitem.rs` and `native/suite/src/rest/aggregation.rs`.
 */
import type { Checksum } from '../../records/record.js';
import { REST_MATRIX } from './data.js';

const { database, query, columns, lastShipdate } = REST_MATRIX.aggregation;

export const SCAN_PATH = `/0.1.0/${database}/lineitem/scan`;
export const SQL_PATH = '/0.1.0/ronsql';
/** The limit of a scan of all rows, since a limit is mandatory. */
const NO_LIMIT = 2 ** 31 - 1;

export const SCAN_BODY = JSON.stringify({
  readColumns: columns.map((column) => ({ column, dataReturnType: 'default' })),
  limit: NO_LIMIT,
});
export const SQL_BODY = JSON.stringify({ query, database });
export const COUNT_BODY = JSON.stringify({ query: 'SELECT count(*) AS count_order FROM lineitem;', database });

/** A group in RonSQL's response. */
interface Group {
  readonly l_returnflag: string;
  readonly l_linestatus: string;
  readonly sum_qty: number;
  readonly sum_base_price: number;
  readonly sum_disc_price: number;
  readonly sum_charge: number;
  readonly avg_disc: number;
  readonly count_order: number;
}

/** The sums of one group. */
export class GroupSums {
  quantity = 0;
  price = 0;
  discounted = 0;
  charge = 0;
  discount = 0;
  count = 0;

  add(quantity: number, price: number, discount: number, tax: number): void {
    const discounted = price * (1 - discount);
    this.quantity += quantity;
    this.price += price;
    this.discounted += discounted;
    this.charge += discounted * (1 + tax);
    this.discount += discount;
    this.count += 1;
  }

  merge({ quantity, price, discounted, charge, discount, count }: Omit<GroupSums, 'add' | 'merge'>): void {
    this.quantity += quantity;
    this.price += price;
    this.discounted += discounted;
    this.charge += charge;
    this.discount += discount;
    this.count += count;
  }
}

/** The groups of one query, by their flag and status. */
export class Groups {
  readonly byKey = new Map<string, GroupSums>();

  /** The group of a row; `undefined` if the row was shipped too late. */
  of(flag: string, status: string, shipdate: string): GroupSums | undefined {
    return shipdate > lastShipdate ? undefined : this.at(flag + status);
  }

  /** The group of a key: a flag and a status. */
  at(key: string): GroupSums {
    let group = this.byKey.get(key);
    if (group === undefined) this.byKey.set(key, (group = new GroupSums()));
    return group;
  }
}

/** The sums of the results of all queries of a sample, by group. */
export class AggregationSums {
  #rows = 0;
  readonly #groups = new Groups();
  /** The number of groups whose key was not above the key of the previous group in an answer. */
  #disordered = 0;

  /** Adds the groups of RonSQL's response. */
  addAnswer(json: string): void {
    const { data } = JSON.parse(json) as { data: Group[] };
    this.#rows += data.length;
    let last = '';
    for (const group of data) {
      const key = group.l_returnflag + group.l_linestatus;
      if (key <= last) this.#disordered += 1;
      last = key;
      this.#groups.at(key).merge({
        quantity: group.sum_qty,
        price: group.sum_base_price,
        discounted: group.sum_disc_price,
        charge: group.sum_charge,
        discount: group.avg_disc * group.count_order,
        count: group.count_order,
      });
    }
  }

  /** Adds groups aggregated here. */
  addGroups({ byKey }: Groups): void {
    this.#rows += byKey.size;
    for (const [key, group] of byKey) this.#groups.at(key).merge(group);
  }

  checksum(): Checksum {
    const sums = [...this.#groups.byKey].flatMap(([key, { count, ...floats }]) => [
      ...Object.entries(floats).map(([name, sum]) => [`${key}.${name}`, sum] as const),
      [`${key}.count`, String(count)] as const,
    ]);
    return { rows: this.#rows, sums: { ...Object.fromEntries(sums), disordered: String(this.#disordered) } };
  }
}

/** The number of rows on the server, from its response to `COUNT_BODY`. */
export function countOf(json: string): number {
  return (JSON.parse(json) as { data: { count_order: number }[] }).data[0]?.count_order ?? 0;
}

const DAY_MS = 86_400_000;
const FIRST_DAY = Date.UTC(1992, 0, 2) / DAY_MS;
const FLAG_DAY = Date.UTC(1995, 5, 17) / DAY_MS;
const LAST_DAY = Date.parse(lastShipdate) / DAY_MS;
const SHIP_DAYS = 2526;

/** The checksum that `operations` queries over `rows` rows of the reference server must return. */
export function expectedAggregation(operations: number, rows: number): Checksum {
  const groups = new Groups();
  for (let row = 0; row < rows; row += 1) {
    // Knuth's factor spreads the numbers. Each column uses other bits, from another start.
    const bits = (column: number, shift: number): number =>
      (Math.imul(row + column * 7919, 2654435761) >>> 0) >>> shift;
    const ship = FIRST_DAY + (bits(5, 8) % SHIP_DAYS);
    if (ship > LAST_DAY) continue;
    const quantity = 1 + (bits(1, 7) % 50);
    const price = (quantity * (90_000 + (bits(2, 5) % 110_001))) / 100;
    const receipt = ship + 1 + (bits(6, 6) % 30);
    const flag = receipt > FLAG_DAY ? 'N' : bits(8, 10) % 2 === 0 ? 'R' : 'A';
    const group = groups.of(flag, ship > FLAG_DAY ? 'O' : 'F', lastShipdate)!;
    group.add(quantity, price, (bits(3, 9) % 11) / 100, (bits(4, 11) % 9) / 100);
  }
  const sums = new AggregationSums();
  for (let operation = 0; operation < operations; operation += 1) sums.addGroups(groups);
  return sums.checksum();
}
