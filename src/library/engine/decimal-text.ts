/** Conversion of decimals between text and a frame's 128-bit integers, which count units of 10^-scale. */
import { Misfit } from './column-stage.js';

/** Powers of ten that a `number` holds exactly. */
const NUMBER_POWERS = Array.from({ length: 16 }, (_, exponent) => 10 ** exponent);

/** The longest text that is looked at: no decimal of 38 digits needs as many characters. */
const LONGEST_TEXT = 1000;

const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,6}))?$/;

/**
 * The units of 10^-scale in a decimal text, exactly: a `number` if it is a safe integer, else a `bigint`. A text with more digits
 * than the scale or the precision allows is a problem. Nothing is rounded.
 */
export function parseDecimal(text: string, precision: number, scale: number): number | bigint | Misfit {
  if (text.length > LONGEST_TEXT) return new Misfit(`has more than ${LONGEST_TEXT} characters`);
  const match = DECIMAL.exec(text);
  const whole = match?.[2] ?? '';
  const fraction = match?.[3] ?? '';
  if (match === null || whole.length + fraction.length === 0) return new Misfit('is not a decimal number');
  // The number of units is digits * 10^exponent.
  let digits = (whole + fraction).replace(/^0+/, '');
  let exponent = Number(match[4] ?? 0) - fraction.length + scale;
  if (digits === '') return 0;
  if (exponent < 0) {
    const kept = Math.max(0, digits.length + exponent);
    if (/[1-9]/.test(digits.slice(kept))) {
      return new Misfit(`has more than the ${scale} digits that the column has behind the point`);
    }
    digits = digits.slice(0, kept);
    exponent = 0;
  }
  if (digits.length + exponent > precision) {
    return new Misfit(`has more digits than DECIMAL(${precision}, ${scale})`);
  }
  const isNegative = match[1] === '-';
  if (digits.length + exponent < NUMBER_POWERS.length) {
    const units = Number(digits) * NUMBER_POWERS[exponent]!;
    return isNegative ? -units : units;
  }
  const units = BigInt(digits) * 10n ** BigInt(exponent);
  return isNegative ? -units : units;
}

/** The text of a decimal of `units` units of 10^-scale, with `scale` digits behind the point: `-0.05` for -5 and 2. */
export function formatDecimal(units: number | bigint, scale: number): string {
  const isNegative = units < 0;
  const digits = String(isNegative ? -units : units);
  const sign = isNegative ? '-' : '';
  if (scale === 0) return sign + digits;
  const padded = digits.padStart(scale + 1, '0');
  const point = padded.length - scale;
  return `${sign}${padded.slice(0, point)}.${padded.slice(point)}`;
}
