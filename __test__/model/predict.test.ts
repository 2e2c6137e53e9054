import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { crossoverOf, forecastOf, scaled } from '../../src/model/forecast.js';
import { fitCosts } from '../../src/model/fit.js';
import { loadOfBytes, loadOfRows, loadOfText, predictCall } from '../../src/model/predict.js';
import type { CostModel, MechanismCosts } from '../../src/records/record.js';
import { renderForecast } from '../../src/report/forecast-report.js';
import { COSTS, LADDER, NAMED, SIZES, type TrueCosts, measured, rowsOf, timeOf } from './synthetic.js';

const COLUMNS = 'id:int,name:text~12,score:double';

function mechanism(
  costs: TrueCosts,
  fields: Partial<MechanismCosts> = {},
  ladder = LADDER,
  noise = 0.02,
): MechanismCosts {
  const fit = fitCosts(measured(ladder, (crossing) => timeOf(crossing, costs), noise));
  if (typeof fit === 'string') throw new Error(fit);
  return {
    what: 'rows',
    direction: 'in',
    side: 'napi',
    lane: 'objects',
    variant: 'napi-rs, array of objects',
    ...fit,
    ...fields,
  };
}

const objects = mechanism(COSTS, { client: 'napi-rs' });
const ofColumns = mechanism(
  { call: 3e-6, row: 1e-9, number: 5e-9, text: 2e-8, byte: 1e-9 },
  { lane: 'columns', variant: 'napi-rs, typed arrays of the caller', client: 'napi-rs' },
);
const floor = mechanism(
  { call: 5e-9, row: 1e-9, number: 1e-9, text: 1e-9, byte: 0 },
  { side: 'js', lane: 'objects', variant: 'JavaScript, objects' },
);
const worker = mechanism(
  { call: 5e-5, row: 1e-7, number: 1e-8, text: 5e-8, byte: 1e-9 },
  { side: 'js', lane: 'clone', variant: 'worker thread, objects by structured clone', client: 'worker', batch: 1 },
);
const model: CostModel = { mechanisms: [objects, ofColumns, floor, worker], unfitted: [] };

describe('loads', () => {
  test('are counted by the columns', () => {
    expect(loadOfRows(1000, COLUMNS)).toEqual({ what: 'rows', rows: 1000, numbers: 2000, texts: 1000, bytes: 12_000 });
    expect(loadOfText(5)).toEqual({ what: 'text', rows: 0, numbers: 0, texts: 1, bytes: 5 });
    expect(loadOfBytes(5)).toEqual({ what: 'bytes', rows: 0, numbers: 0, texts: 0, bytes: 5 });
    expect(scaled(loadOfRows(10, COLUMNS), 20)).toEqual(loadOfRows(20, COLUMNS));
  });

  test.each([
    ['id', '"id" is no column'],
    ['id:int,', '"" is no column'],
    ['id:bigint', 'no costs are measured of the type "bigint" of the column "id:bigint"'],
    ['name:text', 'the column "name:text" needs a mean length, such as name:text~12'],
    ['id:int~4', 'the column "id:int~4" has a length, which is for texts alone'],
  ])('of the columns %j are refused', (columns, message) => {
    expect(() => loadOfRows(1, columns)).toThrow(
      expect.objectContaining({ code: 'BB_MODEL_COLUMNS', message, hint: expect.stringContaining('text~N') }),
    );
  });
});

describe('a prediction', () => {
  test('is the sum of the costs, with an interval that has the true time', () => {
    const load = loadOfRows(5000, 'id:int,a:double,b:double,name:text~30');
    const { seconds, low, high, certainty, doubts } = predictCall(objects, load);
    const truth = timeOf({ ...load, direction: 'in' }, COSTS);
    expect([low < truth, truth < high]).toEqual([true, true]);
    expect(Math.abs(seconds / truth - 1)).toBeLessThan(0.05);
    expect([certainty, doubts]).toEqual(['sure', []]);
  });

  test('beyond the ladder can’t be told', () => {
    expect(predictCall(objects, loadOfRows(2_000_000, COLUMNS))).toMatchObject({
      certainty: 'unknown',
      doubts: ['calls of more than 1000000 rows were not measured'],
    });
    expect(predictCall(objects, loadOfRows(10, 'name:text~500')).doubts).toEqual([
      'rows of more than 200 bytes were not measured',
    ]);
    expect(predictCall(objects, loadOfBytes(10)).doubts).toEqual(['the ladder is of rows, not of bytes']);
  });

  test('of another shape than the only one of a ladder can’t be told', () => {
    const one = mechanism(
      COSTS,
      {},
      SIZES.map((size) => rowsOf(size, NAMED)),
    );
    expect(predictCall(one, loadOfRows(100, COLUMNS)).certainty).toBe('sure');
    expect(predictCall(one, loadOfRows(100, 'id:int')).certainty).toBe('unknown');
  });

  test('of noisy times is rough, or can’t be told', () => {
    const noisy = mechanism(COSTS, {}, LADDER, 0.6);
    expect(predictCall(noisy, loadOfRows(1000, COLUMNS)).certainty).not.toBe('sure');
  });

  test('grows with rows, columns and bytes', () => {
    const rows = fc.integer({ min: 1, max: 1_000_000 });
    const length = fc.integer({ min: 1, max: 200 });
    fc.assert(
      fc.property(rows, rows, length, length, (some, others, short, long) => {
        const of = (count: number, characters: number, more = ''): number =>
          predictCall(objects, loadOfRows(count, `id:int,name:text~${characters}${more}`)).seconds;
        const least = of(Math.min(some, others), Math.min(short, long));
        expect(least).toBeLessThanOrEqual(of(Math.max(some, others), Math.min(short, long)));
        expect(least).toBeLessThanOrEqual(of(Math.min(some, others), Math.max(short, long)));
        expect(least).toBeLessThanOrEqual(of(Math.min(some, others), Math.min(short, long), ',a:double'));
      }),
    );
  });
});

describe('a crossover', () => {
  const line =
    (call: number, row: number, part = 0) =>
    (rows: number) => {
      const seconds = call + row * rows;
      return { seconds, low: seconds * (1 - part), high: seconds * (1 + part) };
    };

  test('is the exact number of rows', () => {
    expect(crossoverOf(line(100, 1), line(0, 2), 1e6)).toEqual({ rows: 101, earliest: 101, latest: 101 });
    expect(crossoverOf(line(0, 1), line(1, 1), 1e6).rows).toBe(1);
    expect(crossoverOf(line(1, 1), line(0, 1), 1e6)).toEqual({
      rows: undefined,
      earliest: undefined,
      latest: undefined,
    });
  });

  test('has an interval', () => {
    const { rows, earliest, latest } = crossoverOf(line(100, 1, 0.1), line(0, 2, 0.1), 1e6);
    expect(earliest).toBeLessThan(rows!);
    expect(latest).toBeGreaterThan(rows!);
    expect(crossoverOf(line(100, 1, 0.5), line(0, 2, 0.5), 1e6).latest).toBeUndefined();
  });
});

test('a forecast names the ways, the share of a core, and who wins from where on', () => {
  const question = {
    load: loadOfRows(1000, COLUMNS),
    directions: ['in'] as const,
    callsPerSecond: 1000,
    jsWork: 5e-7,
    nativeWork: 5e-8,
  };
  const forecast = forecastOf(model, question);
  const text = renderForecast(question, forecast, ['By the model of a test.']);
  const shape = text
    .replaceAll(/\d[\d.]*/g, '0')
    .replaceAll(/0 [nµm]s/g, '0 s')
    .replaceAll(/ {2,}|─+/g, ' ');
  expect(shape).toMatchInlineSnapshot(`
    "By the model of a test.

    Crosses Way Per call 0% interval Per row Of one core How sure
                 
    rows in napi · napi-rs, array of objects 0 s 0 s–0 s 0 s 0% sure
    rows in napi · napi-rs, typed arrays of the caller 0 s 0 s–0 s 0 s 0% sure
    rows in js · JavaScript, objects 0 s 0 s–0 s 0 s 0% sure
    rows in js · worker thread, objects by structured clone 0 s 0 s–0 s 0 s 0% sure

    - rows in: from 0 rows per call (0–0) on, napi · napi-rs, typed arrays of the caller is cheaper than napi · napi-rs, array of objects.
    - rows in: below 0 rows per call, napi · napi-rs, array of objects never pays. From there on it beats js · JavaScript, objects.
    - rows in: below 0 rows per call, napi · napi-rs, typed arrays of the caller never pays. From there on it beats js · JavaScript, objects.
    - rows in: below 0 rows per call (0–0), js · worker thread, objects by structured clone never pays: carrying takes longer than the work here.

    - rows in: napi · napi-rs, array of objects pays if its work takes 0 s per row less than JavaScript's.
    - rows in: napi · napi-rs, typed arrays of the caller pays if its work takes 0 s per row less than JavaScript's.
    "
  `);
  expect(forecast.calls.find(({ mechanism: { lane } }) => lane === 'columns')!.shareOfCore).toBeCloseTo(0.046, 2);
  const [cheaper] = forecast.crossovers;
  expect([cheaper!.way.lane, cheaper!.other.lane, cheaper!.by]).toEqual(['columns', 'objects', 'crossing']);
  // 3 µs of a call are paid back by the difference of the rows.
  expect(cheaper!.rows).toBeGreaterThan(10);
  expect(cheaper!.rows).toBeLessThan(15);
});

test.each([
  [2e-9, "pays if its work takes 2.00 ns per call less than JavaScript's."],
  [1e-13, "pays even if its work takes as long as JavaScript's."],
  [-1e-9, "pays even if its work takes as long as JavaScript's."],
])('a way that costs %d s more per call', (seconds, text) => {
  const way = { what: 'bytes', direction: 'in', side: 'napi', lane: 'view', variant: 'a view' } as const;
  const question = { load: loadOfBytes(64) } as unknown as Parameters<typeof renderForecast>[0];
  const forecast = { calls: [], crossovers: [], breakEvens: [{ way, seconds }], most: 1 };
  expect(renderForecast(question, forecast as unknown as Parameters<typeof renderForecast>[1], [])).toContain(text);
});
