import fc from 'fast-check';
import { expect, test } from 'vitest';

import { RowStager } from '../../../src/library/engine/row-stager.js';
import { SqlType } from '../../../src/library/engine/sql-type.js';

test('texts and bytes of any length lie behind one another, in memory that begins with few bytes', () => {
  const columns = [
    { name: 'text', type: SqlType.text(), nullable: true },
    { name: 'bytes', type: SqlType.bytes(), nullable: true },
  ];
  const text = fc.string({ unit: fc.constantFrom('a', 'ü', '€', '😀'), maxLength: 120 });
  const row = fc.tuple(fc.option(text), fc.option(fc.uint8Array({ maxLength: 300 })));
  const batches = fc.array(fc.array(row, { minLength: 1, maxLength: 6 }), { maxLength: 5 });
  fc.assert(
    fc.property(batches, fc.boolean(), (batches, generate) => {
      // The first memory has 16 bytes for each row of the capacity.
      const stager = new RowStager(columns, 7, generate);
      for (const batch of batches) {
        for (const row of batch) stager.add(row);
        const parts = stager.parts();
        for (const column of [0, 1]) {
          const [, offsets, values] = parts.slice(column * 3, column * 3 + 3);
          const ends = new Int32Array(offsets!.slice().buffer);
          const read = batch.map((_, index) =>
            Buffer.from(values!.subarray(ends[index], ends[index + 1])).toString('hex'),
          );
          expect(read).toEqual(batch.map((row) => Buffer.from(row[column] ?? '').toString('hex')));
        }
        stager.reset();
      }
    }),
  );
});
