import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RunRecord } from '../../src/records/record.js';
import {
  type ForkRecord,
  parseLog,
  serializeContextLine,
  serializeForkLine,
  serializeLog,
  serializeRecordLine,
} from '../../src/records/run-log.js';
import { cell, completed, context, sampleRun, skipped } from './sample-run.js';

const { records } = sampleRun();
const forks: readonly ForkRecord[] = [1, 2].map((fork) => ({
  id: 'sums/one',
  samples: [{ fork, seconds: fork }],
  checksum: { rows: 1, sums: { value: '1' } },
}));
const whole = serializeLog({ context, records, forks: [] });

test('a log gives back what was written', () => {
  expect(parseLog(whole)).toEqual({ context, records, forks: [], truncated: false });
  const text = serializeLog({ context, records, forks });
  expect(parseLog(text)).toEqual({ context, records, forks, truncated: false });
});

test('forks count until the record of their cell', () => {
  const { id } = forks[0]!;
  const done: RunRecord = { ...records[0]!, id };
  const again = serializeForkLine(forks[1]!);
  const text = serializeLog({ context, records, forks }) + serializeRecordLine(done);
  expect(parseLog(text).forks).toEqual([]);
  expect(parseLog(text + again).forks).toEqual([forks[1]]);
});

test('any log gives back what was written', () => {
  const seconds = fc.double({ min: 1e-9, max: 1e6, noNaN: true });
  const record: fc.Arbitrary<RunRecord> = fc
    .tuple(
      fc.string({ unit: 'binary' }),
      fc.array(seconds, { minLength: 1, maxLength: 5 }),
      fc.string({ unit: 'grapheme' }),
    )
    .chain(([id, times, message]) => {
      const fields = { side: 'napi', lane: 'row', variant: message } as const;
      return fc.constantFrom<RunRecord>(
        { ...completed(fields, times), id },
        { ...cell(fields), id, outcome: 'failed', error: { code: 'BB_X', message } },
        { ...skipped(fields, message), id },
      );
    });
  fc.assert(
    fc.property(fc.uniqueArray(record, { selector: ({ id }) => id, maxLength: 8 }), (written) => {
      expect(parseLog(serializeLog({ context, records: written, forks: [] })).records).toEqual(written);
    }),
  );
});

test('a sample whose time is not positive is refused', () => {
  const done = completed({ side: 'napi', lane: 'row', variant: 'a' }, [1, 0]);
  expect(() => parseLog(serializeLog({ context, records: [done], forks: [] }))).toThrow(
    /samples\[1\]\.seconds must be a number above 0, but is 0$/,
  );
});

test('a log cut anywhere gives the records before the cut', () => {
  const afterContext = serializeContextLine(context).length;
  fc.assert(
    fc.property(fc.integer({ min: afterContext, max: whole.length }), (end) => {
      const cut = whole.slice(0, end);
      const log = parseLog(cut);
      expect(log.records).toEqual(records.slice(0, log.records.length));
      expect(serializeLog(log).length).toBeLessThanOrEqual(cut.length + 1);
      const leftOver = cut.length - serializeLog(log).length;
      expect(log.truncated).toBe(leftOver > 0);
    }),
  );
});

test('the last record of an id wins, in the place of the first', () => {
  const [first, second] = records;
  const again: RunRecord = { ...skipped({ side: 'rust', lane: 'row', variant: 'RowWriter' }, 'later'), id: first!.id };
  const log = parseLog(serializeLog({ context, records: [first!, second!, again], forks: [] }));
  expect(log.records).toEqual([again, second]);
});

test.each([
  ['nothing at all', '', 'BB_RESULT_FILE_INCOMPLETE'],
  ['a cut context', serializeContextLine(context).slice(0, 40), 'BB_RESULT_FILE_INCOMPLETE'],
  ['a record first', serializeRecordLine(records[0]!), 'BB_RESULT_FILE_VERSION'],
  ['another version', whole.replace('"schemaVersion":4', '"schemaVersion":3'), 'BB_RESULT_FILE_VERSION'],
  ['an empty line', `${whole}\n`, 'BB_RESULT_FILE_NOT_JSON'],
  ['a broken line that was ended', `${whole}{"type":"record","rec\n`, 'BB_RESULT_FILE_NOT_JSON'],
  ['a second context', whole + serializeContextLine(context), 'BB_RESULT_FILE_SHAPE'],
  ['a whole but wrong last line', `${whole}{"type":"record"}`, 'BB_RESULT_FILE_SHAPE'],
])('refuses %s', (_, text, code) => {
  expect(() => parseLog(text)).toThrow(expect.objectContaining({ code }));
});

test('names the line that is wrong', () => {
  const wrong = whole + JSON.stringify({ type: 'record', record: { ...records[0], rows: -1 } }) + '\n';
  expect(() => parseLog(wrong, 'run.jsonl')).toThrow(
    `run.jsonl, line ${records.length + 2}.record.rows must be a whole number of 0 or more, but is -1`,
  );
});
