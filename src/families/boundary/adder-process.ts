/** The module of the child process that adds: pairs of numbers come over the Unix socket of the path that it is given. */
import { connect } from 'node:net';

import { ANSWER_BYTES, REQUEST_BYTES, Records } from './adder-socket.js';

const socket = connect(process.argv[2]!);
const requests = new Records(REQUEST_BYTES);
socket.setNoDelay();
socket.on('data', (piece) => {
  const pieces: Buffer[] = [];
  requests.add(piece, (request) => {
    const answer = Buffer.allocUnsafe(ANSWER_BYTES);
    answer.writeDoubleLE(request.readDoubleLE(0) + request.readDoubleLE(8), 0);
    pieces.push(answer);
  });
  if (pieces.length > 0) socket.write(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces));
});
