/** The workers of the soak in Node. `native/suite/src/ingest/soak.rs` has the same in Rust. */
import { setTimeout as delay } from 'node:timers/promises';

import { type BoundaryError, TIMEOUT, toBoundaryError } from '../../errors.js';
import { type Requester, runLoad } from '../requests/load.js';
import { checkKept, RefusedWrite } from './points-query.js';
import { SoakSeries } from './soak-batch.js';
import type { SoakAnswer, SoakClient } from './soak-client.js';
import type { SoakFigures, SoakLoad } from './soak.js';

/** The milliseconds that a worker waits after a failure, so that a server that is down is not flooded. */
const REST_MS = 10;

/** Posts batches with this client, during the warm-up and then the measurement, or until the signal is aborted. */
export async function postAll(client: SoakClient, load: SoakLoad, signal: AbortSignal): Promise<SoakFigures> {
  const { batchSize, durationSeconds, rate, warmupSeconds } = load;
  const tally: Tally = { acknowledged: 0, uncertain: 0, errors: new Map() };
  const workers = Array.from({ length: load.workers }, (_, number) => new SoakWorker(client, load, number, tally));
  await runLoad(workers, { requests: Infinity, seconds: warmupSeconds, rate }, signal);
  tally.errors.clear();
  const measured = await runLoad(workers, { requests: Infinity, seconds: durationSeconds, rate }, signal);
  const { seconds, latency, unsent } = measured;
  return {
    points: latency.count * batchSize,
    seconds,
    requests: latency.count,
    latency: latency.summary(),
    errors: Object.fromEntries(tally.errors),
    acknowledged: tally.acknowledged,
    uncertain: tally.uncertain,
    unsent,
  };
}

/** The counts of all workers. */
interface Tally {
  /** The points acknowledged. */
  acknowledged: number;
  /** The points of requests without a response. */
  uncertain: number;
  /** The number of failures of each kind. */
  readonly errors: Map<string, number>;
}

class SoakWorker implements Requester {
  readonly #client: SoakClient;
  readonly #load: SoakLoad;
  readonly #series: SoakSeries;
  readonly #tally: Tally;
  /** The number of the next request's first point, counted through warm-up and measurement. */
  #from = 0;

  constructor(client: SoakClient, load: SoakLoad, number: number, tally: Tally) {
    this.#client = client;
    this.#load = load;
    this.#series = new SoakSeries(client, load.measurement, number, load.firstTime);
    this.#tally = tally;
  }

  async request(): Promise<void> {
    const { batchSize, path } = this.#load;
    const body = this.#series.body(this.#from, this.#from + batchSize);
    this.#from += batchSize;
    let answer: SoakAnswer;
    try {
      answer = await this.#client.write(path, body);
    } catch (thrown) {
      if (wasSent(thrown)) this.#tally.uncertain += batchSize;
      throw thrown;
    }
    checkKept(answer);
    this.#tally.acknowledged += batchSize;
  }

  async failed(thrown: unknown): Promise<void> {
    const kind = thrown instanceof RefusedWrite ? thrown.message : codeOf(thrown);
    const { errors } = this.#tally;
    errors.set(kind, (errors.get(kind) ?? 0) + 1);
    await delay(REST_MS);
  }
}

/** The codes of undici and the system for a connection that is lost or can't be made. */
const UNCONNECTED =
  /^(UND_ERR_(SOCKET|CONNECT_TIMEOUT|CLOSED|DESTROYED)|E(CONN\w+|PIPE|HOSTUNREACH|NETUNREACH|TIMEDOUT))$/;

/** The code of an error: one for each kind of failure, whichever client and moment it is of. */
function codeOf(thrown: unknown): string {
  const { code } = thrown as { code?: unknown };
  if (typeof code !== 'string') return toBoundaryError(thrown).code;
  if (UNCONNECTED.test(code)) return 'BB_CONNECTION';
  return /^UND_ERR_\w+_TIMEOUT$/.test(code) ? TIMEOUT : code;
}

/** Whether a request that failed may have reached the server: not without a connection. */
function wasSent(thrown: unknown): boolean {
  const { code, syscall, outcome } = thrown as NodeJS.ErrnoException & Pick<BoundaryError, 'outcome'>;
  const isRefused = syscall === 'connect' || code === 'UND_ERR_CONNECT_TIMEOUT';
  return !isRefused && outcome !== 'not executed';
}
