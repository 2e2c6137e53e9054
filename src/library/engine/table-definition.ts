import type { ColumnSpec, RawColumnKind, TableSpec } from '../../addon.js';
import { invalidArgument } from '../../errors.js';
import { describeValue } from '../crossing/describe-value.js';
import { checkBoolean, checkLater, readOptions } from '../crossing/options.js';
import { ownList } from '../crossing/own-list.js';
import { checkText } from '../crossing/well-formed.js';
import { isSqlType, SqlType } from './sql-type.js';

/** A column of a table or of a query's result. */
export interface Column {
  readonly name: string;
  readonly type: SqlType;
  /** Whether the column may hold null. */
  readonly nullable: boolean;
}

/** A column of a new table, as a caller gives it. Nullable by default, as in SQL. */
export interface ColumnOptions {
  readonly name: string;
  readonly type: SqlType;
  readonly nullable?: boolean;
}

/** Checks of the parts of a column. */
const COLUMN_OPTIONS = { name: checkLater, type: checkLater, nullable: checkBoolean };

/** Throws `BB_INVALID_ARGUMENT` for what is no `TableDefinition`. */
export let checkDefinition: (definition: unknown) => void;

/**
 * The name and columns of a table. Immutable, and checked when it is made.
 *
 * @example
 * ```js
 * import { SqlType, TableDefinition } from 'boundary-bench';
 *
 * const orders = new TableDefinition('orders', [
 *   { name: 'id', type: SqlType.bigInt(), nullable: false },
 *   { name: 'total', type: SqlType.decimal(12, 2) },
 * ]);
 * console.log(orders.columns.map(({ name }) => name)); // ['id', 'total']
 * ```
 */
export class TableDefinition {
  // oxlint-disable-next-line no-unused-private-class-members -- tells a definition from an object that looks like one
  readonly #isChecked = true;
  readonly name: string;
  readonly columns: readonly Column[];

  static {
    checkDefinition = (definition: unknown) => {
      if (typeof definition === 'object' && definition !== null && #isChecked in definition) return;
      throw invalidArgument(`a TableDefinition is needed, not ${describeValue(definition)}`, {
        hint: 'connection.describeTable(name) has the definition of a table that is there',
      });
    };
  }

  /**
   * Throws a `BoundaryError` with the code `BB_INVALID_ARGUMENT` for an empty name, a NUL or a lone surrogate in a name, and no
   * column. Also throws it for a type that is not a `SqlType`, and for a column name that occurs twice (case-insensitively, as in
   * SQL).
   */
  constructor(name: string, columns: readonly ColumnOptions[]) {
    checkName(name, 'a table');
    if (!Array.isArray(columns) || columns.length === 0) {
      throw invalidArgument(`table "${name}" needs at least one column`);
    }
    const seen = new Set<string>();
    this.name = name;
    this.columns = Object.freeze(
      ownList(`the columns of table "${name}"`, columns as readonly ColumnOptions[]).map((column) => {
        const { name: columnName, type, nullable = true } = readOptions(column, COLUMN_OPTIONS);
        checkName(columnName, `table "${name}": a column`);
        const key = columnName.toLowerCase();
        if (seen.has(key)) throw invalidArgument(`table "${name}" names column "${columnName}" twice`);
        seen.add(key);
        if (!isSqlType(type)) {
          throw invalidArgument(
            `table "${name}": column "${columnName}" needs a type made by SqlType, such as SqlType.int()`,
          );
        }
        return Object.freeze({ name: columnName, type, nullable });
      }),
    );
    Object.freeze(this);
  }
}

/** The definition in the form of the raw addon. Throws `BB_INVALID_ARGUMENT` for what is no definition. */
export function toTableSpec(definition: TableDefinition): TableSpec {
  checkDefinition(definition);
  return {
    name: definition.name,
    columns: definition.columns.map(({ name, type, nullable }) => ({
      name,
      kind: type.kind as RawColumnKind,
      ...(type.precision === undefined ? {} : { precision: type.precision }),
      ...(type.scale === undefined ? {} : { scale: type.scale }),
      nullable,
    })),
  };
}

/** The columns that `specs`, from the raw addon, describe. */
export function fromColumnSpecs(specs: readonly ColumnSpec[]): readonly Column[] {
  return Object.freeze(
    specs.map((spec) => Object.freeze({ name: spec.name, type: SqlType.fromSpec(spec), nullable: spec.nullable })),
  );
}

/** The index of each name among columns, the first index for a name that occurs twice. */
const indices = new WeakMap<readonly Column[], ReadonlyMap<unknown, number>>();

/** The index of the column of this name; undefined if there is none. */
export function indexOfColumn(columns: readonly Column[], name: unknown): number | undefined {
  let known = indices.get(columns);
  if (known === undefined) {
    const entries = columns.map((column, index) => [column.name, index] as const);
    known = new Map(entries.toReversed());
    indices.set(columns, known);
  }
  return known.get(name);
}

function checkName(name: unknown, owner: string): void {
  if (typeof name !== 'string' || name === '' || name.includes('\0')) {
    throw invalidArgument(`${owner} needs a name without NUL characters`);
  }
  checkText(`the name of ${owner}`, name);
}
