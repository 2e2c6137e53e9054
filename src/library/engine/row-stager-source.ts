import { generateFunction } from './code-generation.js';
import type { ColumnStage } from './column-stage.js';
import type { Column } from './table-definition.js';

/** The functions by which rows are staged. */
export interface StagerFunctions {
  /** Stages a row. Returns true if the stage is now full, and must be sent before the next row. */
  addArray(row: readonly unknown[]): boolean;
  /** Like `addArray`, with the values by column name. */
  addObject(row: Readonly<Record<string, unknown>>): boolean;
  /** The number of staged rows. */
  rows(): number;
  /** Removes the staged rows. */
  reset(): void;
  /** Sets the number of staged rows, after rows that a writer has staged. */
  count(rows: number): void;
  /** Sets a function that is asked before a row is staged whether a writer has begun a row in its place. */
  ask(isBegun: () => boolean): void;
}

/** Functions that throw the error of a row that is not added. The caller undoes what the row left in the stages. */
export interface StagerFailures {
  value(column: number, problem: string): never;
  arity(length: number): never;
  /** A writer has begun a row in the place of the one to add. */
  begun(): never;
  /** No column has a value among the properties of the row. Returns if it is a row of nulls after all. */
  absent(row: Readonly<Record<string, unknown>>): void;
}

/**
 * Makes functions specialised to the columns, without a loop over columns or a dispatch on types. Only our code runs between the
 * first and the last write of a row, since all values are read before the first is written.
 */
export function generateStager(
  columns: readonly Column[],
  stages: readonly ColumnStage[],
  capacity: number,
  failures: StagerFailures,
): StagerFunctions {
  const make = generateFunction<(...bound: unknown[]) => StagerFunctions>(
    ['stages', 'capacity', 'failures'],
    stagerSource(columns),
  );
  return make(stages, capacity, failures);
}

function stagerSource(columns: readonly Column[]): string {
  const setUp = columns.map((column, index) => stageVariables(column, index)).join('\n');
  const byIndex = columns.map((_, index) => `const v${index} = row[${index}];`).join('\n');
  const byName = columns.map(({ name }, index) => `const v${index} = row[${JSON.stringify(name)}];`).join('\n');
  const store = storeSource(columns, '');
  // Asked if the first column's value is none of the usual ones, so that usual rows pay nothing.
  const isAbsent = columns.map((_, index) => `v${index} === undefined`).join(' && ');
  // A `Map` and its like have such a property, which is no value of a column.
  const hasSize = columns.some(({ name }) => name === 'size');
  const notMap = hasSize ? 'if (row[Symbol.iterator] !== undefined) failures.absent(row);\n' : '';
  // A variable of the closure costs less time per row than a field of a shared object.
  return `${setUp}
let staged = 0;
let isBegun = null;
return {
  rows: () => staged,
  reset() { staged = 0; },
  count(rows) { staged = rows; },
  ask(asked) { isBegun = asked; },
  addArray(row) {
    if (row.length !== ${columns.length}) failures.arity(row.length);
${byIndex}
${store}
  },
  addObject(row) {
${notMap}${byName}
${storeSource(columns, `if (${isAbsent}) failures.absent(row);`)}
  },
};`;
}

function stageVariables({ type }: Column, index: number): string {
  const stage = `const s${index} = stages[${index}];`;
  switch (type.kind) {
    case 'bigint':
    case 'timestamp':
      return `${stage} const c${index} = s${index}.halves;`;
    case 'decimal':
    case 'text':
    case 'bytes':
      return stage;
    default:
      return `${stage} const c${index} = s${index}.values;`;
  }
}

/** The source that writes the values v0, v1, ... into row n. `unusual` runs before an unusual value of the first column. */
function storeSource(columns: readonly Column[], unusual: string): string {
  const writes = columns.map(({ type }, index) => {
    const fast = fastWrite(type.kind, `v${index}`, `c${index}`);
    return `${fast} { ${index === 0 ? unusual : ''} const problem = s${index}.put(n, v${index}); if (problem !== undefined) failures.value(${index}, problem); }`;
  });
  // Asked after the values were read, since a getter among them may have used the writer.
  return `if (isBegun !== null && isBegun()) failures.begun();
const n = staged;
${writes.join('\n')}
staged = n + 1;
return n + 1 === capacity${isLargeSource(columns, (index) => `s${index}`)};`;
}

/** The conditions, after others, that text or bytes make the stage full with row n. */
export function isLargeSource(columns: readonly Column[], stage: (index: number) => string): string {
  return columns
    .flatMap(({ type }, index) =>
      type.kind === 'text' || type.kind === 'bytes' ? [` || ${stage(index)}.isLarge(n + 1)`] : [],
    )
    .join('');
}

/**
 * The source that writes a value into row n without a call, ending with `else`: a value that fails its condition goes to the
 * stage's own checks. Empty for kinds that always do.
 */
export function fastWrite(kind: Column['type']['kind'], value: string, target: string): string {
  return FAST_WRITES[kind]?.(value, target) ?? '';
}

const FAST_WRITES: Readonly<Partial<Record<Column['type']['kind'], (value: string, target: string) => string>>> = {
  bool: (value, target) =>
    `if (${value} === true) ${target}[n] = 1; else if (${value} === false) ${target}[n] = 0; else`,
  smallint: (value, target) =>
    `if (typeof ${value} === 'number' && (${value} << 16 >> 16) === ${value}) ${target}[n] = ${value}; else`,
  int: intWrite,
  date: intWrite,
  bigint: int64Write,
  timestamp: int64Write,
  real: (value, target) =>
    `if (typeof ${value} === 'number' && Math.abs(${value}) < 3.4e38) ${target}[n] = ${value}; else`,
  double: (value, target) => `if (typeof ${value} === 'number') ${target}[n] = ${value}; else`,
};

function intWrite(value: string, target: string): string {
  return `if (typeof ${value} === 'number' && (${value} | 0) === ${value}) ${target}[n] = ${value}; else`;
}

function int64Write(value: string, target: string): string {
  return `if (Number.isSafeInteger(${value})) { ${target}[2 * n] = ${value} | 0; ${target}[2 * n + 1] = Math.floor(${value} / 4294967296); } else`;
}
