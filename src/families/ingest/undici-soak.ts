import { Pool, trusting } from '../../clients/undici.js';
import type { HttpAddress } from '../requests/http-address.js';
import type { SoakAnswer, SoakClient } from './soak-client.js';

/** What the client is told beside its address. */
export interface UndiciSoakOptions {
  readonly connections: number;
  readonly timeoutMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly encoderOf: SoakClient['encoder'];
}

/** The soak's client in JavaScript alone. */
export class UndiciSoak implements SoakClient {
  readonly #pool: InstanceType<typeof Pool>;
  readonly #headers: Record<string, string>;
  readonly encoder: SoakClient['encoder'];

  constructor({ url, tlsCa }: HttpAddress, { connections, timeoutMs, headers, encoderOf }: UndiciSoakOptions) {
    const timeouts = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs };
    this.#pool = new Pool(url, { connections, pipelining: 1, ...timeouts, ...trusting(tlsCa) });
    this.#headers = { ...headers };
    this.encoder = encoderOf;
  }

  async write(path: string, body: Uint8Array): Promise<SoakAnswer> {
    const answer = await this.#pool.request({ method: 'POST', path, headers: this.#headers, body });
    return { status: answer.statusCode, text: await answer.body.text() };
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }
}
