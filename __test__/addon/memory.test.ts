/** Memory that is detached or shrinks while it is used, and corrupt bytes. */
import { expect, test } from 'vitest';

import { resultOf } from './run-script.js';

const bad = (text: string) => expect.stringContaining(`[BB_INVALID_ARGUMENT] ${text}`);
const tooShort = bad('column "id": 2 rows take 8 bytes of values, 0 were given');
const noBytes = bad('expected a Uint8Array');
const shared = bad('memory shared between threads');

test('memory that is gone, shrunk or shared is refused, and no script crashes Node by it', async () => {
  expect(await resultOf('memory.mjs')).toEqual({
    good: true,
    'four billion parts': bad('expected an array of 6 elements'),
    'a DataView': noBytes,
    'other elements': noBytes,
    'a proxy of an array': bad('expected an array'),
    'a proxy of bytes': noBytes,
    'shared memory': shared,
    detached: tooShort,
    'detached by a later part': tooShort,
    'shrunk by a later part': tooShort,
    'cut off by a shrunk buffer': tooShort,
    'of a grown buffer': true,
    'an array cut by its own element': noBytes,
    'a part that throws': 'RangeError: of the getter',
    'a part that aborts the insert': 'Error: [BB_CLOSED] the inserter is closed',
    'a part that executes the insert': 'Error: [BB_CLOSED] the inserter is closed',
    'a part that writes itself': 4,
    'a part that closes the engine': 2,
    'columns that vanish while they are read': expect.stringContaining('Error'),
    'four billion columns': bad('a table has at most 65536 columns'),
    'IPC bytes detached': true,
    'IPC bytes shared': shared,
    'IPC bytes cut off by a shrunk buffer': true,
    'naive: four billion rows': bad('row 0'),
    'naive: detached': true,
    'naive: shared': expect.stringContaining('[BB_INVALID_VALUE] row 0, column "bytes": memory shared'),
    'naive: cut off by a shrunk buffer': true,
    'naive: a value that throws': 'RangeError: of the getter',
    'naive: a row that adds rows': 3,
    'columns decoded into memory that is read or written twice': [1, 2, 3].map(() =>
      bad('the memory to decode into must not be the memory of the bytes, nor the same for both'),
    ),
    'a frame released twice': [0, 0],
    'a frame given to another thread': 2,
    'a frame in another buffer': [0, 0],
    'frames released by one turn of the event loop': true,
    'frames released with a collector that throws': [true, true],
    'a collector that is no function': bad('collectYoungBy takes a function'),
    'a frame in the memory of a released one': [1, 2],
    'a frame of a WebAssembly memory': bad("the buffer can't be detached"),
    'a shared frame': bad('releaseFrame takes an ArrayBuffer'),
  });
});

test.each([1, 2, 3])('corrupt Arrow bytes are refused or read whole (seed %i)', async (seed) => {
  const outcomes = (await resultOf('corrupt-ipc.mjs', [`${seed}`, '1000'])) as Record<string, number>;
  const { taken, ...refused } = outcomes;
  expect(taken).toBeGreaterThan(0);
  expect(refused['BB_INVALID_IPC']).toBeGreaterThan(0);
  const codes = ['BB_INVALID_IPC', 'BB_INVALID_VALUE', 'BB_SCHEMA_MISMATCH'];
  expect(Object.keys(refused).filter((code) => !codes.includes(code))).toEqual([]);
});
