/** The module of the child process to which bytes go, or from which they come, over the Unix socket of the path that it is given. */
import { connect } from 'node:net';

import { ANSWER_BYTES, Records } from './adder-socket.js';
import { bytesOf, endsOf } from './functions.js';
import { ASK_BYTES } from './payloads.js';

const [, , path, direction, text] = process.argv as [string, string, string, string, string];
const size = Number(text);
const socket = connect(path);
socket.setNoDelay();
if (direction === 'bytes_in') {
  const payloads = new Records(size);
  socket.on('data', (piece) =>
    payloads.add(piece, (payload) => {
      const answer = Buffer.allocUnsafe(ANSWER_BYTES);
      answer.writeDoubleLE(endsOf(payload), 0);
      socket.write(answer);
    }),
  );
} else {
  const bytes = bytesOf(size)[0]!;
  const asked = new Records(ASK_BYTES);
  socket.on('data', (piece) => asked.add(piece, () => void socket.write(bytes)));
}
