import { readFileSync } from 'node:fs';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { Checksum } from '../../../src/records/record.js';
import { verifyChecksum } from '../../../src/families/verify-checksum.js';
import {
  expectedAggregation,
  expectedAll,
  expectedFiltered,
  expectedOf,
  expectedTexts,
  textsOf,
} from '../../../src/families/measurements/closed-forms.js';
import { aggregate, filter, scan } from '../../../src/families/measurements/column-loops.js';
import { sumTextObjects } from '../../../src/families/measurements/object-sums.js';
import { ColumnBatch, newColumns, splitRows } from '../../../src/families/measurements/rows.js';

interface Case {
  readonly workload: string;
  readonly rows: number;
  readonly workers: number;
  readonly start?: number;
  readonly checksum: Checksum;
}

const file = new URL('../../fixtures/closed-forms.json', import.meta.url);
const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { cases: readonly Case[] };

describe('closed forms', () => {
  it.each(cases)('$workload over $rows rows from $start of $workers workers', (each) => {
    const { workload, rows, workers, start = 0, checksum } = each;
    const ranges = splitRows(rows, workers).map((range) => ({ ...range, start: range.start + start }));
    expect(() => verifyChecksum(expectedOf(workload, ranges), checksum)).not.toThrow();
  });

  it('equal the sums of the rows', () => {
    const ranges = fc.record({
      start: fc.oneof(fc.nat(40), fc.constant(2 ** 31 - 400)),
      rows: fc.integer({ min: 0, max: 400 }),
    });
    fc.assert(
      fc.property(ranges, (range) => {
        const batches = [new ColumnBatch(newColumns(400)).make(range)];
        expect(() => {
          verifyChecksum(scan(batches), expectedAll(range));
          verifyChecksum(filter(batches, 5), expectedFiltered(range));
          verifyChecksum(aggregate(batches, 10), expectedAggregation(range));
          const texts = Array.from({ length: range.rows }, (_, row) => textsOf(range.start + row));
          verifyChecksum(sumTextObjects(texts), expectedTexts(range));
        }).not.toThrow();
      }),
    );
  });
});
