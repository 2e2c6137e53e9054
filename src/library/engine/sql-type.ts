import { BoundaryError, invalidArgument } from '../../errors.js';
import { describeValue } from '../crossing/describe-value.js';

/** The kinds of column types, by their names in the raw addon. */
export type ColumnKind =
  | 'bool'
  | 'smallint'
  | 'int'
  | 'bigint'
  | 'real'
  | 'double'
  | 'decimal'
  | 'text'
  | 'bytes'
  | 'date'
  | 'timestamp';

/** The largest precision of a decimal, in digits. */
const MAX_DECIMAL_PRECISION = 38;

const SQL_NAMES: Readonly<Record<ColumnKind, string>> = {
  bool: 'BOOLEAN',
  smallint: 'SMALLINT',
  int: 'INTEGER',
  bigint: 'BIGINT',
  real: 'REAL',
  double: 'DOUBLE',
  decimal: 'DECIMAL',
  text: 'VARCHAR',
  bytes: 'BLOB',
  date: 'DATE',
  timestamp: 'TIMESTAMP',
};

/** Bytes of one value in a frame; absent for text and bytes, whose values vary in width. */
const WIDTHS: Readonly<Partial<Record<ColumnKind, number>>> = {
  bool: 1,
  smallint: 2,
  int: 4,
  bigint: 8,
  real: 4,
  double: 8,
  decimal: 16,
  date: 4,
  timestamp: 8,
};

/** Whether a value is a type that one of the functions of `SqlType` made. */
export let isSqlType: (value: unknown) => value is SqlType;

/**
 * The type of a column. Immutable, and made by the static functions named after the types.
 *
 * @example
 * ```js
 * import { SqlType } from 'boundary-bench';
 *
 * console.log(String(SqlType.decimal(10, 2))); // DECIMAL(10, 2)
 * ```
 */
export class SqlType {
  readonly kind: ColumnKind;
  /** All digits of a decimal, 1 to 38; undefined for other types. */
  readonly precision: number | undefined;
  /** Digits behind a decimal's point, 0 to `precision`; undefined for other types. */
  readonly scale: number | undefined;

  // oxlint-disable-next-line no-unused-private-class-members -- tells a type from an object that looks like one
  readonly #isMade = true;

  static {
    isSqlType = (value: unknown): value is SqlType => typeof value === 'object' && value !== null && #isMade in value;
  }

  private constructor(kind: ColumnKind, precision?: number, scale?: number) {
    if (!Object.hasOwn(SQL_NAMES, kind)) throw invalidArgument('types are made by the functions of SqlType');
    this.kind = kind;
    this.precision = precision;
    this.scale = scale;
    Object.freeze(this);
  }

  /** `BOOLEAN`: `boolean` in JavaScript. */
  static bool(): SqlType {
    return new SqlType('bool');
  }

  /** `SMALLINT`, 16 bits: `number`. */
  static smallInt(): SqlType {
    return new SqlType('smallint');
  }

  /** `INTEGER`, 32 bits: `number`. */
  static int(): SqlType {
    return new SqlType('int');
  }

  /** `BIGINT`, 64 bits: `bigint`. A safe integer `number` is taken too, and returned with `int64: 'number'`. */
  static bigInt(): SqlType {
    return new SqlType('bigint');
  }

  /** `REAL`, IEEE 754 binary32: `number`, rounded to the nearest. */
  static real(): SqlType {
    return new SqlType('real');
  }

  /** `DOUBLE`, IEEE 754 binary64: `number`. */
  static double(): SqlType {
    return new SqlType('double');
  }

  /**
   * `DECIMAL(precision, scale)`, exact: a `string` with `scale` digits behind the point. `bigint` and `number` (by its shortest
   * decimal text) are taken too.
   */
  static decimal(precision: number, scale = 0): SqlType {
    const isPossible =
      Number.isInteger(precision) &&
      precision >= 1 &&
      precision <= MAX_DECIMAL_PRECISION &&
      Number.isInteger(scale) &&
      scale >= 0 &&
      scale <= precision;
    if (!isPossible) {
      throw invalidArgument(
        `DECIMAL(${describeValue(precision)}, ${describeValue(scale)}) needs a precision of 1 to 38 and a scale of at most that`,
      );
    }
    return new SqlType('decimal', precision, scale);
  }

  /** `VARCHAR`, UTF-8: `string` without lone surrogates. */
  static text(): SqlType {
    return new SqlType('text');
  }

  /** `BLOB`: `Uint8Array`. */
  static bytes(): SqlType {
    return new SqlType('bytes');
  }

  /** `DATE`: `number` of days since 1970-01-01. A `Date` at midnight UTC is taken too. */
  static date(): SqlType {
    return new SqlType('date');
  }

  /** `TIMESTAMP` without a zone: `bigint` microseconds since 1970-01-01T00:00:00. `number` and `Date` are taken too. */
  static timestamp(): SqlType {
    return new SqlType('timestamp');
  }

  /** Bytes of one value in a frame; undefined for text and bytes. */
  get width(): number | undefined {
    return WIDTHS[this.kind];
  }

  /** The type as SQL writes it. */
  toString(): string {
    return this.kind === 'decimal' ? `DECIMAL(${this.precision}, ${this.scale})` : SQL_NAMES[this.kind];
  }

  /** @internal The type that `spec`, from the raw addon, describes. */
  static fromSpec(spec: { kind: string; precision?: number; scale?: number }): SqlType {
    if (spec.kind === 'decimal') return SqlType.decimal(spec.precision ?? 0, spec.scale ?? 0);
    if (!Object.hasOwn(SQL_NAMES, spec.kind)) {
      throw new BoundaryError('BB_INTERNAL', `the addon names an unknown type "${spec.kind}"`);
    }
    return new SqlType(spec.kind as ColumnKind);
  }
}
