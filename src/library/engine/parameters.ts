/** Parameters of statements: the values allowed, and their form in the raw addon. */
import { types } from 'node:util';

import { invalidArgument } from '../../errors.js';
import { MILLISECONDS_PER_DAY } from './calendar.js';
import { Misfit } from './column-stage.js';
import { createColumnStage } from './create-column-stage.js';
import { formatDecimal, parseDecimal } from './decimal-text.js';
import { describeValue } from '../crossing/describe-value.js';
import { getTime, INT64_MAX, INT64_MIN } from './fixed-stage.js';
import { isWellFormed, LONE_SURROGATE } from '../crossing/well-formed.js';
import { isSqlType, type SqlType } from './sql-type.js';
import { bytesOf } from '../crossing/typed-memory.js';

/** The value of a parameter. See `QueryOptions.parameters`. */
export type ParameterInput = null | boolean | number | bigint | string | Uint8Array | Date | TypedValue;

/** The most parameters of a statement: the protocols of servers count them with 16 bits. */
const MOST_PARAMETERS = 65_535;

/** A value with its SQL type, made by `typed`. */
export class TypedValue {
  readonly type: SqlType;
  readonly value: unknown;

  /** @internal Use `typed`. */
  constructor(type: SqlType, value: unknown) {
    this.type = type;
    this.value = value;
    Object.freeze(this);
  }
}

/**
 * A parameter of a given SQL type: `typed(SqlType.decimal(10, 2), '1.25')`, `typed(SqlType.date(), 19723)`. Takes the values that
 * an inserter takes for a column of that type. A value that does not fit is rejected when the statement runs.
 *
 * @example
 * ```js
 * import { connect, SqlType, typed } from 'boundary-bench';
 *
 * const connection = await connect('embedded:');
 * const parameters = [typed(SqlType.decimal(10, 2), '1.25')];
 * console.log(await connection.executeQuery('SELECT $1 AS price', { parameters })); // [{ price: '1.25' }]
 * await connection.close();
 * ```
 */
export function typed(type: SqlType, value: unknown): TypedValue {
  if (!isSqlType(type)) {
    throw invalidArgument('typed takes a type made by SqlType, such as SqlType.date()');
  }
  return new TypedValue(type, value);
}

/**
 * Copies of the parameters in the form of the raw addon. Throws `BB_INVALID_ARGUMENT` with the position of an unsupported value.
 */
export function toRawParameters(parameters: unknown): unknown[] {
  if (parameters === undefined) return [];
  if (!Array.isArray(parameters)) throw invalidArgument('parameters must be an array of values, for $1, $2, ...');
  if (parameters.length > MOST_PARAMETERS) {
    throw invalidArgument(`a statement has at most ${MOST_PARAMETERS} parameters, not ${parameters.length}`);
  }
  // Not `map`, which skips the holes of an array.
  return Array.from(parameters as ArrayLike<unknown>, (value, index) => {
    const raw = toRaw(value);
    if (raw instanceof Misfit) throw invalidArgument(`parameter ${index + 1}: ${raw.problem}`);
    return raw;
  });
}

/** The raw form of a value, in which a bigint is a 64-bit integer and a number a double. */
export function toRaw(value: unknown): unknown {
  switch (typeof value) {
    case 'boolean':
      return value;
    case 'string':
      return toRawText(value);
    case 'number':
      return toRawNumber(value);
    case 'bigint':
      return value >= INT64_MIN && value <= INT64_MAX
        ? value
        : new Misfit(`${describeValue(value)} does not fit into 64 bits; give it as a typed DECIMAL`);
    case 'object':
      return value === null ? null : toRawObject(value);
    default:
      return new Misfit(`${describeValue(value)} is not a value of SQL`);
  }
}

function toRawText(value: string): unknown {
  return isWellFormed(value) ? value : new Misfit(`${describeValue(value)} ${LONE_SURROGATE}`);
}

function toRawNumber(value: number): unknown {
  if (!Number.isInteger(value) || Object.is(value, -0)) return value;
  // An integer that is not safe is a double. The engine refuses it if the statement takes an integer.
  return Number.isSafeInteger(value) ? BigInt(value) : value;
}

function toRawObject(value: object): unknown {
  if (value instanceof TypedValue) return toRawTyped(value);
  if (types.isDate(value)) return toRawTimestamp(value);
  if (types.isUint8Array(value)) return toRawBytes(value);
  return new Misfit(`${describeValue(value)} is not a value of SQL`);
}

function toRawBytes(value: Uint8Array): unknown {
  try {
    return bytesOf(value).slice();
  } catch {
    return new Misfit('the memory of the Uint8Array is detached');
  }
}

function toRawTimestamp(value: Date | bigint | number): unknown {
  if (!types.isDate(value)) return { kind: 'timestamp', value: BigInt(value) };
  const milliseconds = getTime.call(value);
  if (Number.isNaN(milliseconds)) return new Misfit('the Date is invalid');
  return { kind: 'timestamp', value: BigInt(milliseconds) * 1000n };
}

function toRawTyped({ type, value }: TypedValue): unknown {
  const { kind, precision, scale = 0 } = type;
  if (value === null) return { kind, value, precision, scale };
  if (value === undefined) return new Misfit('undefined is not a value of SQL');
  // Uses the checks of an inserter's column, so that both take the same values.
  const problem = createColumnStage({ name: '', type, nullable: true }, 1).put(0, value);
  if (problem !== undefined) return new Misfit(problem);
  switch (kind) {
    case 'smallint':
    case 'int':
    case 'real':
      return { kind, value };
    case 'bigint':
      return BigInt(value as number | bigint);
    case 'decimal': {
      const units = parseDecimal(String(value), precision ?? 0, scale) as number | bigint;
      return { kind, value: formatDecimal(units, scale), precision, scale };
    }
    case 'bytes':
      return toRawBytes(value as Uint8Array);
    case 'date':
      return { kind, value: types.isDate(value) ? getTime.call(value) / MILLISECONDS_PER_DAY : value };
    case 'timestamp':
      return toRawTimestamp(value as Date | bigint | number);
    case 'bool':
    case 'double':
    case 'text':
      return value;
  }
}
