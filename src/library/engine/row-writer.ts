/** Rows written value by value into the stages, by one object with a setter for each column. */
import { invalidArgument } from '../../errors.js';
import { canGenerateCode, generateFunction, MOST_GENERATED_COLUMNS } from './code-generation.js';
import type { ColumnStage } from './column-stage.js';
import { fastWrite, isLargeSource, type StagerFailures } from './row-stager-source.js';
import type { Column } from './table-definition.js';

/**
 * Writes rows value by value, without an array or an object for a row: `writer.value = 1.5; writer.next();`. Each column has a
 * setter of its name, which checks the value as `addRow` does. Setters can't be read, and there are no other properties to set.
 */
export type RowWriter<T extends object = Record<string, unknown>> = { -readonly [Name in keyof T]: T[Name] } & {
  /**
   * Ends the row and begins the next one. Columns that were not set are null. Returns what `addRow` returns. Throws
   * `BB_INVALID_VALUE`, with the column's name, if a NOT NULL column was not set.
   */
  next(): boolean;
};

/** The insert to which the rows of a writer go. */
export interface WriterInsert {
  readonly hasEnded: boolean;
  readonly mayGoOn: boolean;
  /** Throws if the insert has ended. */
  assertOpen(): void;
}

/** The stages that a writer fills, and whom it tells. */
export interface WriterTarget {
  readonly stages: readonly ColumnStage[];
  readonly capacity: number;
  readonly failures: StagerFailures;
  readonly insert: WriterInsert;
  /** Sends the staged rows. Returns `mayGoOn`. */
  flush(): boolean;
  /** Sets the number of staged rows. */
  count(rows: number): void;
}

/** A writer, and what its stager asks of it. */
export interface StagedWriter {
  /** The object with the setters. */
  readonly writer: object;
  /** Whether the current row has values. */
  isBegun(): boolean;
  /** Takes back the values of the current row. */
  forget(): void;
  /** Moves the writer to a row of the stages, after rows that it did not write. */
  place(row: number): void;
}

type MakeWriter = (target: WriterTarget) => StagedWriter;

const UNSET = 'not set, in a NOT NULL column';

/** Makes a writer. Throws `BB_INVALID_ARGUMENT` if a column is named as its method. */
export function makeWriter(columns: readonly Column[], target: WriterTarget, generate = canGenerateCode): StagedWriter {
  if (columns.some(({ name }) => name === 'next')) {
    throw invalidArgument('a writer has no setter for the column "next": it is its method', {
      hint: 'Add the rows by addRow',
    });
  }
  const isGenerated = generate && columns.length <= MOST_GENERATED_COLUMNS;
  return isGenerated ? generatedMaker(columns)(target) : interpretedWriter(columns, target);
}

/** The generated classes by their generated functions, of which there is one for each text. */
const classes = new WeakMap<Function, MakeWriter>();

/** The maker of writers of these columns. The writers of one table are of one class, so that V8 keeps the code of their callers. */
function generatedMaker(columns: readonly Column[]): MakeWriter {
  const define = generateFunction<() => MakeWriter>([], writerSource(columns));
  let make = classes.get(define);
  if (make === undefined) {
    make = define();
    classes.set(define, make);
  }
  return make;
}

/**
 * The columns of which the bits of one field say whether they are set. They are fewer than 31, so that the field stays a small
 * integer.
 */
const FIELD_COLUMNS = 30;

/**
 * The source of a class of writers. Nulls are written by `next`, after all that may fail. Until then a null is a value that is not
 * set, and nothing of a row that is dropped remains in the stages.
 *
 * `next` calls `flush` by a list of arguments, a call that V8 does not compile into its caller. The code of a batch's end would use
 * up the budget of the loop, and the setters would be called, which halves the rate.
 */
function writerSource(columns: readonly Column[]): string {
  const each = (part: (column: Column, index: number) => string): string => columns.map(part).join('\n');
  const field = (index: number): string => `#set${Math.floor(index / FIELD_COLUMNS)}`;
  const bit = (index: number): number => 1 << (index % FIELD_COLUMNS);
  const fields = [...new Set(columns.map((_, index) => field(index)))];
  const all = (name: string): number =>
    columns.reduce((bits, _, index) => (field(index) === name ? bits | bit(index) : bits), 0);
  const unsetAll = fields.map((name) => `this.${name} = 0;`).join(' ');
  const isUnset = (index: number): string => `(this.${field(index)} & ${bit(index)}) === 0`;
  const isHalves = ({ type: { kind } }: Column): boolean => kind === 'bigint' || kind === 'timestamp';
  return `const ${columns.map((_, index) => `slow${index} = Symbol()`).join(', ')}, fill = Symbol(), none = [];
class Writer {
#row = 0; #target; #insert; #capacity; #flush; #count;
${fields.map((name) => `${name} = 0;`).join(' ')}
${each((_, index) => `#c${index}; #s${index};`)}
constructor(target) {
this.#target = target;
this.#insert = target.insert;
this.#capacity = target.capacity;
this.#flush = target.flush;
this.#count = target.count;
${each((column, index) => {
  const stage = `target.stages[${index}]`;
  return `this.#s${index} = ${stage}; this.#c${index} = ${stage}.${isHalves(column) ? 'halves' : 'values'};`;
})}
}
${each(({ name, type }, index) => {
  const fast = fastWrite(type.kind, 'value', `this.#c${index}`);
  const slow = `this[slow${index}] = value;`;
  const body =
    fast === '' ? slow : `const n = this.#row; ${fast} { ${slow} return; } this.${field(index)} |= ${bit(index)};`;
  return `set [${JSON.stringify(name)}](value) { ${body} }`;
})}
${each(
  ({ nullable }, index) => `set [slow${index}](value) {
${nullable ? `if (value === null || value === undefined) { this.${field(index)} &= ${~bit(index)}; return; }` : ''}
const problem = this.#s${index}.put(this.#row, value);
if (problem !== undefined) { ${unsetAll} this.#target.failures.value(${index}, problem); }
this.${field(index)} |= ${bit(index)};
}`,
)}
next() {
const insert = this.#insert;
if (insert.hasEnded) insert.assertOpen();
const n = this.#row;
if (${fields.map((name) => `this.${name} !== ${all(name)}`).join(' || ')}) this[fill](n);
${unsetAll}
this.#row = n + 1;
this.#count(n + 1);
return n + 1 === this.#capacity${isLargeSource(columns, (index) => `this.#s${index}`)} ? Reflect.apply(this.#flush, undefined, none) : insert.mayGoOn;
}
[fill](n) {
${each(({ nullable }, index) =>
  nullable
    ? ''
    : `if (${isUnset(index)}) { ${unsetAll} this.#target.failures.value(${index}, ${JSON.stringify(UNSET)}); }`,
)}
${each(({ nullable }, index) => (nullable ? `if (${isUnset(index)}) this.#s${index}.put(n, null);` : ''))}
}
static make(target) {
const writer = Object.preventExtensions(new Writer(target));
return {
writer,
isBegun: () => ${fields.map((name) => `writer.${name} !== 0`).join(' || ')},
forget() { ${fields.map((name) => `writer.${name} = 0;`).join(' ')} },
place(row) { writer.#row = row; },
};
}
}
return Writer.make;`;
}

function interpretedWriter(columns: readonly Column[], target: WriterTarget): StagedWriter {
  const { stages, capacity, failures, insert } = target;
  const isSet = columns.map(() => false);
  const forget = (): void => void isSet.fill(false);
  let row = 0;
  const next = (): boolean => {
    if (insert.hasEnded) insert.assertOpen();
    const missing = columns.findIndex(({ nullable }, index) => !nullable && !isSet[index]);
    if (missing !== -1) {
      forget();
      failures.value(missing, UNSET);
    }
    for (const [index, stage] of stages.entries()) if (!isSet[index]) stage.put(row, null);
    forget();
    row += 1;
    target.count(row);
    return row === capacity || stages.some((stage) => stage.isLarge(row)) ? target.flush() : insert.mayGoOn;
  };
  const set = (index: number, value: unknown): void => {
    const isNull = columns[index]!.nullable && (value === null || value === undefined);
    const problem = isNull ? undefined : stages[index]!.put(row, value);
    if (problem !== undefined) {
      forget();
      failures.value(index, problem);
    }
    isSet[index] = !isNull;
  };
  const prototype: object = Object.defineProperty({}, 'next', { value: next });
  for (const [index, { name }] of columns.entries()) {
    Object.defineProperty(prototype, name, {
      set(value: unknown) {
        set(index, value);
      },
    });
  }
  return {
    writer: Object.preventExtensions(Object.create(prototype) as object),
    isBegun: () => isSet.includes(true),
    forget,
    place: (to) => {
      row = to;
    },
  };
}
