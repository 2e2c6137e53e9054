/** The sums that a way made of a result: the rows, and one number per column, which needs its values. */
import { generateFunction, literalKey } from '../../library/engine/code-generation.js';
import type { Column } from '../../library/engine/table-definition.js';
import type { ColumnKind } from '../../library/engine/sql-type.js';

/**
 * The rows, and by the position of each column: the sum of numbers, the number of true values, the lengths of texts in
 * UTF-16 units, and of other types the number of values. Nulls add nothing.
 */
export interface QuerySums {
  readonly rows: number;
  readonly sums: Readonly<Record<string, number>>;
}

/** How the values of a column are summed. */
export type Summed = 'number' | 'text' | 'count';

const SUMMED: Readonly<Record<ColumnKind, Summed>> = {
  bool: 'number',
  smallint: 'number',
  int: 'number',
  bigint: 'number',
  real: 'number',
  double: 'number',
  text: 'text',
  decimal: 'count',
  bytes: 'count',
  date: 'count',
  timestamp: 'count',
};

export function summedAs({ type }: Pick<Column, 'type'>): Summed {
  return SUMMED[type.kind];
}

export function sumsOf(rows: number, sums: Iterable<number>): QuerySums {
  return { rows, sums: Object.fromEntries([...sums].map((sum, position) => [position, sum])) };
}

const ADDED: Readonly<Record<Summed, string>> = { number: 'Number(value)', text: 'value.length', count: '1' };

type RowSummer = (rows: Iterable<unknown>, sums: Float64Array) => number;

/**
 * A loop that adds rows to sums, and returns their number. It has the columns in its source, as one who knows the query
 * writes it. Rows are arrays, or have the columns as properties.
 */
export function rowSummer(columns: readonly Column[], areArrays = false): RowSummer {
  const lines = columns.map((column, position) => {
    const value = areArrays ? `row[${position}]` : `row[${literalKey(column.name)}]`;
    return `{ const value = ${value}; if (value !== null) s${position} += ${ADDED[summedAs(column)]}; }`;
  });
  const source = `let rows = 0;
${columns.map((_, position) => `let s${position} = 0;`).join(' ')}
for (const row of all) { rows += 1; ${lines.join('\n')} }
${columns.map((_, position) => `sums[${position}] += s${position};`).join(' ')}
return rows;`;
  return generateFunction<RowSummer>(['all', 'sums'], source);
}

/** The sum of the values of one column, in whatever form a client hands them out. */
export function sumColumn(values: ArrayLike<unknown>, as: Summed): number {
  let sum = 0;
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (value !== null) sum += as === 'number' ? Number(value) : as === 'text' ? (value as string).length : 1;
  }
  return sum;
}
