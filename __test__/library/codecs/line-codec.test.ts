import fc from 'fast-check';
import { expect, test } from 'vitest';

import { encodeLines, LineEncoder, LineParser, parseLines, type Precision } from '../../../src/index.js';
import { lineProtocol } from '../../../src/clients/line-protocol.js';

const NAMES = { measurement: 'bench', tags: { host: 'a' }, field: 'v' };

const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

test('numbers are written as JavaScript writes them, by Rust and by hand', () => {
  const numbers = fc.array(
    fc.tuple(
      fc.oneof(
        finite,
        fc.integer().map((number) => number / 1000),
        fc.integer(),
      ),
      int64,
    ),
    { maxLength: 100 },
  );
  fc.assert(
    fc.property(numbers, (points) => {
      const values = Float64Array.from(points, ([value]) => value);
      const timestamps = BigInt64Array.from(points, ([, time]) => time);
      const expected = points.map(([value, time]) => `bench,host=a v=${value} ${time}\n`).join('');
      expect(Buffer.from(encodeLines(NAMES, values, timestamps)).toString()).toBe(expected);
      const byHand = lineProtocol.encoder!(NAMES, { values, timestamps })();
      // The line written by hand keeps the sign of zero.
      expect(Buffer.from(byHand).toString().replaceAll('v=-0 ', 'v=0 ')).toBe(expected);
    }),
  );
});

test('lines read back, by Rust and by hand', () => {
  const points = fc.array(
    fc.tuple(
      finite.map((value) => value + 0),
      fc.nat(),
    ),
    { minLength: 1, maxLength: 100 },
  );
  const parser = new LineParser();
  fc.assert(
    fc.property(points, (points) => {
      const values = Float64Array.from(points, ([value]) => (value === 0 ? 0 : value));
      const lines = encodeLines(
        NAMES,
        values,
        BigInt64Array.from(points, ([, time]) => BigInt(time)),
      );
      const parsed = parser.parse(lines, { precision: 'ms' });
      expect(parsed.rawValues).toEqual(values);
      expect([...parsed.timestamps]).toEqual(points.map(([, time]) => BigInt(time) * 1_000_000n));
      const byHand = lineProtocol.decoder!()(lines);
      expect(Array.from(byHand.values)).toEqual([...values]);
      expect(Array.from(byHand.timestamps)).toEqual(points.map(([, time]) => time));
    }),
  );
});

test('points of several tables are columns', () => {
  const parsed = parseLines(
    'm,host=a v=1.5,n=2i 10\nm,host=b v=2.5,n=-3i 20\nother ok=t,s="ü \\" x",u=18446744073709551615u 30\nm,host=a v=4,n=9i',
    { now: 5 },
  );
  expect(parsed.series).toEqual([
    { measurement: 'm', tags: { host: 'a' } },
    { measurement: 'm', tags: { host: 'b' } },
    { measurement: 'other', tags: {} },
  ]);
  expect(parsed.tables).toEqual([
    {
      measurement: 'm',
      timestamps: BigInt64Array.of(10n, 20n, 5_000_000n),
      seriesOf: Uint32Array.of(0, 1, 0),
      fields: { v: Float64Array.of(1.5, 2.5, 4), n: BigInt64Array.of(2n, -3n, 9n) },
    },
    {
      measurement: 'other',
      timestamps: BigInt64Array.of(30n),
      seriesOf: Uint32Array.of(2),
      fields: { ok: [true], s: ['ü " x'], u: BigUint64Array.of(2n ** 64n - 1n) },
    },
  ]);
  expect(parseLines('').length).toBe(0);
});

test('the precision is one of the units of InfluxDB, and others are refused', () => {
  const time = (precision: string, now?: number) => {
    const options = { precision: precision as Precision, ...(now === undefined ? {} : { now }) };
    return parseLines(now === undefined ? 'm v=1 -3' : 'm v=1', options).timestamps[0];
  };
  const nanoseconds = { n: 1, ns: 1, u: 1e3, us: 1e3, µ: 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9 };
  for (const [precision, unit] of Object.entries(nanoseconds)) {
    expect(time(precision), precision).toBe(-3n * BigInt(unit));
    // The unit applies to timestamps, not to `now`.
    expect(time(precision, 5), precision).toBe(5_000_000n);
  }
  for (const precision of ['', ' ', 'foo', 'MS', 'd', 'nanosecond', 'toString']) {
    expect(() => time(precision), precision).toThrow(`the precision "${precision}" is unknown; use ns`);
  }
});

test('the time of lines without one is exact, or refused', () => {
  const now = (now: number) => parseLines('m v=1', { now, precision: 's' }).timestamps[0];
  expect([0, 1.5, -0.25, 1_700_000_000_000.125].map(now)).toEqual([
    0n,
    1_500_000n,
    -250_000n,
    1_700_000_000_000_125_000n,
  ]);
  for (const wrong of [Number.NaN, Infinity, -Infinity, 1e20, -1e20, Number.MAX_VALUE]) {
    expect(() => now(wrong)).toThrow(/now: .* is no time/);
  }
  for (const wrong of [null, '5', 5n, new Date(0)]) {
    expect(() => now(wrong as never)).toThrow(expect.objectContaining({ code: 'BB_INVALID_ARGUMENT' }));
  }
});

test('errors have their place', () => {
  expect(() => parseLines('m v=1\nm v=x')).toThrow(/line 2, column 5: a value is missing/);
  expect(() => encodeLines(NAMES, Float64Array.of(1, Number.NaN))).toThrow(/values\[1\]: line protocol has no NaN/);
  expect(() => new LineEncoder({ measurement: 'a\nb', field: 'v' })).toThrow(/line break/);
  const encoder = new LineEncoder(NAMES);
  expect(encoder.encodeInto(new Uint8Array(3), Float64Array.of(1))).toBe(-'bench,host=a v=1\n'.length);
});
