import { BoundaryError } from '../errors.js';

/**
 * Checks that a parsed JSON value has a shape; `path` is its position, for the message. Throws a `BoundaryError` with the code
 * `BB_RESULT_FILE_SHAPE`.
 */
export type Check = (value: unknown, path: string) => void;

export const text: Check = (value, path) => {
  if (typeof value !== 'string') wrong(path, 'a string', value);
};

export const flag: Check = (value, path) => {
  if (typeof value !== 'boolean') wrong(path, 'true or false', value);
};

export const number: Check = (value, path) => {
  if (typeof value !== 'number') wrong(path, 'a number', value);
};

/** A number of 0 or more. JSON numbers are finite, and only sums are negative in the files. */
export const amount: Check = (value, path) => {
  if (typeof value !== 'number' || value < 0) wrong(path, 'a number of 0 or more', value);
};

/** A number above 0: a time that a clock has measured. */
export const positiveAmount: Check = (value, path) => {
  if (typeof value !== 'number' || !(value > 0)) wrong(path, 'a number above 0', value);
};

/** A whole number of 0 or more. */
export const count: Check = (value, path) => {
  if (!Number.isInteger(value) || (value as number) < 0) wrong(path, 'a whole number of 0 or more', value);
};

/** A whole number of 1 or more. */
export const positiveCount: Check = (value, path) => {
  if (!Number.isInteger(value) || (value as number) < 1) wrong(path, 'a whole number of 1 or more', value);
};

/** An integer as an exact decimal string, or a float as a number. */
export const sum: Check = (value, path) => {
  const isDecimal = typeof value === 'string' && /^-?[0-9]+$/.test(value);
  if (!isDecimal && typeof value !== 'number') wrong(path, 'a number or a whole number as a string', value);
};

export const anything: Check = () => {};

export function oneOf<T extends string>(...allowed: readonly T[]): Check {
  return (value, path) => {
    if (!allowed.includes(value as T)) wrong(path, `one of ${allowed.join(', ')}`, value);
  };
}

export function listOf(check: Check, minimumLength = 0): Check {
  return (value, path) => {
    if (!Array.isArray(value)) wrong(path, 'a list', value);
    if (value.length < minimumLength) wrong(path, `a list of at least ${minimumLength}`, value);
    value.forEach((item, index) => check(item, `${path}[${index}]`));
  };
}

export function mapOf(check: Check): Check {
  return (value, path) => {
    for (const [key, item] of Object.entries(asObject(value, path))) check(item, `${path}.${key}`);
  };
}

type OptionalKey<T> = { [Key in keyof T]-?: object extends Pick<T, Key> ? Key : never }[keyof T];

/** A check for each field that `T` must have. */
export type RequiredChecks<T> = Readonly<Record<Exclude<keyof T, OptionalKey<T>>, Check>>;

/** A check for each field that `T` may have. */
export type OptionalChecks<T> = Readonly<Record<OptionalKey<T>, Check>>;

/**
 * A `T`: an object with all fields of `required` and any of `optional`. Other fields are accepted: a later minor version may add
 * some.
 */
export function objectOf<T extends object>(
  required: RequiredChecks<T>,
  ...[optional]: object extends OptionalChecks<T> ? [] : [OptionalChecks<T>]
): Check {
  return (value, path) => {
    const object = asObject(value, path);
    for (const [key, check] of Object.entries<Check>(required)) {
      if (!Object.hasOwn(object, key)) throw shapeError(`${path}.${key} is missing`);
      check(object[key], `${path}.${key}`);
    }
    for (const [key, check] of Object.entries<Check>(optional ?? {})) {
      if (Object.hasOwn(object, key)) check(object[key], `${path}.${key}`);
    }
  };
}

/** An object whose shape is named by its field `key`. */
export function variantOf(key: string, variants: Readonly<Record<string, Check>>): Check {
  const named = oneOf(...Object.keys(variants));
  return (value, path) => {
    const name = asObject(value, path)[key];
    named(name, `${path}.${key}`);
    variants[name as string]!(value, path);
  };
}

export function asObject(value: unknown, path: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) wrong(path, 'an object', value);
  return value as Record<string, unknown>;
}

function wrong(path: string, expected: string, found: unknown): never {
  const shown = JSON.stringify(found) ?? 'nothing';
  throw shapeError(`${path} must be ${expected}, but is ${shown.length > 60 ? `${shown.slice(0, 60)}...` : shown}`);
}

function shapeError(message: string): BoundaryError {
  return new BoundaryError('BB_RESULT_FILE_SHAPE', message);
}
