/** The clients that make and send the soak's bodies: the addon, or JavaScript alone. */
import { BoundaryError, UNSUPPORTED } from '../../errors.js';
import { COLUMNS_CONTENT_TYPE, ColumnsEncoder, type SeriesNames } from '../../library/codecs/columns-codec.js';
import { HttpClient } from '../../library/http/http-client.js';
import { LineEncoder } from '../../library/codecs/line-codec.js';
import { ROWS_CONTENT_TYPE, RowsEncoder } from '../../library/codecs/rows-codec.js';
import type { ColumnBatch } from '../../clients/js-codec.js';
import { whyUnusable } from '../../clients/optional-package.js';
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

/**
 * Opens a client with `connections` connections. Throws a `BoundaryError` with the code `BB_UNSUPPORTED` if a package
 * that the client needs is not installed.
 */
export async function openSoakClient(
  name: 'addon' | 'undici',
  url: string,
  connections: number,
  encoding: SoakEncoding,
): Promise<SoakClient> {
  const address = httpAddress(url);
  if (name === 'addon') return new AddonClient(address, connections, encoding);
  const missing = whyUnusable(...soakPackages(encoding));
  if (missing !== undefined) throw new BoundaryError(UNSUPPORTED, missing);
  const [{ UndiciClient }, encoder] = await Promise.all([import('../../clients/undici.js'), jsEncoder(encoding)]);
  const client = new UndiciClient(address.url, {
    connections,
    pipelining: 1,
    headers: headersOf(address, encoding),
    dispatches: false,
    tlsCa: address.tlsCa,
    timeoutMs: TIMEOUT_MS,
  });
  return { encoder, write: client.post, close: () => client.close() };
}

/** The packages that the client in JavaScript needs for an encoding. */
export function soakPackages(encoding: SoakEncoding): readonly string[] {
  return encoding === 'rows' ? ['undici', 'msgpackr'] : ['undici'];
}

/** Makes encoders in JavaScript alone. Only the encoders of rows need a package. */
async function jsEncoder(encoding: SoakEncoding): Promise<SoakClient['encoder']> {
  if (encoding === 'rows') {
    const { packRows } = await import('../../clients/msgpackr.js');
    return (names, batch) => () => packRows(names, batch);
  }
  const codec =
    encoding === 'lines'
      ? (await import('../../clients/line-protocol.js')).lineProtocol
      : (await import('../../clients/data-view-columns.js')).dataViewColumns;
  return (names, batch) => codec.encoder!(names, batch);
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
