import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crossing } from '../../../src/crossing-addon.js';
import { unpacker } from '../../../src/clients/msgpackr.js';
import type { BoundaryRecord } from '../../../src/families/boundary/functions.js';
import { columnsOf, jsonOf, messagePackOf, recordsOf, streamOf } from '../../../src/families/codec/documents.js';
import { formatTopic, sumOfColumns, sumOfRecords, verifyWay } from '../../../src/families/codec/formats.js';
import { RecordColumns } from '../../../src/families/codec/record-columns.js';
import { TURNS, eachTurn } from '../../../src/families/in-process.js';
import { codecCells, sampleCodecCells } from './codec-cells.js';

/** Not a multiple of the turns of the inputs, so that a wrong turn shows. */
const OPERATIONS = 7;

const planned = codecCells('json_parse', 'msgpack_decode', 'arrow_decode');

it('each lane of each format reads what is in the inputs', async () => {
  expect(planned.length).toBeGreaterThan(10);
  await sampleCodecCells(planned, () => OPERATIONS);
});

describe('the documents', () => {
  it.each(eachTurn((turn) => turn))(
    'of the turn %i are what JavaScript writes of the same records and rows',
    (turn) => {
      expect(jsonOf(turn)).toBe(JSON.stringify(recordsOf(turn)));
      expect(unpacker()(messagePackOf(turn))).toEqual(recordsOf(turn));
      expect(messagePackOf(turn).length).toBeLessThan(jsonOf(turn).length);
      expect(streamOf(turn).length % 8).toBe(0);
    },
  );

  it('differ from turn to turn', () => {
    const all = [eachTurn(jsonOf), eachTurn(messagePackOf), eachTurn(streamOf)];
    for (const documents of all)
      expect(new Set(documents.map((each) => Buffer.from(each as never).toString('hex'))).size).toBe(TURNS);
  });
});

describe('a wrong result is noticed', () => {
  const cell = { workload: 'json_parse', lane: 'call' };
  const wrong = expect.objectContaining({ code: 'BB_CHECKSUM_MISMATCH' }) as Error;
  const inputs = (): readonly string[] => eachTurn(jsonOf);
  const parsed = (json: string): BoundaryRecord[] => JSON.parse(json) as BoundaryRecord[];
  const records = { inputs, values: () => eachTurn(recordsOf), read: sumOfRecords };
  const verify = (valueOf: (json: string) => BoundaryRecord[], use = (json: string) => sumOfRecords(parsed(json))) =>
    verifyWay(cell, records, { use, valueOf });

  it('of records', () => {
    expect(() => verify(parsed)).not.toThrow();
    expect(() => verify((json) => parsed(json).toReversed())).toThrow(wrong);
    expect(() => verify((json) => parsed(json).slice(1))).toThrow(wrong);
    expect(() => verify((json) => [...parsed(json), recordsOf(0)[0]!])).toThrow(wrong);
    expect(() => verify((json) => parsed(json).map((record) => ({ ...record, name: record.city })))).toThrow(/item 0/);
    expect(() => verify(() => recordsOf(0))).toThrow('result 1');
    expect(() => verify(() => undefined as never)).toThrow(wrong);
    expect(() => verify(parsed, () => 0)).toThrow(/what is read/);
  });

  it('of columns', () => {
    const columns = { inputs: () => eachTurn((turn) => turn), values: () => eachTurn(columnsOf), read: sumOfColumns };
    const use = (turn: number): number => sumOfColumns(columnsOf(turn));
    const other = (turn: number): ReturnType<typeof columnsOf> => ({
      ...columnsOf(turn),
      scores: columnsOf(turn).scores.with(7, 0),
    });
    const cell = { workload: 'arrow_decode', lane: 'columns' };
    expect(() => verifyWay(cell, columns, { use, valueOf: columnsOf })).not.toThrow();
    expect(() => verifyWay(cell, columns, { use, valueOf: other })).toThrow(/scores has other bytes/);
    expect(() => verifyWay(cell, columns, { use, valueOf: () => undefined as never })).toThrow(wrong);
  });
});

it('a workload or lane that there is not is an error', async () => {
  const cell = { workload: 'json_parse', lane: 'call', client: 'other', batch: 1 };
  await expect((async () => formatTopic.open(cell))()).rejects.toThrow('no lane call by other');
  await expect((async () => formatTopic.open({ ...cell, workload: 'yaml' }))()).rejects.toThrow('no format yaml');
});

describe('records in columns', () => {
  // Rust and JavaScript may read the last bit of a number with many digits differently.
  const fraction = fc.integer().map((number) => number / 8);
  const record = fc.record({
    id: fc.integer({ min: 0 }),
    sensor: fc.integer(),
    value: fraction,
    timestamp: fc.integer(),
    score: fraction,
    count: fc.integer(),
    active: fc.boolean(),
    flagged: fc.boolean(),
    name: fc.string({ unit: 'grapheme' }),
    city: fc.string({ unit: 'binary' }),
  });

  it('are those that JSON.parse reads', () => {
    const columns = new RecordColumns(16, 4096);
    const read = crossing.codec.jsonReader();
    fc.assert(
      fc.property(fc.array(record, { maxLength: 8 }), (records) => {
        const json = JSON.stringify(records);
        const count = read(json, columns.numbers, columns.texts);
        const expected = JSON.parse(json) as BoundaryRecord[];
        expect(columns.records(count)).toEqual(expected);
        expect(columns.sum(count)).toBeCloseTo(sumOfRecords(expected), 0);
        expect(crossing.codec.jsonRecords(json)).toEqual(expected);
      }),
    );
  });
});
