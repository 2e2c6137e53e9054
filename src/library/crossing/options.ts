import { suggestion } from '../../closest-word.js';
import { invalidArgument } from '../../errors.js';
import { describeValue } from './describe-value.js';

/** Throws `BB_INVALID_ARGUMENT` if a value is none that the option `name` takes. Is not called for undefined. */
export type OptionCheck = (name: string, value: unknown) => void;

/** The check of each option of a function, so that none is read without one. */
export type OptionChecks<Options extends object> = { readonly [Name in keyof Required<Options>]: OptionCheck };

/** The longest delay of a timer in milliseconds. A timer with a longer delay fires at once. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * A caller's options, as plain values that were checked. Each is read once: a getter may run any code, and return another value the next
 * time. An unknown name is refused: a misspelt option would leave its default in place. `owner` begins the message of that error.
 */
export function readOptions<Options extends object>(
  options: Options,
  checks: OptionChecks<Options>,
  owner?: string,
): Options {
  checkOptionNames(options, checks, owner);
  const read: Partial<Record<keyof Options, unknown>> = {};
  for (const name of Object.keys(checks) as (keyof Options & string)[]) {
    const value: unknown = options[name];
    if (value === undefined) continue;
    checks[name](name, value);
    read[name] = value;
  }
  return read as Options;
}

/** Throws for options that are no object which has them as its properties: they would be ignored. */
export function requireOptions(options: unknown): asserts options is object {
  if (typeof options !== 'object' || options === null) {
    throw invalidArgument(`options must be an object, not ${describeValue(options)}`);
  }
  if (options instanceof AbortSignal) throw invalidArgument('options must be an object; give a signal as { signal }');
  if (Symbol.iterator in options || 'then' in options) {
    throw invalidArgument('options must be an object that has them as properties, not an iterable or a promise');
  }
}

/** Throws for options that are no object with names, and for a name that is none of `known`. */
export function checkOptionNames(options: object, known: object, owner?: string): void {
  requireOptions(options);
  for (const name in options) {
    if (Object.hasOwn(known, name)) continue;
    const names = Object.keys(known);
    const problem = `there is no option ${describeValue(name)}${suggestion(name, names)}`;
    throw invalidArgument(owner === undefined ? problem : `${owner}: ${problem}`, {
      hint: `The options are ${names.join(', ')}`,
    });
  }
}

/** A check that takes every value, of an option that is checked where it is read. */
export function checkLater(): void {}

/** Throws if a caller's value is not an integer within these bounds. */
export function checkInteger(name: string, value: unknown, least: number, most: number): void {
  if (Number.isInteger(value) && Number(value) >= least && Number(value) <= most) return;
  throw invalidArgument(`${name} must be an integer of ${least} to ${most}, not ${describeValue(value)}`);
}

/** A check for integers within these bounds. */
export function integerIn(least: number, most: number): OptionCheck {
  return (name, value) => checkInteger(name, value, least, most);
}

/** Throws for what is no time-out in milliseconds. */
export function checkTimeout(name: string, value: unknown): void {
  checkInteger(name, value, 1, LONGEST_TIMEOUT_MS);
}

/** A check that takes one value more than another check, such as `Infinity`. */
export function orElse(other: unknown, check: OptionCheck): OptionCheck {
  return (name, value) => {
    if (value !== other) check(name, value);
  };
}

/** Throws for what is no number of 0 or more. */
export function checkNumber(name: string, value: unknown): void {
  if (Number.isFinite(value) && Number(value) >= 0) return;
  throw invalidArgument(`${name} must be a number of 0 or more, not ${describeValue(value)}`);
}

/** Throws for what is neither `true` nor `false`. */
export function checkBoolean(name: string, value: unknown): void {
  if (typeof value !== 'boolean') throw invalidArgument(`${name} must be true or false, not ${describeValue(value)}`);
}

/** Throws for what is no function. */
export function checkFunction(name: string, value: unknown): void {
  if (typeof value !== 'function') throw invalidArgument(`${name} must be a function, not ${describeValue(value)}`);
}

/** A check for some words. */
export function oneOf(...words: readonly string[]): OptionCheck {
  return (name, value) => {
    if (words.includes(value as string)) return;
    throw invalidArgument(`${name} must be one of ${words.join(', ')}, not ${describeValue(value)}`);
  };
}

// The original getter, which throws for what is no signal: a signal's own `aborted` could run any code.
const abortedGetter = Object.getOwnPropertyDescriptor(AbortSignal.prototype, 'aborted')!.get!;

/** Throws for what is no `AbortSignal`. */
export function checkSignal(name: string, value: unknown): void {
  try {
    abortedGetter.call(value);
  } catch {
    throw invalidArgument(`${name} must be an AbortSignal, not ${describeValue(value)}`);
  }
}
