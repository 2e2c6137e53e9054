/** The clients that make and send the soak's bodies: the addon, or JavaScript alone. */
import { Pool } from 'undici';

import { COLUMNS_CONTENT_TYPE, ColumnsEncoder, type SeriesNames } from '../../library/codecs/columns-codec.js';
import { HttpClient } from '../../library/http/http-client.js';
import { LineEncoder } from '../../library/codecs/line-codec.js';
import { ROWS_CONTENT_TYPE, RowsEncoder } from '../../library/codecs/rows-codec.js';
import { dataViewColumns } from '../../clients/data-view-columns.js';
import type { ColumnBatch } from '../../clients/js-codec.js';
import { lineProtocol } from '../../clients/line-protocol.js';
import { packRows } from '../../clients/msgpackr.js';
import { trusting } from '../../clients/undici.js';
import { type HttpAddress, httpAddress } from '../requests/http-address.js';
import { keyHeader } from './points-query.js';
import type { SoakEncoding } from './soak-options.js';

const CONTENT_TYPES: Readonly<Record<SoakEncoding, string>> = {
  columnar: COLUMNS_CONTENT_TYPE,
  rows: ROWS_CONTENT_TYPE,
  lines: 'text/plain; charset=utf-8',
};

/** The time-out of a request in milliseconds. */
const TIMEOUT_MS = 30_000;

/** Encodes the current content of a batch. The next call reuses the bytes, so only one body of it may be in flight. */
export type BodyEncoder = () => Uint8Array;

/** A response, read whole. */
export interface SoakAnswer {
  readonly status: number;
  readonly text: string;
}

/** A client in Node. Rejects if there is no response. */
export interface SoakClient {
  encoder(names: SeriesNames, batch: ColumnBatch): BodyEncoder;
  write(path: string, body: Uint8Array): Promise<SoakAnswer>;
  close(): Promise<void>;
}

/** Opens a client with so many connections. */
export function openSoakClient(
  name: 'addon' | 'undici',
  url: string,
  connections: number,
  encoding: SoakEncoding,
): SoakClient {
  const address = httpAddress(url);
  return name === 'addon'
    ? new AddonClient(address, connections, encoding)
    : new UndiciSoak(address, connections, encoding);
}

function headersOf(address: HttpAddress, encoding: SoakEncoding): Record<string, string> {
  return { 'content-type': CONTENT_TYPES[encoding], ...keyHeader(address) };
}

class AddonClient implements SoakClient {
  readonly #client: HttpClient;
  readonly #encoding: SoakEncoding;

  constructor(address: HttpAddress, connections: number, encoding: SoakEncoding) {
    const { url, tlsCa } = address;
    const headers = headersOf(address, encoding);
    this.#client = new HttpClient(url, { connections, tlsCa, headers, timeoutMs: TIMEOUT_MS });
    this.#encoding = encoding;
  }

  encoder(names: SeriesNames, { values, timestamps }: ColumnBatch): BodyEncoder {
    const encoder = encoderOf(this.#encoding, names);
    let memory = Buffer.alloc(0);
    return () => {
      let length = encoder.encodeInto(memory, values, timestamps);
      if (length < 0) {
        // Twice the size, since lines get longer, and the encoder skips checks if there is ample room.
        memory = Buffer.allocUnsafeSlow(-2 * length);
        length = encoder.encodeInto(memory, values, timestamps);
      }
      return memory.subarray(0, length);
    };
  }

  async write(path: string, body: Uint8Array): Promise<SoakAnswer> {
    const response = await this.#client.request({ method: 'POST', path, body });
    return { status: response.status, text: response.text() };
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}

/** An encoder into memory that returns minus the bytes needed if they do not fit. */
function encoderOf(encoding: SoakEncoding, names: SeriesNames): Pick<LineEncoder, 'encodeInto'> {
  if (encoding === 'lines') return new LineEncoder(names);
  if (encoding === 'rows') return new RowsEncoder(names);
  const encoder = new ColumnsEncoder(names);
  return {
    encodeInto: (into, values, timestamps) => {
      const needed = encoder.mostBytes(values.length);
      return into.length < needed ? -needed : encoder.encodeInto(into, values, timestamps);
    },
  };
}

class UndiciSoak implements SoakClient {
  readonly #pool: Pool;
  readonly #encoding: SoakEncoding;
  readonly #headers: Record<string, string>;

  constructor(address: HttpAddress, connections: number, encoding: SoakEncoding) {
    const { url, tlsCa } = address;
    const timeouts = { headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS };
    this.#pool = new Pool(url, { connections, pipelining: 1, ...timeouts, ...trusting(tlsCa) });
    this.#encoding = encoding;
    this.#headers = headersOf(address, encoding);
  }

  encoder(names: SeriesNames, batch: ColumnBatch): BodyEncoder {
    if (this.#encoding === 'rows') return () => packRows(names, batch);
    return (this.#encoding === 'lines' ? lineProtocol : dataViewColumns).encoder!(names, batch);
  }

  async write(path: string, body: Uint8Array): Promise<SoakAnswer> {
    const answer = await this.#pool.request({ method: 'POST', path, headers: this.#headers, body });
    return { status: answer.statusCode, text: await answer.body.text() };
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }
}
