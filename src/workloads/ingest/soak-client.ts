/** How the soak's bodies are made and sent: by the addon, or in JavaScript alone. */
import { Pool } from 'undici';

import { COLUMNS_CONTENT_TYPE, ColumnsEncoder, type SeriesNames } from '../../library/columns-codec.js';
import { HttpClient } from '../../library/http-client.js';
import { LineEncoder } from '../../library/line-codec.js';
import { dataViewColumns } from '../../targets/data-view-columns.js';
import type { ColumnBatch } from '../../targets/ingest-target.js';
import { lineProtocol } from '../../targets/line-protocol.js';
import { packRows } from '../../targets/msgpackr.js';
import { trusting } from '../../targets/undici.js';
import { type HttpAddress, httpAddress } from '../requests/http-address.js';

/** The encodings of `/write`. */
export const SOAK_ENCODINGS = ['columnar', 'rows', 'lines'] as const;

export type SoakEncoding = (typeof SOAK_ENCODINGS)[number];

/** The clients that send. */
export const SOAK_CLIENTS = ['addon', 'undici'] as const;

export type SoakClientName = (typeof SOAK_CLIENTS)[number];

const CONTENT_TYPES: Readonly<Record<SoakEncoding, string>> = {
  columnar: COLUMNS_CONTENT_TYPE,
  rows: 'application/msgpack',
  lines: 'text/plain; charset=utf-8',
};

/** Encodes the batches of one series, each into memory of its own: several may be on their way at once. */
export type BodyEncoder = (batch: ColumnBatch) => Uint8Array;

/** A response, read whole. */
export interface SoakAnswer {
  readonly status: number;
  readonly text: string;
}

/** What sends. Rejects where no response came. */
export interface SoakClient {
  encoder(names: SeriesNames): BodyEncoder;
  write(path: string, body: Uint8Array): Promise<SoakAnswer>;
  /** `q` as HyperbyteDB's `/query` takes it. */
  query(parameters: Readonly<Record<string, string>>): Promise<SoakAnswer>;
  close(): Promise<void>;
}

/** Opens a client with so many connections. */
export function openSoakClient(
  name: SoakClientName,
  url: string,
  connections: number,
  encoding: SoakEncoding,
): SoakClient {
  const address = httpAddress(url);
  return name === 'addon'
    ? new AddonClient(address, connections, encoding)
    : new UndiciSoak(address, connections, encoding);
}

function queryPath(parameters: Readonly<Record<string, string>>): string {
  return `/query?${new URLSearchParams(parameters)}`;
}

class AddonClient implements SoakClient {
  readonly #client: HttpClient;
  readonly #encoding: SoakEncoding;

  constructor({ url, cacert }: HttpAddress, connections: number, encoding: SoakEncoding) {
    this.#client = new HttpClient(url, { connections, cacert, headers: { 'content-type': CONTENT_TYPES[encoding] } });
    this.#encoding = encoding;
  }

  encoder(names: SeriesNames): BodyEncoder {
    if (this.#encoding === 'rows') return (batch) => packRows(names, batch);
    const encoder = this.#encoding === 'lines' ? new LineEncoder(names) : new ColumnsEncoder(names);
    return ({ values, timestamps }) => encoder.encode(values, timestamps);
  }

  write(path: string, body: Uint8Array): Promise<SoakAnswer> {
    return this.#send(path, body);
  }

  query(parameters: Readonly<Record<string, string>>): Promise<SoakAnswer> {
    return this.#send(queryPath(parameters), '');
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  async #send(path: string, body: Uint8Array | string): Promise<SoakAnswer> {
    const response = await this.#client.request({ method: 'POST', path, body });
    return { status: response.status, text: response.text() };
  }
}

class UndiciSoak implements SoakClient {
  readonly #pool: Pool;
  readonly #encoding: SoakEncoding;

  constructor({ url, cacert }: HttpAddress, connections: number, encoding: SoakEncoding) {
    this.#pool = new Pool(url, { connections, pipelining: 1, ...trusting(cacert) });
    this.#encoding = encoding;
  }

  encoder(names: SeriesNames): BodyEncoder {
    if (this.#encoding === 'rows') return (batch) => packRows(names, batch);
    const { encoder } = this.#encoding === 'lines' ? lineProtocol : dataViewColumns;
    return (batch) => encoder!(names, batch)();
  }

  write(path: string, body: Uint8Array): Promise<SoakAnswer> {
    return this.#send(path, body);
  }

  query(parameters: Readonly<Record<string, string>>): Promise<SoakAnswer> {
    return this.#send(queryPath(parameters), '');
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }

  async #send(path: string, body: Uint8Array | string): Promise<SoakAnswer> {
    const headers = { 'content-type': CONTENT_TYPES[this.#encoding] };
    const answer = await this.#pool.request({ method: 'POST', path, headers, body });
    return { status: answer.statusCode, text: await answer.body.text() };
  }
}
