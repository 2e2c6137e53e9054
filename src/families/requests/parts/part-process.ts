/** The program of a process that measures a part of a cell: it makes the calls that the process of the cell asks for. */
import { sentError } from '../../../errors.js';
import { close, finish, load, open, prepare, verify } from './part.js';
import type { FromPart, PartCall, PartMessage } from './part-processes.js';

const FUNCTIONS = { open, prepare, load, finish, verify, close } satisfies Record<PartCall['name'], unknown>;

let aborting = new AbortController();

// The process of the cell decides what becomes of this one. Without it, nobody waits for the samples.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => {});
process.once('disconnect', () => process.exit());
process.on('message', (message: PartMessage) => {
  if (message.type === 'abort') aborting.abort();
  else void answer(message);
});

async function answer({ name, argument }: PartCall): Promise<void> {
  aborting = new AbortController();
  let reply: FromPart;
  try {
    const work = FUNCTIONS[name] as (argument: unknown, context: { readonly signal: AbortSignal }) => Promise<unknown>;
    reply = { type: 'returned', value: await work(argument, { signal: aborting.signal }) };
  } catch (thrown) {
    reply = { type: 'failed', error: sentError(thrown) };
  }
  process.send?.(reply, () => {
    // Handles that the cell has left open must not keep the process alive.
    if (name === 'close') process.exit();
  });
}
