import type { ColumnSpec, RawColumnKind, TableSpec } from '../../addon.js';
import { invalidArgument } from '../../errors.js';
import { SqlType } from './sql-type.js';

/** A column of a table or of a query's result. */
export interface Column {
  readonly name: string;
  readonly type: SqlType;
  /** Whether the column may hold null. */
  readonly nullable: boolean;
}

/** A column of a new table, as a caller gives it; nullable by default, as in SQL. */
export interface ColumnOptions {
  readonly name: string;
  readonly type: SqlType;
  readonly nullable?: boolean;
}

/** The name and columns of a table. Immutable, and checked when it is made. */
export class TableDefinition {
  readonly name: string;
  readonly columns: readonly Column[];

  /**
   * Throws a `BoundaryError` with the code `BB_INVALID_ARGUMENT` for an empty name, a NUL in a name, no column, a type that is
   * not a `SqlType`, and a column name that occurs twice (case-insensitively, as in SQL).
   */
  constructor(name: string, columns: readonly ColumnOptions[]) {
    checkName(name, 'a table');
    if (!Array.isArray(columns) || columns.length === 0) {
      throw invalidArgument(`table "${name}" needs at least one column`);
    }
    const seen = new Set<string>();
    this.name = name;
    this.columns = Object.freeze(
      columns.map((column) => {
        checkName(column?.name, `table "${name}": a column`);
        if (seen.has(column.name.toLowerCase()))
          throw invalidArgument(`table "${name}" names column "${column.name}" twice`);
        seen.add(column.name.toLowerCase());
        if (!(column.type instanceof SqlType)) {
          throw invalidArgument(
            `table "${name}": column "${column.name}" needs a type made by SqlType, such as SqlType.int()`,
          );
        }
        return Object.freeze({ name: column.name, type: column.type, nullable: column.nullable ?? true });
      }),
    );
    Object.freeze(this);
  }
}

/** The definition in the form of the raw addon. */
export function toTableSpec(definition: TableDefinition): TableSpec {
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

function checkName(name: unknown, owner: string): void {
  if (typeof name !== 'string' || name === '' || name.includes('\0')) {
    throw invalidArgument(`${owner} needs a name without NUL characters`);
  }
}
