import { expect, test } from 'vitest';
import {
  formatBytes,
  formatCountedRate,
  formatDuration,
  formatFactor,
  formatFactorInterval,
  formatLatency,
  formatMebibytes,
  formatQueries,
  formatPercent,
  formatRate,
  formatRateOf,
  formatRows,
  formatSeconds,
  formatShortRate,
} from '../../src/report/format.js';

test.each([
  [0, '0'],
  [40, '40'],
  [999, '999'],
  [1_000, '1.00K'],
  [12_345, '12.3K'],
  [99_960, '100K'],
  [100_000, '100K'],
  [999_499, '999K'],
  [999_999, '1.00M'],
  [10_000_000, '10.00M'],
  [100_000_000, '100.00M'],
  [999_999_999, '1.00G'],
  [2_000_000_000_000, '2000G'],
])('%d rows read %s', (rows, expected) => expect(formatRows(rows)).toBe(expected));

test.each([
  [0, '0/s', '0/s'],
  [0.5, '0.50/s', '0.50/s'],
  [9.999, '10/s', '10/s'],
  [56, '56/s', '56/s'],
  [365.4, '365/s', '365/s'],
  [999.6, '1.00 K/s', '1.00 K/s'],
  [1_460, '1.46 K/s', '1.46 K/s'],
  [878_000, '878 K/s', '878 K/s'],
  [999_999, '1.00 M/s', '1.00 M/s'],
  [32_220_000, '32.22 M/s', '32.2 M/s'],
  [320_000_000, '320.00 M/s', '320 M/s'],
  [999_999_999, '1.00 G/s', '1.00 G/s'],
])('a rate of %d reads %s in a column and %s in a sentence', (rate, column, sentence) => {
  expect(formatRate(rate)).toBe(column);
  expect(formatShortRate(rate)).toBe(sentence);
});

test('a rate says what it counts', () => {
  const rates = [{ rowsPerSecond: 12_100_000 }, { rowsPerSecond: 40 }, { queriesPerSecond: 10.34 }];
  expect(rates.map(formatCountedRate)).toEqual(['12.1 M rows/s', '40 rows/s', '10.3 queries/s']);
  expect(rates.map((summary) => formatRateOf({ summary }))).toEqual(['12.1 M/s', '40/s', '10.3 queries/s']);
  expect([formatQueries(1234), formatQueries(10.34), formatQueries(undefined)]).toEqual(['1.23 K/s', '10.3/s', '—']);
  expect(formatRate(undefined)).toBe('—');
});

test.each([
  [0, '0.000'],
  [0.000_42, '0.000420'],
  [0.005, '0.005'],
  [3.1039, '3.104'],
  [undefined, '—'],
])('%s seconds read %s', (seconds, expected) => expect(formatSeconds(seconds)).toBe(expected));

test.each([
  [0, '0.00 ns'],
  [71e-9, '71 ns'],
  [999.6e-9, '1.00 µs'],
  [1.2e-3, '1.20 ms'],
  [0.9999, '1.00 s'],
  [2000, '2000 s'],
])('a duration of %d seconds reads %s', (seconds, expected) => expect(formatDuration(seconds)).toBe(expected));

test.each([
  [0, '0 MiB'],
  [512 * 1024 ** 2, '512 MiB'],
  [1024 ** 3 - 1, '1.0 GiB'],
  [96 * 1024 ** 3, '96.0 GiB'],
  [undefined, '—'],
])('%s bytes read %s', (bytes, expected) => expect(formatBytes(bytes)).toBe(expected));

test('small figures', () => {
  expect([formatMebibytes(737.44), formatMebibytes(0), formatMebibytes(undefined)]).toEqual(['737.4', '0.0', '—']);
  expect([820, 999.6, 1240, 12_400, 999_499, 3_100_000, 3.6e12].map(formatLatency)).toEqual([
    '820 ns',
    '1.00 µs',
    '1.24 µs',
    '12.4 µs',
    '999 µs',
    '3.10 ms',
    '3600 s',
  ]);
  expect([formatPercent(0), formatPercent(0.042), formatPercent(0.0996), formatPercent(7.9)]).toEqual([
    '0%',
    '4.2%',
    '10%',
    '790%',
  ]);
});

test('a factor has three digits, and an end of its interval never reads as exactly 1 when it is not', () => {
  expect([1, 1.2, 13.04, 0.71, 1.02, 0.004, 120.6, 1.00001].map(formatFactor)).toEqual([
    '1.0×',
    '1.2×',
    '13.0×',
    '0.71×',
    '1.02×',
    '0.004×',
    '121×',
    '1.00×',
  ]);
  expect(formatFactorInterval({ ratio: 1.2, low: 1.1, high: 1.3 })).toBe('1.2× (1.1–1.3)');
  expect(formatFactorInterval({ ratio: 1.03, low: 1.01, high: 1.04 })).toBe('1.03× (1.01–1.04)');
  expect(formatFactorInterval({ ratio: 1.2, low: 1.18, high: 1.23 })).toBe('1.20× (1.18–1.23)');
  expect(formatFactorInterval({ ratio: 1.16481, low: 1.0002, high: 1.3564 })).toBe('1.16× (>1.00–1.36)');
  expect(formatFactorInterval({ ratio: 0.98, low: 0.961, high: 0.9998 })).toBe('0.980× (0.961–<1.000)');
  expect(formatFactorInterval({ ratio: 1.004, low: 0.789, high: 1.278 })).toBe('1.00× (0.79–1.28)');
  expect(formatFactorInterval({ ratio: 68.8, low: 2.63, high: 1845.6 })).toBe('68.8× (2.6–1.85K)');
  expect(formatFactorInterval({ ratio: 10.31, low: 0.18, high: 601.62 })).toBe('10.3× (0.18–602)');
  expect(formatFactorInterval({ ratio: 29_924, low: 11_008, high: 1.2e9 })).toBe('29.9K× (11.0K–1.20e+9)');
  expect(formatFactor(Infinity)).toBe('Infinity×');
  expect(formatFactorInterval({ ratio: 2, low: 2, high: 2 })).toBe('2.0× (2.0–2.0)');
});
