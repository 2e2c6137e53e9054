/** Rows over all types, for the property tests: the given values, and the values that must be returned. */
import fc from 'fast-check';

import { formatDecimal } from '../../src/library/engine/decimal-text.js';
import { SqlType } from '../../src/library/engine/sql-type.js';
import { type Column, TableDefinition } from '../../src/library/engine/table-definition.js';

/** A value as it is given, and the value that every lane out must return for it. */
export interface Sample {
  readonly given: unknown;
  readonly returned: unknown;
}

const same = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<Sample> =>
  arbitrary.map((value) => ({ given: value, returned: value }));

const INT64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n };
// The engine uses the ends of the range for its infinities.
const MICROS = { min: -(2n ** 62n), max: 2n ** 62n };
const safeIntegers = fc.oneof(
  fc.maxSafeInteger(),
  // Integers around multiples of 2^32, where one of the 32-bit halves overflows.
  fc
    .tuple(fc.integer({ min: -(2 ** 20), max: 2 ** 20 }), fc.integer({ min: -2, max: 2 }))
    .map(([high, low]) => high * 2 ** 32 + low),
  fc.constantFrom(-0, 0, 2 ** 31, -(2 ** 31), 2 ** 32, -(2 ** 32), Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER),
);
const bigints64 = (range: { min: bigint; max: bigint }): fc.Arbitrary<Sample> =>
  fc.oneof(
    same(fc.bigInt(range)),
    safeIntegers.map((value) => ({ given: value, returned: BigInt(value) })),
  );

function decimals(precision: number, scale: number): fc.Arbitrary<Sample> {
  const most = 10n ** BigInt(precision) - 1n;
  const text = fc.bigInt({ min: -most, max: most }).map((units) => {
    const written = formatDecimal(units, scale);
    return { given: written, returned: written };
  });
  const whole = fc.integer({ min: -99, max: 99 });
  const written = (value: number) => formatDecimal(BigInt(value) * 10n ** BigInt(scale), scale);
  return fc.oneof(
    text,
    whole.map((value) => ({ given: value, returned: written(value) })),
    whole.map((value) => ({ given: BigInt(value), returned: written(value) })),
  );
}

const integers = (bits: number): fc.Arbitrary<Sample> =>
  same(fc.integer({ min: -(2 ** (bits - 1)), max: 2 ** (bits - 1) - 1 }));

const days = fc.integer({ min: -100_000_000, max: 100_000_000 });

/** Every type, with its values. */
const TYPES: readonly (readonly [string, SqlType, fc.Arbitrary<Sample>])[] = [
  ['a bool', SqlType.bool(), same(fc.boolean())],
  ['smallint', SqlType.smallInt(), integers(16)],
  ['int', SqlType.int(), integers(32)],
  ['bigint', SqlType.bigInt(), bigints64(INT64)],
  ['real', SqlType.real(), same(fc.float())],
  ['double', SqlType.double(), same(fc.double())],
  ['short_decimal', SqlType.decimal(9, 2), decimals(9, 2)],
  ['long_decimal', SqlType.decimal(38, 10), decimals(38, 10)],
  [
    'text',
    SqlType.text(),
    same(
      fc.oneof(
        fc.string(),
        fc.string({ unit: 'grapheme', maxLength: 40 }),
        fc.string({ minLength: 20, maxLength: 80 }),
      ),
    ),
  ],
  ['bytes', SqlType.bytes(), same(fc.uint8Array({ maxLength: 40 }))],
  [
    'date',
    SqlType.date(),
    fc.oneof(
      same(days),
      days.map((day) => ({ given: new Date(day * 86_400_000), returned: day })),
    ),
  ],
  [
    'timestamp',
    SqlType.timestamp(),
    fc.oneof(
      bigints64(MICROS),
      fc.date({ noInvalidDate: true }).map((date) => ({ given: date, returned: BigInt(date.getTime()) * 1000n })),
    ),
  ],
  // Names that would break carelessly generated code.
  ['__proto__', SqlType.int(), integers(32)],
  ['1', SqlType.text(), same(fc.string())],
  ['"];throw 1;//\u2028', SqlType.double(), same(fc.double())],
];

/** A nullable column of each type, and a NOT NULL column of each type. */
export const definition = new TableDefinition('all types', [
  ...TYPES.map(([name, type]) => ({ name, type })),
  ...TYPES.map(([name, type]) => ({ name: `${name} not null`, type, nullable: false })),
]);

export const columns: readonly Column[] = definition.columns;

const nothing = fc.constantFrom(null, undefined).map((given): Sample => ({ given, returned: null }));

/** Rows of samples, in the order of `columns`. */
export const rowsOfSamples: fc.Arbitrary<Sample[][]> = fc.array(
  fc.tuple(
    ...columns.map((column, index) => {
      const values = TYPES[index % TYPES.length]![2];
      return column.nullable ? fc.oneof({ arbitrary: values, weight: 3 }, { arbitrary: nothing, weight: 1 }) : values;
    }),
  ) as fc.Arbitrary<Sample[]>,
  { maxLength: 40 },
);

export const givenArray = (row: readonly Sample[]): unknown[] => row.map((sample) => sample.given);

export const givenObject = (row: readonly Sample[]): Record<string, unknown> =>
  Object.fromEntries(row.map((sample, index) => [columns[index]!.name, sample.given]));

export const returnedObject = (row: readonly Sample[]): Record<string, unknown> =>
  Object.fromEntries(row.map((sample, index) => [columns[index]!.name, sample.returned]));
