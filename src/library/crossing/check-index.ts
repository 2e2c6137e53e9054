import { invalidArgument } from '../../errors.js';
import { describeValue } from './describe-value.js';

/** Throws `BB_INVALID_ARGUMENT` for what is no index among `length` items, each of which `what` names. */
export function checkIndex(what: string, index: unknown, length: number): void {
  if (typeof index === 'number' && index >>> 0 === index && index < length) return;
  throw invalidArgument(`there is no ${what} ${describeValue(index)} among ${length}`);
}
