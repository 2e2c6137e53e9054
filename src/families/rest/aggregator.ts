/**
 * TPC-H's first query on either client. The response of a scan is read while it arrives, so that the server goes on in the
 * meantime. A response may be larger than the longest string in JavaScript: with scale factor 1 it is almost a gigabyte.
 */
import { HttpClient } from '../../library/http/http-client.js';
import { JsonRows } from '../../library/codecs/json-paths.js';
import { RowPieces } from '../../clients/row-pieces.js';
import type { UndiciClient } from '../../clients/undici.js';
import { Groups, SCAN_BODY, SCAN_PATH, SQL_BODY, SQL_PATH } from './aggregation.js';
import { type RestAddress, checkStatus, textOf, withText } from './requesters.js';

/** A client that runs the query. */
export interface Aggregator {
  /** Pulls the rows and aggregates them. */
  pull(): Promise<Groups>;
  /** Lets the server aggregate. Resolves to its response. */
  pushDown(): Promise<string>;
  close(): Promise<void>;
}

export async function openAggregator(side: 'napi' | 'js' | 'rust', address: RestAddress): Promise<Aggregator> {
  if (side === 'napi') return new NapiAggregator(address);
  const { UndiciClient } = await import('../../clients/undici.js');
  const { url, ...options } = address;
  return new UndiciAggregator(new UndiciClient(url, { ...options, connections: 1, pipelining: 1, dispatches: true }));
}

/** The number columns of a row, and the text columns. */
const NUMBERS = ['l_quantity', 'l_extendedprice', 'l_discount', 'l_tax'] as const;
const TEXTS = ['l_returnflag', 'l_linestatus', 'l_shipdate'] as const;

class NapiAggregator implements Aggregator {
  readonly #client: HttpClient;

  constructor({ url, ...options }: RestAddress) {
    this.#client = new HttpClient(url, options);
  }

  async pull(): Promise<Groups> {
    const groups = new Groups();
    const rows = new JsonRows('data', ...NUMBERS.map((path) => ({ path, type: 'number' as const })), ...TEXTS);
    const answer = await this.#client.stream({ path: SCAN_PATH, body: SCAN_BODY });
    if (answer.status !== 200) checkStatus(answer.status, await answer.text());
    for await (const piece of answer) addColumns(groups, rows.feed(piece));
    rows.finish();
    return groups;
  }

  async pushDown(): Promise<string> {
    return textOf(await this.#client.request({ path: SQL_PATH, body: SQL_BODY }));
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}

function addColumns(groups: Groups, columns: ReturnType<JsonRows['feed']>): void {
  const [quantity, price, discount, tax] = columns.map(({ numbers }) => numbers);
  const [flag, status, shipdate] = columns.slice(NUMBERS.length);
  for (let row = 0; row < quantity!.length; row += 1) {
    const group = groups.of(flag!.text(row)!, status!.text(row)!, shipdate!.text(row)!);
    group?.add(quantity![row]!, price![row]!, discount![row]!, tax![row]!);
  }
}

/** A row in a scan's response. */
interface Item {
  readonly l_quantity: number;
  readonly l_extendedprice: number;
  readonly l_discount: number;
  readonly l_tax: number;
  readonly l_returnflag: string;
  readonly l_linestatus: string;
  readonly l_shipdate: string;
}

class UndiciAggregator implements Aggregator {
  readonly #client: UndiciClient;

  constructor(client: UndiciClient) {
    this.#client = client;
  }

  async pull(): Promise<Groups> {
    const groups = new Groups();
    const rows = new RowPieces<Item>('data');
    const add = (items: readonly Item[]): void => {
      for (const item of items) {
        const group = groups.of(item.l_returnflag, item.l_linestatus, item.l_shipdate);
        group?.add(item.l_quantity, item.l_extendedprice, item.l_discount, item.l_tax);
      }
    };
    await this.#client.stream(SCAN_PATH, SCAN_BODY, (piece, status) => {
      if (status !== 200) checkStatus(status, piece.toString('utf8'));
      add(rows.feed(piece));
    });
    add(rows.finish());
    return groups;
  }

  async pushDown(): Promise<string> {
    return textOf(withText(await this.#client.post(SQL_PATH, SQL_BODY)));
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
