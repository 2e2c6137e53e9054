/** Checks of parsed JSON by the schemas in `schema/`. These schemas describe the same files for other languages. */
import { readFileSync } from 'node:fs';

import { suggestion } from '../closest-word.js';
import { BoundaryError } from '../errors.js';

/** The most items of a list, far more than any run has, and of a list that a message shows. */
const MOST_ITEMS = 2 ** 24;
const MOST_SHOWN = 100;

/**
 * The part of JSON Schema that is used here. Fields that an object's schema does not name are accepted: a later minor
 * version may add some.
 */
interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly type?: 'object' | 'array' | 'string' | 'boolean' | 'number' | 'integer';
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | false;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly pattern?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  /** Schemas of values of different types, or of objects that a constant tells apart. */
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
}

/**
 * Checks that a parsed JSON value has a shape. `path` is its position, for the message. Throws a `BoundaryError` with the code
 * `BB_RESULT_FILE_SHAPE`.
 */
export type Check = (value: unknown, path: string) => void;

/**
 * The checks by the definitions of a file in `schema/`. The file is read at the first check. Without a name, it is the check of the
 * whole. Strict checks are of files that people write: a field that the schema does not name is a misspelt one.
 */
export function checksBy(file: string, isStrict = false): (definition?: string) => Check {
  let root: Schema | undefined;
  return (definition) => (value, path) => {
    root ??= JSON.parse(readFileSync(new URL(`../../schema/${file}`, import.meta.url), 'utf8')) as Schema;
    const { $defs = {} } = root;
    new Shape($defs, isStrict).check(definition === undefined ? root : $defs[definition]!, value, path);
  };
}

/** The check by a schema without definitions. */
export function checkBy(schema: Schema): Check {
  return (value, path) => new Shape({}).check(schema, value, path);
}

class Shape {
  readonly #definitions: Readonly<Record<string, Schema>>;

  readonly #isStrict: boolean;

  constructor(definitions: Readonly<Record<string, Schema>>, isStrict = false) {
    this.#definitions = definitions;
    this.#isStrict = isStrict;
  }

  check(given: Schema, value: unknown, path: string): void {
    const schema = this.#resolved(given);
    if (schema.type === 'object') this.#checkObject(schema, asObject(value, path), path);
    const alternatives = schema.oneOf ?? schema.anyOf;
    if (alternatives !== undefined) return this.#checkOneOf(alternatives, value, path);
    if (schema.type === 'object') return;
    const { what, isMet } = demandOf(schema);
    if (!isMet(value)) wrong(path, what, value);
    if (Array.isArray(value)) this.#checkList(schema, value, path);
  }

  #checkObject({ properties = {}, required = [], additionalProperties }: Schema, value: object, path: string): void {
    const missing = required.find((key) => !Object.hasOwn(value, key));
    if (missing !== undefined) throw shapeError(`${path}.${missing} is missing`);
    for (const [key, item] of Object.entries(value)) {
      const schema = Object.hasOwn(properties, key) ? properties[key] : additionalProperties;
      if (schema) this.check(schema, item, `${path}.${key}`);
      else if (this.#isStrict && schema === false) throw unknownField(key, properties, path);
    }
  }

  #checkList({ items, minItems = 0 }: Schema, value: readonly unknown[], path: string): void {
    if (value.length < minItems) wrong(path, `a list of at least ${minItems}`, value);
    if (value.length > MOST_ITEMS) wrong(path, `a list of ${MOST_ITEMS} at most`, value);
    value.forEach((item, index) => this.check(items!, item, `${path}[${index}]`));
  }

  /** Checks a value by the schema of its type or with its constant, so that the message is of that one. */
  #checkOneOf(alternatives: readonly Schema[], value: unknown, path: string): void {
    const schemas = alternatives.map((schema) => this.#resolved(schema));
    const fitting = schemas.find((schema) => isKindOf(schema, value));
    if (fitting === undefined) wrong(path, schemas.map((schema) => demandOf(schema).what).join(' or '), value);
    this.check(fitting, value, path);
  }

  #resolved(schema: Schema): Schema {
    return schema.$ref === undefined ? schema : this.#definitions[schema.$ref.replace('#/$defs/', '')]!;
  }
}

/** Whether a value has the type of a schema and its constants. */
function isKindOf({ type, properties = {} }: Schema, value: unknown): boolean {
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return typeof value === 'number';
  if (type !== 'object') return typeof value === type;
  const constants = Object.entries(properties).filter(([, schema]) => Object.hasOwn(schema, 'const'));
  return constants.every(([key, schema]) => (value as Record<string, unknown>)[key] === schema.const);
}

/** The demand on a value that is neither an object nor a list: `what` it must be, for the message, and whether a value meets it. */
function demandOf(schema: Schema): { readonly what: string; isMet(value: unknown): boolean } {
  const { type, description = '', pattern, minimum = -Infinity, exclusiveMinimum = -Infinity } = schema;
  switch (type) {
    case 'string': {
      const isLike = (value: string): boolean => pattern === undefined || new RegExp(pattern).test(value);
      return {
        what: pattern === undefined ? 'a string' : description,
        isMet: (value) => typeof value === 'string' && isLike(value),
      };
    }
    case 'array':
      return { what: 'a list', isMet: Array.isArray };
    case 'boolean':
      return { what: 'true or false', isMet: (value) => typeof value === 'boolean' };
    case 'number':
    case 'integer': {
      const least = minimum === -Infinity ? '' : ` of ${minimum} or more`;
      const bound = exclusiveMinimum === -Infinity ? least : ` above ${exclusiveMinimum}`;
      const isNumber = type === 'integer' ? Number.isInteger : Number.isFinite;
      return {
        what: `a ${type === 'integer' ? 'whole number' : 'number'}${bound}`,
        isMet: (value) => isNumber(value) && (value as number) >= minimum && (value as number) > exclusiveMinimum,
      };
    }
    default: {
      const { enum: allowed = [schema.const] } = schema;
      return { what: `one of ${allowed.join(', ')}`, isMet: (value) => allowed.includes(value) };
    }
  }
}

export function asObject(value: unknown, path: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) wrong(path, 'an object', value);
  return value as Record<string, unknown>;
}

function wrong(path: string, expected: string, found: unknown): never {
  // The text of an array of holes could be longer than memory.
  const isLong = Array.isArray(found) && found.length > MOST_SHOWN;
  const shown = isLong ? `a list of ${found.length}` : (JSON.stringify(found) ?? 'nothing');
  throw shapeError(`${path} must be ${expected}, but is ${shown.length > 60 ? `${shown.slice(0, 60)}...` : shown}`);
}

/** The error of a field of an object that has none of its name. */
export function unknownField(key: string, known: object, path: string): BoundaryError {
  return shapeError(`${path} has no field '${key}'${suggestion(key, Object.keys(known))}`);
}

export function shapeError(message: string): BoundaryError {
  return new BoundaryError('BB_RESULT_FILE_SHAPE', message);
}
