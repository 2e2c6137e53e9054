/** The program of a pool's thread: it loads the module, attaches to the engine, and makes the calls that it gets. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';

import {
  BoundaryError,
  invalidArgument,
  type SentError,
  sentError,
  toBoundaryError,
  UNEXPECTED,
} from '../../errors.js';
import type { Connection } from '../engine/connection.js';
import type { FromThread, ThreadStart, ToThread } from './worker-messages.js';
import type { WorkerContext } from './worker-pool.js';

/** The objects that a message may hand over, as the channel takes them. */
type TransferList = NonNullable<Parameters<MessagePort['postMessage']>[1]> & readonly unknown[];

const port = parentPort as MessagePort;
const { module, engine, index, count } = workerData as ThreadStart;
let aborting = new AbortController();

try {
  const functions = await load();
  // Imported only here, so that a thread without an engine does not load the addon.
  const connection = engine === undefined ? undefined : (await import('../engine/connection.js')).attach(engine);
  port.on('message', (message: ToThread) => {
    if (message.type === 'call') void call(functions, connection, message);
    else if (message.type === 'abort') aborting.abort();
    else void close(connection);
  });
  port.on('messageerror', (cause) => port.postMessage(failure(notCloneable('the argument', cause))));
  port.postMessage({ type: 'boundary-bench:ready' } satisfies FromThread);
} catch (thrown) {
  port.postMessage(failure(toBoundaryError(thrown)));
}

async function load(): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(module)) as Record<string, unknown>;
  } catch (cause) {
    throw new BoundaryError('BB_MODULE_NOT_LOADED', `${module} can't be loaded: ${toBoundaryError(cause).message}`, {
      hint: 'Node runs the modules of threads as they are: give the URL of the JavaScript that TypeScript is compiled to',
      cause,
    });
  }
}

async function call(
  functions: Readonly<Record<string, unknown>>,
  connection: Connection | undefined,
  { name, argument }: Extract<ToThread, { type: 'call' }>,
): Promise<void> {
  aborting = new AbortController();
  const transferred: unknown[] = [];
  const context: WorkerContext = {
    index,
    count,
    signal: aborting.signal,
    get connection() {
      if (connection !== undefined) return connection;
      throw invalidArgument('the pool was made without a connection', {
        hint: 'Give one: createWorkers({ connection })',
      });
    },
    transfer: (...values) => void transferred.push(...values),
  };
  let reply: FromThread;
  try {
    reply = { type: 'boundary-bench:returned', value: await functionOf(functions, name)(argument, context) };
  } catch (thrown) {
    reply = failure(failed(name, thrown));
  }
  try {
    port.postMessage(reply, (reply.type === 'boundary-bench:returned' ? transferred : []) as TransferList);
  } catch (cause) {
    const problem =
      reply.type === 'boundary-bench:failed'
        ? { ...reply.error, cause: undefined }
        : notCloneable(`what ${name} returned`, cause);
    port.postMessage(failure(problem));
  }
}

function functionOf(
  functions: Readonly<Record<string, unknown>>,
  name: string,
): (argument: unknown, context: WorkerContext) => unknown {
  const found = Object.hasOwn(functions, name) ? functions[name] : undefined;
  if (typeof found === 'function') return found as ReturnType<typeof functionOf>;
  const names = Object.keys(functions).filter((key) => typeof functions[key] === 'function');
  throw new BoundaryError('BB_FUNCTION_NOT_FOUND', `${module} exports no function ${JSON.stringify(name)}`, {
    hint: names.length === 0 ? 'It exports no functions' : `It exports ${names.join(', ')}`,
  });
}

/** The error of a function: with its own code if that is one of this package's, else as the cause. */
function failed(name: string, thrown: unknown): SentError {
  const error = sentError(thrown);
  if (error.code !== UNEXPECTED) return error;
  return { code: 'BB_FUNCTION_FAILED', message: `${name} failed: ${error.message}`, cause: thrown };
}

function notCloneable(what: string, cause: unknown): SentError {
  return { code: 'BB_NOT_CLONEABLE', message: `${what} can't be sent to another thread: ${String(cause)}` };
}

function failure({ code, message, hint, cause }: SentError): FromThread {
  return { type: 'boundary-bench:failed', error: { code, message, hint, cause } };
}

async function close(connection: Connection | undefined): Promise<void> {
  try {
    await connection?.close();
  } finally {
    // The thread ends when nothing else keeps it.
    port.close();
  }
}
