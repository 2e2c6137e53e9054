/** A server whose one result, of 200 000 rows, is made beforehand: it is sent as fast as the system takes it. */
import { createServer } from 'node:net';
import { parentPort } from 'node:worker_threads';

function packet(sequence, body) {
  return Buffer.concat([Buffer.from([body.length & 255, (body.length >> 8) & 255, 0, sequence & 255]), body]);
}

const sized = (text) => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]);

const greeting = Buffer.concat([
  Buffer.from('\n8.0.0\0'),
  Buffer.from([1, 0, 0, 0]),
  Buffer.from('12345678\0'),
  // The server's capabilities, in two parts: all except TLS.
  Buffer.from([0xff, 0xf7, 45, 2, 0, 0xff, 0x0f, 21]),
  Buffer.alloc(10),
  Buffer.from('abcdefghijkl\0mysql_native_password\0'),
]);
const column = Buffer.concat([
  ...['def', '', '', '', 'x', ''].map(sized),
  Buffer.from([12, 45, 0, 255, 255, 0, 0, 253, 0, 0, 0, 0, 0]),
]);
const head = Buffer.concat([packet(1, Buffer.from([1])), packet(2, column)]);
const end = (sequence) => packet(sequence, Buffer.from([0xfe, 0, 0, 2, 0, 0, 0]));
// The numbers of packets wrap at 256, so that every fourth of these parts has the same.
const parts = [0, 8000, 16_000, 24_000].map((first) =>
  Buffer.concat(Array.from({ length: 8000 }, (_, row) => packet(3 + first + row, sized('x'.repeat(200))))),
);

const server = createServer((socket) => {
  let isIn = false;
  socket.on('error', () => {});
  socket.write(packet(0, greeting));
  socket.on('data', (data) => {
    if (!isIn) socket.write(packet(data[3] + 1, Buffer.from([0, 0, 0, 2, 0, 0, 0])));
    else if (data.includes('max_allowed_packet'))
      socket.write(Buffer.concat([head, packet(3, sized('1048576')), end(4)]));
    else {
      socket.write(head);
      for (let part = 0; part < 25; part += 1) socket.write(parts[part % 4]);
      socket.write(end(3 + 200_000));
    }
    isIn = true;
  });
});
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has none
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
