/** A server of HTTP/2 that answers a request by frames that end nothing, of the kind that `workerData` names, for ever. */
import { createServer } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

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

const FLOODS = {
  'interim responses': (stream) => frame(HEADERS, 4, stream, Buffer.from('\u0008\u0003100')),
  pings: () => frame(6, 0, 0, Buffer.alloc(8)),
  settings: () => frame(SETTINGS, 0, 0, Buffer.from([0, 3, 0, 0, 0, 100])),
  priorities: (stream) => frame(2, 0, stream, Buffer.alloc(5)),
  'unknown frames': (stream) => frame(99, 0, stream, Buffer.alloc(5)),
};

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
      const flood = Buffer.concat(Array(500).fill(FLOODS[workerData](said.readUInt32BE(at + 5))));
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
