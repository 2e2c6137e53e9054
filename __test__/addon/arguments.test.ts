/** Arguments and receivers of the wrong kind, for every entry of the raw addon. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { addon } from '../../src/addon.js';
import { detached } from '../detached.js';
import { openEngine } from '../../src/library/engine/open-engine.js';

type Call = (...args: unknown[]) => unknown;
type Methods = Record<string, Call>;

const { Engine, RawInserter, NaiveInserter, FrameReader, NaiveReader, Statement, Cancel } = addon;
type Engine = InstanceType<typeof Engine>;
const spec = {
  name: 't',
  columns: [
    { name: 'id', kind: 'int', nullable: false },
    { name: 'note', kind: 'text', nullable: true },
  ],
} as unknown as Parameters<Engine['inserter']>[0];

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine('embedded:');
  await engine.createTable(spec, 'create' as Parameters<Engine['createTable']>[1]);
});
afterAll(() => engine.close());

/** The error that a call throws or rejects with, which must be an error of ours, or a type error of Node-API. */
async function refusal(call: () => unknown): Promise<Error & { code?: string }> {
  let value: unknown;
  try {
    value = await call();
  } catch (error) {
    if (!(error instanceof Error)) throw new Error('what it throws is no error', { cause: error });
    const { code, message }: Error & { code?: string } = error;
    const isExplained =
      /^\[BB_[A-Z_]+\] /.test(message) ||
      error instanceof TypeError ||
      /^(InvalidArg|[A-Z][a-z]+Expected|GenericFailure)$/.test(code ?? '') ||
      message === 'Class contains no `constructor`, can not new it!';
    if (!isExplained) throw new Error(`an error without a code of ours: ${code}: ${message}`, { cause: error });
    return error;
  }
  throw new Error(`it was taken, and gave ${String(value)}`);
}

const ODD: [string, unknown][] = [
  ...[undefined, null, Number.NaN, 1.5, -1, 1e300, 10n].map((value): [string, unknown] => [String(value), value]),
  ['an object', {}],
  ['an array', []],
  ['a symbol', Symbol('odd')],
  ['a function', () => 'x'],
  ['a proxy', new Proxy([], {})],
];
const STRINGS = Object.entries({ 'text with NUL': 'x\0y', 'no text': '' });

describe('if a string is expected', () => {
  const methods = ['describeTable', 'execute', 'query', 'queryNaive', 'queryToArrow', 'prepare'];
  test.each(methods.flatMap((method) => ODD.map(([name, value]) => [method, name, value] as const)))(
    '%s refuses %s',
    async (method, _, value) => {
      await refusal(() => (engine as unknown as Methods)[method]!(value));
    },
  );

  test.each(ODD)('open, attach and dropTable refuse %s', async (_, value) => {
    await refusal(() => Engine.open(value as string));
    await refusal(() => Engine.attach(value as string));
    await refusal(() => engine.dropTable(value as string));
  });

  test.each(STRINGS)('%s names no table, query or engine', async (_, value) => {
    for (const method of ['describeTable', 'query', 'queryNaive', 'queryToArrow', 'prepare']) {
      const { message } = await refusal(() => (engine as unknown as Methods)[method]!(value));
      expect(message).toMatch(/^\[BB_(INVALID_ARGUMENT|TABLE_NOT_FOUND)\] /);
    }
    for (const uri of [value as string, `embedded:/no/such/folder/${String(value)}\0`, `memory:${String(value)}x`]) {
      await refusal(() => Engine.open(uri));
      await refusal(() => Engine.attach(uri));
    }
  });
});

describe('if something else is expected', () => {
  test.each([...ODD, ...STRINGS])('a definition that is %s', async (_, value) => {
    const takesTable: Call[] = [
      (table) => engine.createTable(table as never, 'replace' as never),
      (table) => engine.inserter(table as never),
      (table) => engine.naiveInserter(table as never),
    ];
    const decimal = (precision: unknown, scale: unknown) => ({
      name: 'd',
      columns: [{ name: 'x', kind: 'decimal', precision, scale, nullable: true }],
    });
    for (const take of takesTable) {
      await refusal(() => take(value));
      await refusal(() => take({ name: 'd', columns: value }));
      await refusal(() => take({ name: 'd', columns: [value] }));
      await refusal(() => take({ name: 'd', columns: [{ name: 'x', kind: value, nullable: true }] }));
      await refusal(() => take({ name: 'd', columns: [{ name: 'x', kind: 'int', nullable: value }] }));
      await refusal(() => take({ name: 'd', columns: [{ name: value, kind: 'int', nullable: true }] }));
      await refusal(() => take(decimal(value, 0)));
      await refusal(() => take(decimal(9, value)));
    }
    await refusal(() => engine.createTable(spec, value as never));
  });

  test.each([0, 39, 255, 256, 260, 2 ** 32 + 4, -4, 4.5])('no decimal has %d digits', async (precision) => {
    const columns = [{ name: 'x', kind: 'decimal', precision, scale: 0, nullable: true }];
    const { message } = await refusal(() => engine.inserter({ name: 'd', columns } as never));
    expect(message).toMatch(/^\[BB_INVALID_ARGUMENT\] .*precision/);
  });

  test.each(ODD.filter(([, value]) => value !== undefined && value !== null))('query options: %s', async (_, value) => {
    for (const method of ['query', 'queryNaive', 'queryToArrow']) {
      await refusal(() => (engine as unknown as Methods)[method]!('SELECT 1', value));
      await refusal(() => (engine as unknown as Methods)[method]!('SELECT 1', 1, value));
    }
    await refusal(() => engine.execute('SELECT 1', value as never));
    await refusal(() => engine.prepare('SELECT 1', value as never));
    // An object of another class of the addon.
    await refusal(() => engine.execute('SELECT 1', engine as never));
  });

  test.each([2 ** 24 + 1, 0.5, Infinity])('%d is no number of rows of a batch', async (batchRows) => {
    const { message } = await refusal(() => engine.query('SELECT 1', batchRows));
    expect(message).toMatch(/^\[BB_INVALID_ARGUMENT\] batchRows/);
  });

  test.each([...ODD, ...STRINGS])('rows and bytes: %s', async (_, value) => {
    const raw = engine.inserter(spec);
    const naive = engine.naiveInserter(spec);
    const write = raw.writeColumns.bind(raw) as Call;
    await refusal(() => write(value, value));
    await refusal(() => write(value, [null, null, new Uint8Array(4), null, new Uint8Array(8), new Uint8Array(0)]));
    await refusal(() => write(1, value));
    await refusal(() => write(1, [value, value, value, value, value, value]));
    await refusal(() => (raw.writeIpc as Call).call(raw, value));
    await refusal(() => (naive.addRows as Call).call(naive, [value]));
    await refusal(() => (naive.addRows as Call).call(naive, [[value, value]]));
    await refusal(() => addon.releaseFrame(value as ArrayBuffer));
    expect(raw.rows).toBe(0);
    expect(await raw.execute()).toBe(0);
    expect(await naive.execute()).toBe(0);
  });

  const throwing = {
    kind: 'date',
    get value(): never {
      throw new TypeError('own');
    },
  };
  const oddParameters: [string, unknown][] = [
    ...ODD.filter(([, value]) => value !== null && typeof value !== 'number' && typeof value !== 'bigint'),
    ['a date without a value', { kind: 'date' }],
    ['a date of a text', { kind: 'date', value: '1' }],
    ['a date out of range', { kind: 'date', value: 2 ** 31 }],
    ['a timestamp of 65 bits', { kind: 'timestamp', value: 2n ** 63n }],
    ['a decimal of no digits', { kind: 'decimal', value: '1', precision: 0, scale: 0 }],
    ['a decimal of 255 digits', { kind: 'decimal', value: '1', precision: 255, scale: 0 }],
    ['a decimal of 300 digits', { kind: 'decimal', value: '1', precision: 300, scale: 0 }],
    ['a decimal with a larger scale', { kind: 'decimal', value: '1', precision: 3, scale: 4 }],
    ['a decimal without digits', { kind: 'decimal', value: '1' }],
    ['a decimal that does not fit', { kind: 'decimal', value: '1000', precision: 3, scale: 0 }],
    ['a decimal of a number', { kind: 'decimal', value: 1, precision: 3, scale: 0 }],
    ['a text as an object', { kind: 'text', value: 'x' }],
    ['a kind that is none', { kind: 'none', value: 'x' }],
    ['a bigint of 65 bits', 2n ** 63n],
    ['another typed array', new Int32Array(1)],
    ['an array buffer', new ArrayBuffer(4)],
    ['shared memory', new Uint8Array(new SharedArrayBuffer(4))],
    ['a getter that throws', throwing],
    ['a proxy that throws', new Proxy({}, { get: () => throwing.value })],
    ['an object without a prototype', Object.create(null)],
  ];
  test.each(oddParameters)('a parameter that is %s', async (_, value) => {
    const statement = await engine.prepare('SELECT $1');
    const uses: Call[] = [
      (parameters) => statement.query(parameters as never),
      (parameters) => statement.queryToArrow(parameters as never),
      (parameters) => statement.execute(parameters as never),
      (parameters) => engine.query('SELECT $1', null, null, parameters as never),
      (parameters) => engine.queryToArrow('SELECT $1', null, null, parameters as never),
      (parameters) => engine.execute('SELECT $1', null, parameters as never),
    ];
    for (const use of uses) {
      await refusal(() => use([value]));
      if (!Array.isArray(value)) await refusal(() => use(value));
    }
    expect(await statement.execute([1])).toBe(0);
    await statement.close();
  });

  test('parameters that are too many, too few, or change while they are read', async () => {
    const statement = await engine.prepare('SELECT $1, $2');
    for (const parameters of [[], [1], [1, 2, 3], Array.from({ length: 65_535 }, () => 1)]) {
      const { message } = await refusal(() => statement.query(parameters));
      expect(message).toMatch(/^\[BB_INVALID_ARGUMENT\] parameter \d+: /);
    }
    // oxlint-disable-next-line unicorn/no-new-array -- an array of holes
    const { message } = await refusal(() => statement.query(new Array(2 ** 32 - 1)));
    expect(message).toMatch(/^\[BB_INVALID_ARGUMENT\] a statement has at most 65535/);
    const bytes = new Uint8Array(1000).fill(7);
    const detaching = {
      kind: 'date',
      get value() {
        detached(bytes);
        return 1;
      },
    };
    const reader = await statement.query([bytes, detaching]);
    expect(reader.columns).toMatchObject([{ kind: 'bytes' }, { kind: 'date' }]);
    const shrinking: unknown[] = [
      {
        kind: 'date',
        get value() {
          shrinking.length = 0;
          return 1;
        },
      },
      1,
    ];
    await refusal(() => statement.query(shrinking));
    await statement.close();
  });
});

describe('receivers', () => {
  const classes = { Engine, RawInserter, NaiveInserter, FrameReader, NaiveReader, Statement, Cancel };
  const members = Object.entries(classes).flatMap(([name, { prototype }]) =>
    Object.entries(Object.getOwnPropertyDescriptors(prototype))
      .filter(([member]) => member !== 'constructor')
      .map(([member, { value, get }]) => [`${name}.${member}`, prototype, (value ?? get) as Call] as const),
  );

  test.each(members)('%s is for objects of its own class', async (_, prototype, call) => {
    const others = [new Cancel(), engine, engine.inserter(spec)].filter((other) => !prototype.isPrototypeOf(other));
    const dressed = others.map((other) => Object.setPrototypeOf(other, prototype) as object);
    for (const receiver of [...dressed, {}, undefined, 5, prototype, Object.create(prototype), new Proxy(engine, {})]) {
      await refusal(() => call.call(receiver, 'a', 'b'));
    }
    if (prototype !== Engine.prototype) Object.setPrototypeOf(engine, Engine.prototype);
  });

  test('objects that only the engine makes are not made by new', async () => {
    const { Cancel: _, ...others } = classes;
    for (const made of Object.values(others) as (new () => unknown)[]) {
      await refusal(() => new made());
      await refusal(() => (made as unknown as Call)());
    }
    await refusal(() => (Engine.open as Call).call({}, 'memory:'));
    await refusal(() => (Engine.attach as Call).call(undefined, engine.share()));
  });
});

describe('after the end', () => {
  test('a closed engine refuses everything with BB_CLOSED', async () => {
    const closed = await Engine.open('memory:');
    await Promise.all([closed.close(), closed.close()]);
    await closed.close();
    const uses: (() => unknown)[] = [
      () => closed.share(),
      () => closed.name,
      () => closed.version,
      () => closed.sql,
      () => closed.createTable(spec, 'create' as never),
      () => closed.describeTable('t'),
      () => closed.listTables(),
      () => closed.dropTable('t'),
      () => closed.execute('SELECT 1'),
      () => closed.prepare('SELECT 1'),
      () => closed.check(),
      () => closed.inserter(spec),
      () => closed.naiveInserter(spec),
      () => closed.query('SELECT 1'),
      () => closed.queryNaive('SELECT 1'),
      () => closed.queryToArrow('SELECT 1'),
    ];
    for (const use of uses) expect((await refusal(use)).message).toMatch(/^\[BB_CLOSED\] /);
  });

  test('a closed statement refuses everything with BB_CLOSED, also if its engine is open', async () => {
    const statement = await engine.prepare('SELECT $1');
    const reader = await statement.query(['still there']);
    await Promise.all([statement.close(), statement.close()]);
    for (const use of [() => statement.query([1]), () => statement.queryToArrow([1]), () => statement.execute([1])]) {
      expect((await refusal(use)).message).toMatch(/^\[BB_CLOSED\] /);
    }
    expect(statement.parameters).toHaveLength(1);
    expect(await reader.next()).toBeInstanceOf(ArrayBuffer);
    // A statement may outlive its engine's object.
    const other = await openEngine('embedded:');
    const orphan = await other.prepare('SELECT $1');
    await other.close();
    expect(await orphan.execute([1])).toBe(0);
    await orphan.close();
  });

  const ends: Record<string, (inserter: InstanceType<typeof RawInserter | typeof NaiveInserter>) => Promise<unknown>> =
    {
      execute: (inserter) => inserter.execute(),
      abort: (inserter) => inserter.abort(),
    };
  test.each(Object.keys(ends))('after %s an inserter refuses rows, and ends once', async (end) => {
    const raw = engine.inserter(spec);
    const naive = engine.naiveInserter(spec);
    for (const inserter of [raw, naive]) {
      const [first, second, third] = await Promise.allSettled([
        ends[end]!(inserter),
        inserter.execute(),
        inserter.abort(),
      ]);
      expect(first?.status).toBe('fulfilled');
      expect(second).toMatchObject({ status: 'rejected', reason: { message: '[BB_CLOSED] the inserter is closed' } });
      expect(third?.status).toBe('fulfilled');
      expect((await refusal(() => inserter.execute())).message).toMatch(/^\[BB_CLOSED\] /);
    }
    expect((await refusal(() => naive.addRows([[1, 'a']]))).message).toMatch(/^\[BB_CLOSED\] /);
    const parts = [null, null, new Uint8Array(0), null, new Uint8Array(4), new Uint8Array(0)];
    expect((await refusal(() => raw.writeColumns(0, parts))).message).toMatch(/^\[BB_CLOSED\] /);
  });

  test('a cancelled reader says so, however often it is asked', async () => {
    const reader = await engine.query('SELECT range FROM range(100000000)', 10);
    const naive = await engine.queryNaive('SELECT range FROM range(100000000)', 10);
    for (const each of [reader, naive]) {
      each.cancel();
      each.cancel();
      const { message } = await refusal(() => each.next());
      expect(message).toMatch(/^\[BB_ABORTED\] /);
    }
    await refusal(() => reader.tryNext());
    expect(reader.columns).toMatchObject([{ name: 'range', kind: 'bigint' }]);
    const cancel = new Cancel();
    cancel.cancel();
    cancel.cancel();
    for (const start of [
      () => engine.query('SELECT 1', null, cancel),
      () => engine.queryNaive('SELECT 1', null, cancel),
      () => engine.queryToArrow('SELECT 1', null, cancel),
      () => engine.execute('SELECT 1', cancel),
      () => engine.prepare('SELECT 1', cancel),
      async () => (await engine.prepare('SELECT 1')).query([], null, cancel),
      async () => (await engine.prepare('SELECT 1')).execute([], cancel),
    ]) {
      expect((await refusal(start)).message).toMatch(/^\[BB_ABORTED\] /);
    }
  });
});

test('functions without parameters ignore arguments', () => {
  expect((addon.buildInfo as Call)(Symbol('odd'), {})).toEqual(addon.buildInfo());
  expect((addon.threadCpu as Call)({})).toMatchObject({ user: expect.any(Number), system: expect.any(Number) });
});

test('a submission that is shorter than it says is refused by each loop', () => {
  const ignore = (): void => {};
  const short = new Uint8Array(4);
  const submits = [
    () => new addon.KvLoop(ignore).submit(short, 8),
    () => new addon.HttpLoop(ignore).submit(short, 8),
    () => new addon.SqlLoop(new addon.SqlShapes(), ignore).submit(0, short, 8),
  ];
  for (const submit of submits) expect(submit).toThrow('[BB_INVALID_ARGUMENT] the submission is shorter');
});
