import { readFileSync } from 'node:fs';

import { describe, expect, it, onTestFinished, test } from 'vitest';

import { PointsQuery, countOf, countWithinMs, quoted, seriesOf } from '../../../src/families/ingest/points-query.js';
import { openTarget } from '../../../src/families/requests/target-server.js';
import { errorWith } from '../../error-with.js';

interface Recorded {
  readonly counts: readonly { readonly what: string; readonly answer: object; readonly count: number }[];
  readonly refusals: readonly {
    readonly what: string;
    readonly status: number;
    readonly text: string;
    readonly said: string;
  }[];
}

const recorded = JSON.parse(
  readFileSync(new URL('../../fixtures/hyperbytedb-answers.json', import.meta.url), 'utf8'),
) as Recorded;

const answered = (text: string): ReturnType<typeof seriesOf> => seriesOf('q', { status: 200, text });

describe('the answers of HyperbyteDB', () => {
  it.each(recorded.counts)('is a count: $what', ({ answer, count }) => {
    expect(countOf(answered(JSON.stringify(answer)))).toBe(count);
  });

  it.each(recorded.refusals)('is a refusal: $what', ({ status, text, said }) => {
    expect(() => seriesOf('SELECT 1', { status, text })).toThrow(errorWith('BB_ENGINE', said));
  });
});

test('a count is found by its name', () => {
  const count = (columns: readonly string[], row: readonly unknown[]): number => countOf([{ columns, values: [row] }]);
  expect(count(['time', 'count'], [0, 7])).toBe(7);
  expect(count(['count_w', 'count_v'], [1, 8])).toBe(8);
  expect(countOf([{ columns: ['count_v'] }])).toBe(0);
  for (const [columns, row] of [
    [
      ['time', 'n'],
      [0, 7],
    ],
    [['count_v'], ['7']],
    [['a', 'count_v'], [1]],
  ] as const) {
    expect(() => count(columns, row)).toThrow(errorWith('BB_ENGINE'));
  }
  for (const text of ['no', '{}', '{"results":[]}']) {
    expect(() => answered(text)).toThrow(errorWith('BB_ENGINE'));
  }
});

test('a count of a hundred million points has minutes', () => {
  expect(countWithinMs(0)).toBe(30_000);
  expect(countWithinMs(100e6)).toBeGreaterThanOrEqual(100_000);
});

test('a database may have any name', async () => {
  const name = 'a "b" & c=d; %41 + \u00fc\\';
  expect(quoted(name)).toBe('"a ""b"" & c=d; %41 + \u00fc\\"');
  const server = await openTarget('ingest', {});
  const query = await PointsQuery.open(server.url, name);
  onTestFinished(() => server.close());
  onTestFinished(() => query.close());
  expect(await query.count(name, 'm "x"', 0)).toBe(0);
  await expect(query.count('other "', 'm', 0)).rejects.toThrow(errorWith('BB_ENGINE', 'HTTP 404: database not found'));
}, 120_000);
