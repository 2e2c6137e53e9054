import { types } from 'node:util';

const LONGEST = 60;

/** The text of a value for an error message: short, and made without calling any code of the value. */
export function describeValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(shorten(value));
    case 'bigint':
      // The digits of a longer one could take minutes to write.
      return BigInt.asIntN(256, value) === value ? shorten(`${value}n`) : 'a bigint of more than 256 bits';
    case 'number':
    case 'boolean':
    case 'undefined':
      return String(value);
    case 'symbol':
      return 'a symbol';
    case 'function':
      return 'a function';
    default:
      return describeObject(value as object | null);
  }
}

function describeObject(value: object | null): string {
  if (value === null) return 'null';
  if (types.isProxy(value)) return 'a proxy';
  if (types.isDate(value)) {
    const milliseconds = Date.prototype.getTime.call(value);
    return Number.isNaN(milliseconds) ? 'an invalid Date' : new Date(milliseconds).toISOString();
  }
  if (Array.isArray(value)) return 'an array';
  return ArrayBuffer.isView(value) ? 'a typed array' : 'an object';
}

function shorten(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}...` : text;
}
