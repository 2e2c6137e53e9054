import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';

import { type Expression, FILTER, compileForColumns, compileForRow } from '../../../src/families/codec/expression.js';
import { type CountRows, FILTER_ROWS, filterTopic, verifyCount } from '../../../src/families/codec/filter.js';
import { codecCells, sampleCodecCells } from './codec-cells.js';

const planned = codecCells('filter');

test('each cell counts the rows that match', async () => {
  expect(planned).toHaveLength(9);
  // Not all rows the same number of times.
  await sampleCodecCells(planned, ({ batch = 1 }) => (batch === 1 ? 1234 : 3 * batch));
});

test('370 of 1000 rows match', () => {
  expect(filterTopic.resultOf({ workload: 'filter', lane: 'call', client: undefined, batch: 1 }, 1000)).toBe(370);
});

describe('a wrong count is noticed', () => {
  const matches = compileForRow<(typeof FILTER_ROWS)[number]>(FILTER);
  const right: CountRows = (start, count) =>
    FILTER_ROWS.slice(start, start + count).filter((row) => matches(row)).length;
  it.each<[string, CountRows]>([
    ['of nothing', () => 0],
    ['of everything', (_, count) => count],
    ['of the wrong rows', (start, count) => right((start + 2) % 998, count)],
    ['of all rows', (start, count) => right(start, Math.min(count, 999)) - (count > 1 ? 1 : 0)],
  ])('%s', (_, count) => {
    expect(() => verifyCount(right, 1000)).not.toThrow();
    expect(() => verifyCount(count, 1000)).toThrow(expect.objectContaining({ code: 'BB_CHECKSUM_MISMATCH' }));
  });
});

const number: fc.Arbitrary<Expression> = fc.oneof(
  fc.constant<Expression>({ kind: 'column', name: 'age' }),
  fc.integer({ min: -5, max: 5 }).map((value): Expression => ({ kind: 'constant', value })),
);
const truth: fc.Arbitrary<Expression> = fc.oneof(
  fc.constant<Expression>({ kind: 'column', name: 'active' }),
  fc.boolean().map((value): Expression => ({ kind: 'constant', value })),
);
const compare = (by: '>' | '=', side: fc.Arbitrary<Expression>): fc.Arbitrary<Expression> =>
  fc.record({ kind: fc.constant('compare' as const), by: fc.constant(by), left: side, right: side });
const { expression } = fc.letrec<{ expression: Expression }>((tie) => ({
  expression: fc.oneof(
    { depthSize: 'small' },
    compare('>', number),
    compare('=', number),
    compare('=', truth),
    fc.record({ kind: fc.constant('and' as const), left: tie('expression'), right: tie('expression') }),
  ),
}));

/** The value of an expression by walking its tree. */
function walked(expression: Expression, row: Readonly<Record<string, number | boolean>>): number | boolean {
  switch (expression.kind) {
    case 'column':
      return row[expression.name]!;
    case 'constant':
      return expression.value;
    case 'compare': {
      const [left, right] = [walked(expression.left, row), walked(expression.right, row)];
      return expression.by === '>' ? left > right : left === right;
    }
    case 'and':
      return walked(expression.left, row) === true && walked(expression.right, row) === true;
  }
}

it('any expression is true of the same rows as its tree, by rows and by columns', () => {
  const rows = fc.array(fc.record({ age: fc.integer({ min: -5, max: 5 }), active: fc.boolean() }), { maxLength: 20 });
  const property = fc.property(expression, rows, (expression, rows) => {
    const expected = rows.map((row) => walked(expression, row));
    expect(rows.map(compileForRow(expression))).toEqual(expected);
    const ages = Int32Array.from(rows, ({ age }) => age);
    const active = Uint8Array.from(rows, ({ active: isActive }) => Number(isActive));
    const count = compileForColumns(expression, ['age', 'active'])(rows.length, ages, active);
    expect(count).toBe(expected.filter(Boolean).length);
  });
  fc.assert(property);
});

it('a name that is no name does not become code', () => {
  const wrong = expect.objectContaining({ code: 'BB_INVALID_ARGUMENT' });
  for (const name of ['', 'a b', 'a;b', 'a.b', '1', 'a\nb', "a'"]) {
    expect(() => compileForRow({ kind: 'column', name })).toThrow(wrong);
    expect(() => compileForColumns(FILTER, [name])).toThrow(wrong);
  }
});
