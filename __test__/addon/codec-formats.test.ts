import { describe, expect, it } from 'vitest';
import { crossing } from '../../src/crossing-addon.js';
import { oddValues } from './odd-values.js';

type Call = (...values: unknown[]) => unknown;

const { codec } = crossing;
const [json, bytes, stream] = [codec.jsonDocument(0), codec.messagePackDocument(0), codec.arrowDocument(0)];

/** Values that no reader of formats expects. */
const unreadable = (): unknown[] => [
  ...oddValues(),
  '['.repeat(1_000_000),
  Uint8Array.from([0xdd, 0xff, 0xff, 0xff, 0xff]),
  new Int32Array(4),
];

/** The code of a call's error, taken from its message if it has none of its own; `undefined` if the call returns. */
function codeOf(call: () => unknown): string | undefined {
  try {
    call();
    return undefined;
  } catch (error) {
    if (!(error instanceof Error)) return 'no error';
    const { code, message } = error as Error & { code?: string };
    return /^\[(BB_\w+)\]/.exec(message)?.[1] ?? code ?? 'no code';
  }
}

const reading = {
  readJson: [codec.jsonReader(), [json, new Float64Array(200), new Uint8Array(1000)]],
  readMessagePack: [codec.messagePackReader(), [bytes, new Float64Array(200), new Uint8Array(1000)]],
  readArrow: [
    codec.arrowReader(),
    [stream, new Int32Array(1000), new Float64Array(1000), new Int32Array(1001), new Uint8Array(20_000)],
  ],
} as unknown as Record<string, [Call, unknown[]]>;

describe.each(Object.entries(reading))('%s', (_, [call, good]) => {
  it('takes what it is for', () => {
    expect(call(...good)).toEqual(expect.any(Number));
  });

  it('refuses any other value in each place', () => {
    for (const place of good.keys()) {
      for (const odd of unreadable()) {
        const isRightKind = (odd as object | null | undefined)?.constructor === (good[place] as object).constructor;
        const code = codeOf(() => call(...good.with(place, odd)));
        const isEmptyAnswer = isRightKind && code === undefined;
        expect(
          isEmptyAnswer || /^BB_(INVALID_ARGUMENT|TOO_LARGE|INVALID_IPC)$/.test(String(code)),
          `${place}: ${String(code)}`,
        ).toBe(true);
      }
    }
    expect(codeOf(() => call())).toBe('BB_INVALID_ARGUMENT');
  });

  it('works again after an error', () => {
    expect(call(...good)).toEqual(expect.any(Number));
  });
});

it.each([0, 1, 2, 3])('memory that is one element too small for the column %i is refused', (place) => {
  const length = (column: number, needed: number): number => needed - (column === place ? 1 : 0);
  const textBytes = Array.from({ length: 1000 }, (_, id) => `reading_${id}`).join('').length;
  const call = (): number =>
    codec.arrowReader()(
      stream,
      new Int32Array(length(0, 1000)),
      new Float64Array(length(1, 1000)),
      new Int32Array(length(2, 1001)),
      new Uint8Array(length(3, textBytes)),
    );
  expect(codeOf(call)).toBe('BB_TOO_LARGE');
});

it('memory that is read is not written', () => {
  const expectRefused = (call: () => unknown): void => expect(codeOf(call)).toBe('BB_INVALID_ARGUMENT');
  const memory = new ArrayBuffer(64 * 1024);
  const at = 8 * 1024;
  const source = new Uint8Array(memory, at, bytes.length);
  source.set(bytes);
  const elsewhere = [new Float64Array(200), new Uint8Array(1000)] as const;
  const read = codec.messagePackReader();
  expectRefused(() => read(source, new Float64Array(memory, at, 200), elsewhere[1]));
  expectRefused(() => read(source, elsewhere[0], new Uint8Array(memory, at + bytes.length - 1, 1000)));
  expect(read(source, elsewhere[0], new Uint8Array(memory, at + bytes.length, 1000))).toBe(10);
  const one = new ArrayBuffer(8 * 200);
  expectRefused(() => read(source, new Float64Array(one), new Uint8Array(one)));
  expectRefused(() => codec.jsonReader()(json, new Float64Array(one), new Uint8Array(one, 8)));
  const rows = new Uint8Array(memory, 0, stream.length);
  rows.set(stream);
  const columns = [new Int32Array(1000), new Float64Array(1000), new Int32Array(1001), new Uint8Array(20_000)] as const;
  const readArrow = codec.arrowReader();
  expect(readArrow(rows, ...columns)).toBe(1000);
  expectRefused(() => readArrow(rows, new Int32Array(memory), columns[1], columns[2], columns[3]));
  expectRefused(() => readArrow(rows, columns[0], columns[1], columns[2], new Uint8Array(memory)));
});

describe('a string', () => {
  const read = codec.jsonReader();
  const [numbers, texts] = [new Float64Array(13), new Uint8Array(1 << 20)];
  const record = JSON.parse(json) as [{ name: string }];

  it.each([0, 1, 60, 63, 64, 65, 127, 250, 251, 252, 253, 254, 255, 256, 257, 100_000])(
    'with a text of %i characters is read to its end, after longer and shorter ones',
    (length) => {
      for (const letter of ['a', 'ä', '\u20ac', '\u{1f600}']) {
        const name = letter.repeat(length);
        expect(read(JSON.stringify([{ ...record[0], name, city: '' }]), numbers, texts)).toBe(1);
        const size = numbers[0]!;
        expect(Buffer.from(texts.buffer, 0, size).toString()).toBe(name);
        expect([...numbers.subarray(9)]).toEqual([size, 0, name.length, 0]);
      }
    },
  );

  it('that is very long is refused', () => {
    expect(codeOf(() => read(' '.repeat((64 << 20) + 1), numbers, texts))).toBe('BB_TOO_LARGE');
  });
});

it.each(['jsonRecords', 'messagePackRecords', 'jsonDocument', 'messagePackDocument', 'arrowDocument'] as const)(
  '%s throws or returns for any values',
  (name) => {
    const call = codec[name] as Call;
    for (const odd of [...unreadable(), 'QUJ', '{}', '[{}]', '[1]', 4]) codeOf(() => call(odd));
    codeOf(() => call());
    expect(codeOf(() => codec.jsonRecords('[{}]'))).toBe('BB_INVALID_ARGUMENT');
    expect(codeOf(() => codec.arrowDocument(4))).toBe('BB_INVALID_ARGUMENT');
  },
);
