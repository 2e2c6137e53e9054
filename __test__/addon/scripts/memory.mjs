/** Gives the addon memory that is detached, shrinks or is shared; prints the outcome of each case. */
import { addon } from '../../../dist/addon.js';

const table = {
  name: 't',
  columns: [
    { name: 'id', kind: 'int', nullable: false },
    { name: 'note', kind: 'text', nullable: true },
  ],
};
const binary = { name: 'b', columns: [{ name: 'bytes', kind: 'bytes', nullable: true }] };
const engine = await addon.Engine.open('memory:');
await engine.createTable(table, 'create');
await engine.createTable(binary, 'create');

const ids = () => new Uint8Array(Int32Array.of(1, 2).buffer);
const offsets = () => new Uint8Array(Int32Array.of(0, 1, 2).buffer);
const notes = () => Uint8Array.of(97, 98);
const parts = (id = ids(), note = notes()) => [null, null, id, null, offsets(), note];
const resizable = (length) => new ArrayBuffer(length, { maxByteLength: 64 });
/** An array one of whose elements runs `effect` when it is read. */
const withGetter = (array, index, effect) => {
  const element = array[index];
  return Object.defineProperty(array, index, { get: () => (effect(), element) });
};
const detach = (array) => {
  structuredClone(array.buffer, { transfer: [array.buffer] });
  return array;
};
const shrunk = (array, length) => {
  array.buffer.resize(length);
  return array;
};

const written = (make) => () => {
  const inserter = engine.inserter(table);
  return inserter.writeColumns(2, make(inserter));
};
const shards = await addon.RawShardClient.connect([addon.RawShardStore.inMemory().place]);
/** 2048 keys: enough that the frame of their rows is not copied. */
const keys = (first) => new Int32Array(2048).map((_, index) => first + index);

const CASES = {
  good: written(() => parts()),
  'four billion parts': written(() => Object.assign([], { length: 2 ** 32 - 1 })),
  'a DataView': written(() => parts(new DataView(ids().buffer))),
  'other elements': written(() => parts(Int32Array.of(1, 2))),
  'a proxy of an array': written(() => new Proxy(parts(), {})),
  'a proxy of bytes': written(() => parts(new Proxy(ids(), {}))),
  'shared memory': written(() => parts(new Uint8Array(new SharedArrayBuffer(8)))),
  detached: written(() => parts(detach(ids()))),
  'detached by a later part': written(() => {
    const all = parts();
    return withGetter(all, 5, () => detach(all[2]));
  }),
  'shrunk by a later part': written(() => {
    const id = new Uint8Array(resizable(8));
    return withGetter(parts(id), 5, () => id.buffer.resize(0));
  }),
  'cut off by a shrunk buffer': written(() => parts(shrunk(new Uint8Array(resizable(16), 8, 8), 4))),
  'of a grown buffer': written(() => parts(shrunk(new Uint8Array(resizable(4)), 8))),
  'an array cut by its own element': written(() => {
    const all = parts();
    return withGetter(all, 0, () => (all.length = 3));
  }),
  'a part that throws': written(() =>
    withGetter(parts(), 0, () => {
      throw new RangeError('of the getter');
    }),
  ),
  'a part that aborts the insert': written((inserter) => withGetter(parts(), 0, () => void inserter.abort())),
  'a part that executes the insert': written((inserter) => withGetter(parts(), 0, () => void inserter.execute())),
  'a part that writes itself': async () => {
    const inserter = engine.inserter(table);
    inserter.writeColumns(
      2,
      withGetter(parts(), 0, () => inserter.writeColumns(2, parts())),
    );
    return inserter.execute();
  },
  'a part that closes the engine': async () => {
    const other = await addon.Engine.open('memory:');
    await other.createTable(table, 'create');
    const inserter = other.inserter(table);
    inserter.writeColumns(
      2,
      withGetter(parts(), 0, () => other.close()),
    );
    return inserter.execute();
  },
  'columns that vanish while they are read': () => {
    const columns = [...table.columns, ...table.columns];
    return engine.inserter({ name: 't', columns: withGetter(columns, 0, () => (columns.length = 0)) });
  },
  'four billion columns': () => engine.inserter({ name: 't', columns: Object.assign([], { length: 2 ** 32 - 1 }) }),
  'IPC bytes detached': () => engine.inserter(table).writeIpc(detach(ids())),
  'IPC bytes shared': () => engine.inserter(table).writeIpc(new Uint8Array(new SharedArrayBuffer(8))),
  'IPC bytes cut off by a shrunk buffer': () =>
    engine.inserter(table).writeIpc(shrunk(new Uint8Array(resizable(16), 8, 8), 4)),
  'naive: four billion rows': () => engine.naiveInserter(table).addRows(Object.assign([], { length: 2 ** 32 - 1 })),
  'naive: detached': () => engine.naiveInserter(binary).addRows([[detach(notes())]]),
  'naive: shared': () => engine.naiveInserter(binary).addRows([[new Uint8Array(new SharedArrayBuffer(8))]]),
  'naive: cut off by a shrunk buffer': () =>
    engine.naiveInserter(binary).addRows([[shrunk(new Uint8Array(resizable(16), 8, 8), 4)]]),
  'naive: a value that throws': () =>
    engine.naiveInserter(binary).addRows([
      withGetter([null], 0, () => {
        throw new RangeError('of the getter');
      }),
    ]),
  'naive: a row that adds rows': async () => {
    const inserter = engine.naiveInserter(binary);
    inserter.addRows([withGetter([notes()], 0, () => inserter.addRows([[null], [null]]))]);
    return inserter.execute();
  },
  'columns decoded into memory that is read or written twice': () => {
    const decode = new addon.RawColumnsReader().decoder();
    const memory = [16, 16, 16].map((bytes) => new ArrayBuffer(bytes));
    return [
      [0, 0, 2],
      [0, 1, 0],
      [0, 1, 1],
    ].map(([bytes, values, times]) => {
      try {
        return decode(
          new Uint8Array(memory[bytes]),
          new Float64Array(memory[values]),
          new BigInt64Array(memory[times]),
        );
      } catch (error) {
        return error.message;
      }
    });
  },
  'a frame released twice': async () => {
    const frame = await (await engine.query('SELECT id FROM t')).next();
    const view = new Uint8Array(frame);
    addon.releaseFrame(frame);
    addon.releaseFrame(frame);
    return [frame.byteLength, view.length];
  },
  'a frame given to another thread': async () => {
    const frame = await (await engine.query('SELECT id FROM t')).next();
    try {
      const copy = structuredClone(frame, { transfer: [frame] });
      addon.releaseFrame(frame);
      return new Uint32Array(copy)[0];
    } catch (error) {
      // Node 20 makes a copy, later versions refuse.
      if (error.name !== 'DataCloneError') throw error;
      return new Uint32Array(frame)[0];
    }
  },
  'a frame in another buffer': () => {
    const frame = shards.multiGetNow(keys(3)).rows;
    // `transfer` exists from Node 22 on.
    const other = frame.transfer?.() ?? frame;
    addon.releaseFrame(other);
    return [frame.byteLength, other.byteLength];
  },
  'frames released by one turn of the event loop': () => {
    const { rss } = process.memoryUsage();
    for (let round = 0; round < 2000; round++) addon.releaseFrame(shards.multiGetNow(keys(0)).rows);
    return process.memoryUsage().rss - rss < 100 << 20;
  },
  'frames released with a collector that throws': () => {
    let calls = 0;
    addon.collectYoungBy(() => {
      calls += 1;
      throw new Error('of the collector');
    });
    const { rss } = process.memoryUsage();
    for (let round = 0; round < 2000; round++) addon.releaseFrame(shards.multiGetNow(keys(0)).rows);
    return [calls > 0, process.memoryUsage().rss - rss < 100 << 20];
  },
  'a collector that is no function': () => addon.collectYoungBy({}),
  'a frame in the memory of a released one': async () => {
    addon.releaseFrame(shards.multiGetNow(keys(0)).rows);
    const second = shards.multiGetNow(keys(1)).rows;
    // Node now runs the finalizer of the first frame.
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    const third = shards.multiGetNow(keys(2)).rows;
    return [second, third].map((frame) => Number(new BigInt64Array(frame, new Uint32Array(frame)[5], 1)[0]));
  },
  'a frame of a WebAssembly memory': () => addon.releaseFrame(new WebAssembly.Memory({ initial: 1 }).buffer),
  'a shared frame': () => addon.releaseFrame(new SharedArrayBuffer(8)),
};

const outcomes = {};
for (const [name, run] of Object.entries(CASES)) {
  try {
    outcomes[name] = await run();
  } catch (error) {
    outcomes[name] = `${error.name}: ${error.message}`;
  }
}
console.log(JSON.stringify(outcomes));
