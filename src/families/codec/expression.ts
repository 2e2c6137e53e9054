/**
 * Expressions over rows and columns, as trees, and functions compiled from them. `native/suite/src/codec/filter.rs`
 * evaluates the same trees by walking them.
 *
 * An expression becomes JavaScript, which V8 compiles to machine code as it does any function. Functions that call one
 * another, one per node, would take a call per node and row: all expressions share them, so they are not inlined.
 */
import { BoundaryError } from '../../errors.js';

/** An expression. */
export type Expression =
  | { readonly kind: 'column'; readonly name: string }
  | { readonly kind: 'constant'; readonly value: number | boolean }
  | { readonly kind: 'compare'; readonly by: '>' | '='; readonly left: Expression; readonly right: Expression }
  | { readonly kind: 'and'; readonly left: Expression; readonly right: Expression };

/** `age > 18 AND active = TRUE` */
export const FILTER: Expression = {
  kind: 'and',
  left: {
    kind: 'compare',
    by: '>',
    left: { kind: 'column', name: 'age' },
    right: { kind: 'constant', value: 18 },
  },
  right: {
    kind: 'compare',
    by: '=',
    left: { kind: 'column', name: 'active' },
    right: { kind: 'constant', value: true },
  },
};

/** The values of a column: a truth value is 0 or 1. */
export type ColumnValues = Int32Array | Uint8Array;

/** How the code of an expression is written. */
interface Dialect {
  /** The code of a column's value. */
  column(name: string): string;
  /** The code of a constant. */
  constant(value: number | boolean): string;
  /** The operator of AND. */
  readonly and: '&&' | '&';
}

const ROW: Dialect = { column: (name) => `row.${name}`, constant: String, and: '&&' };

/** Both sides of an AND are evaluated: no row takes a jump, which may not be foretold. */
const COLUMNS: Dialect = { column: (name) => `${name}[row]`, constant: (value) => String(Number(value)), and: '&' };

/** Compiles an expression to a function of one row. What is compared has the same type on both sides. */
export function compileForRow<Row>(expression: Expression): (row: Row) => boolean {
  return compiled(['row'], `return ${codeOf(expression, ROW)};`) as (row: Row) => boolean;
}

/** Compiles an expression to a function that counts the first rows for which it is true, of the columns with these names. */
export function compileForColumns(
  expression: Expression,
  names: readonly string[],
): (rows: number, ...columns: readonly ColumnValues[]) => number {
  const loop = `for (let row = 0; row < rows; row += 1) count += ${codeOf(expression, COLUMNS)};`;
  return compiled(['rows', ...names.map(checkedName)], `let count = 0; ${loop} return count;`) as ReturnType<
    typeof compileForColumns
  >;
}

function compiled(parameters: readonly string[], body: string): unknown {
  // The code is made of names that were checked, and of numbers.
  return new Function(...parameters, `'use strict'; ${body}`);
}

function codeOf(expression: Expression, dialect: Dialect): string {
  switch (expression.kind) {
    case 'column':
      return dialect.column(checkedName(expression.name));
    case 'constant':
      return dialect.constant(expression.value);
    case 'compare': {
      const [left, right] = [expression.left, expression.right].map((side) => codeOf(side, dialect));
      return `(${left} ${expression.by === '=' ? '===' : '>'} ${right})`;
    }
    case 'and':
      return `(${codeOf(expression.left, dialect)} ${dialect.and} ${codeOf(expression.right, dialect)})`;
  }
}

function checkedName(name: string): string {
  if (/^[a-z]\w*$/.test(name)) return name;
  throw new BoundaryError('BB_INVALID_ARGUMENT', `"${name}" can't be the name of a column`);
}
