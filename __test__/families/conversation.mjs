// A program that answers by a conversation of __test__/fixtures/protocol.json: `node conversation.mjs NAME`. An order that is not the next
// one of the conversation is answered by `failed`.
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';

const file = new URL('../fixtures/protocol.json', import.meta.url);
const { exchanges } = JSON.parse(readFileSync(file, 'utf8')).find(({ name }) => name === process.argv[2]);
let input = Buffer.alloc(0);
for await (const piece of process.stdin) {
  input = Buffer.concat([input, piece]);
  while (answerNext());
}

/** Answers the next order if all of it is there. Returns whether it was. */
function answerNext() {
  const end = input.indexOf('\n');
  if (end === -1 || exchanges.length === 0) return false;
  const { order, bytes, answer } = exchanges[0];
  const raw = Buffer.from(bytes ?? []);
  if (input.length < end + 1 + raw.length) return false;
  const given = JSON.parse(input.subarray(0, end).toString());
  const follows = input.subarray(end + 1, end + 1 + raw.length);
  const isNext = isDeepStrictEqual(given, order) && follows.equals(raw);
  exchanges.shift();
  input = input.subarray(end + 1 + raw.length);
  if (!isNext) say({ type: 'failed', message: `got ${JSON.stringify(given)}, not ${JSON.stringify(order)}` });
  else if (answer !== undefined) say(answer);
  return true;
}

function say(answer) {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
