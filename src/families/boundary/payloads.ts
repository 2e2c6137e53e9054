/** Bytes and rows that go to another thread or process, or come from there: what carrying them costs. */
import { ANSWER_BYTES, Records } from './adder-socket.js';
import { Waiting, startProcess, startWorker } from './adders.js';
import { TURNS } from '../in-process.js';
import { bytesOf, endsOf } from './functions.js';
import { rowsOf } from './matrix.js';
import { kindOf } from './rows.js';

/** The size of a message that asks a child process for bytes. */
export const ASK_BYTES = 1;

/** The task of a worker thread. */
export interface PayloadTask {
  readonly workload: string;
  readonly lane: string;
}

/** One call after the other, each of which carries what the workload says and returns a number that depends on it. */
export interface Payload {
  /** Makes the call with a number, counted from 0. */
  carry(call: number): Promise<number>;
  close(): Promise<void>;
}

/** Messages to a worker thread and back: by structured clone, or with their memory transferred. */
export async function openWorkerPayload(task: PayloadTask): Promise<Payload> {
  const worker = await startWorker('payload-thread', task);
  const waiting = new Waiting<unknown>();
  worker.on('message', (answer: unknown) => waiting.answer(answer));
  const ask = (message: unknown, memory: ArrayBuffer[] = []): Promise<unknown> => {
    worker.postMessage(message, memory);
    return waiting.ask();
  };
  return { carry: carrierOf(task, ask), close: async () => void (await worker.terminate()) };
}

type Ask = (message: unknown, memory?: ArrayBuffer[]) => Promise<unknown>;

function carrierOf({ workload, lane }: PayloadTask, ask: Ask): Payload['carry'] {
  const [kind, size] = workload.split('.') as [string, string];
  switch (kind) {
    case 'bytes_in': {
      const turns = [...bytesOf(Number(size))];
      if (lane === 'clone') return async (call) => (await ask(turns[call % TURNS]!)) as number;
      return async (call) => {
        const turn = call % TURNS;
        const bytes = turns[turn]!;
        const [sum, back] = (await ask(bytes, [bytes.buffer as ArrayBuffer])) as [number, Uint8Array];
        // The memory is the other thread's until it comes back with the answer.
        turns[turn] = back;
        return sum;
      };
    }
    case 'bytes_out':
      return async () => endsOf((await ask(null)) as Uint8Array);
    case 'rows_in': {
      const { shape, count } = rowsOf(workload);
      const rows = kindOf(shape).make(count, shape.characters);
      return async () => (await ask(rows)) as number;
    }
    default: {
      const { sum } = kindOf(rowsOf(workload).shape);
      return async () => sum((await ask(null)) as unknown[]);
    }
  }
}

/** Bytes to a child process behind a Unix socket, or from it. */
export async function openProcessPayload({ workload }: PayloadTask): Promise<Payload> {
  const [direction, text] = workload.split('.') as [string, string];
  const size = Number(text);
  const { socket, close } = await startProcess('payload-process', [direction, text]);
  const waiting = new Waiting<number>();
  if (direction === 'bytes_in') {
    const answers = new Records(ANSWER_BYTES);
    socket.on('data', (piece) => answers.add(piece, (answer) => waiting.answer(answer.readDoubleLE(0))));
    const turns = bytesOf(size);
    return {
      carry(call) {
        socket.write(turns[call % TURNS]!);
        return waiting.ask();
      },
      close,
    };
  }
  const payloads = new Records(size);
  const request = Buffer.alloc(ASK_BYTES);
  socket.on('data', (piece) => payloads.add(piece, (payload) => waiting.answer(endsOf(payload))));
  return {
    carry() {
      socket.write(request);
      return waiting.ask();
    },
    close,
  };
}
