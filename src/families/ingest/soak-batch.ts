/** The batches of the soak: the points in memory, and as the bodies of requests. */
import type { ColumnBatch } from '../../clients/js-codec.js';
import { matrix } from './matrix.js';
import { FIELD } from './points-query.js';
import type { BodyEncoder, SoakClient } from './soak-client.js';

const HALF = 2 ** 32;
const { valueDivisor: VALUE_DIVISOR } = matrix;

/** A batch of points in reused memory: point `i` has the value `i / 1000`, and its time is `i` milliseconds after the first. */
export class SoakBatch implements ColumnBatch {
  readonly values: Float64Array;
  readonly timestamps: BigInt64Array;
  readonly #halves: Uint32Array;

  constructor(points: number) {
    this.values = new Float64Array(points);
    this.timestamps = new BigInt64Array(points);
    this.#halves = new Uint32Array(this.timestamps.buffer);
  }

  /** Fills the batch with the points from number `from` on. */
  fill(from: number, firstTime: number): void {
    const { values } = this;
    // Written by halves, since a bigint per point would take longer than sending the batch.
    const halves = this.#halves;
    for (let index = 0; index < values.length; index += 1) {
      const time = firstTime + from + index;
      values[index] = (from + index) / VALUE_DIVISOR;
      halves[2 * index] = time % HALF;
      halves[2 * index + 1] = time / HALF;
    }
  }
}

/** The bodies of one connection, which has a series of its own, so that no two of its points share a time. */
export class SoakSeries {
  readonly #client: SoakClient;
  readonly #names: Parameters<SoakClient['encoder']>[0];
  readonly #firstTime: number;
  /** The encoders, by the number of points: the last batch of a sample may be smaller. */
  readonly #encoders = new Map<number, { readonly batch: SoakBatch; readonly encode: BodyEncoder }>();

  constructor(client: SoakClient, measurement: string, worker: number, firstTime: number) {
    this.#client = client;
    this.#names = { measurement, tags: { worker: `${worker}` }, field: FIELD };
    this.#firstTime = firstTime;
  }

  /** The points from number `from` to `to`, exclusive, as a body. The next one of as many points reuses its bytes. */
  body(from: number, to: number): Uint8Array {
    const { batch, encode } = this.#encoderOf(to - from);
    batch.fill(from, this.#firstTime);
    return encode();
  }

  #encoderOf(points: number): { readonly batch: SoakBatch; readonly encode: BodyEncoder } {
    let encoder = this.#encoders.get(points);
    if (encoder === undefined) {
      const batch = new SoakBatch(points);
      encoder = { batch, encode: this.#client.encoder(this.#names, batch) };
      this.#encoders.set(points, encoder);
    }
    return encoder;
  }
}
