/** A server of HTTP/2 that answers a request by pings, for ever. */
import { createServer } from 'node:net';
import { parentPort } from 'node:worker_threads';

const SETTINGS = 4;
const HEADERS = 1;
const ACK = 1;

function frame(type, flags, stream, payload) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const flood = Buffer.concat(Array(500).fill(frame(6, 0, 0, Buffer.alloc(8))));

const server = createServer((socket) => {
  let said = Buffer.alloc(0);
  let at = 24;
  socket.on('error', () => {});
  socket.write(frame(SETTINGS, 0, 0, Buffer.alloc(0)));
  const hear = (data) => {
    said = Buffer.concat([said, data]);
    for (; said.length >= at + 9 && said.length >= at + 9 + said.readUIntBE(at, 3); at += 9 + said.readUIntBE(at, 3)) {
      const type = said[at + 3];
      if (type === SETTINGS && !(said[at + 4] & ACK)) socket.write(frame(SETTINGS, ACK, 0, Buffer.alloc(0)));
      if (type !== HEADERS) continue;
      const write = () => {
        while (!socket.destroyed && socket.write(flood));
      };
      socket.off('data', hear).on('data', () => {});
      socket.on('drain', write);
      return write();
    }
  };
  socket.on('data', hear);
});
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has none
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
