import { describe, expect, it, test } from 'vitest';

import type { ReadSql } from '../../../src/clients/js-sql-parser.js';
import { nodeSqlParser } from '../../../src/clients/node-sql-parser.js';
import { pgsqlAstParser } from '../../../src/clients/pgsql-ast-parser.js';
import { CODEC_MATRIX } from '../../../src/families/codec/topic.js';
import {
  loopOf,
  parserTopic,
  verifyReader,
  verifyValid,
  resultOfParsing,
  resultOfStatement,
  statementsOf,
  textOf,
} from '../../../src/families/codec/parser.js';
import { codecCells, sampleCodecCells } from './codec-cells.js';

/** Not a multiple of the turns of the texts, so that a wrong turn shows. */
const BATCHES = 7;

/** Too few statements for a look at the heap, which parses whole batches several times. */
const FEW = 99;

const planned = codecCells('parse.');

test('each cell reads of each statement what it must', async () => {
  expect(planned.length).toBeGreaterThan(40);
  // A parser in JavaScript takes seconds for the largest batches: it gets a whole one by the check of each answer alone.
  await sampleCodecCells(planned, ({ batch = 1, side }) => {
    if (batch <= 100) return BATCHES * batch;
    return side === 'js' ? FEW : batch;
  });
}, 120_000);

describe('the texts', () => {
  it('have another table in each turn, and the same length', () => {
    const [first, second] = statementsOf('parse.create_table', 1).map(([statement]) => statement!);
    expect([first!.table, second!.table]).toEqual(['bench_users', 'bench_usert']);
    expect(second!.sql).toContain('CREATE TABLE bench_usert (');
    for (const name of Object.keys(CODEC_MATRIX.statements)) {
      const texts = statementsOf(`parse.${name}`, 1).map(textOf);
      expect(new Set(texts).size).toBe(4);
      expect(new Set(texts.map(({ length }) => length)).size).toBe(1);
    }
  });

  it('of a batch have all statements in turn', () => {
    const [statements] = statementsOf('parse.mixed', 100);
    expect(statements).toHaveLength(100);
    expect(new Set(statements!.map(({ kind, parts }) => `${kind} ${parts}`)).size).toBe(6);
    expect(textOf(statements!).split('; ')).toHaveLength(100);
  });
});

/** A reader of the statements that a text was made of. */
const right: ReadSql = (sql, take) => {
  const [statements] = statementsOf('parse.mixed', 12).filter((each) => textOf(each) === sql);
  return statements!.reduce((sum, { kind, table, parts }) => sum + take(kind, table, parts), 0);
};

describe('a wrong answer is noticed', () => {
  const cell = { workload: 'parse.mixed', lane: 'call', client: undefined, batch: 12 };

  it.each<[string, ReadSql]>([
    ['a statement too few', (sql, take) => right(sql, (...it) => (it[0] === 'delete' ? 0 : take(...it)))],
    ['a statement too many', (sql, take) => take('delete', 'users', 0) + right(sql, take)],
    ['another kind', (sql, take) => right(sql, (kind, ...rest) => take(kind === 'insert' ? 'update' : kind, ...rest))],
    ['another table', (sql, take) => right(sql, (kind, table, parts) => take(kind, `x${table}`, parts))],
    ['a part too few', (sql, take) => right(sql, (kind, table, parts) => take(kind, table, Math.max(parts - 1, 0)))],
    ['no statements', () => 0],
  ])('%s', (_, read) => {
    expect(() => verifyReader(cell, right)).not.toThrow();
    expect(() => verifyReader(cell, read)).toThrow(expect.objectContaining({ code: 'BB_CHECKSUM_MISMATCH' }));
  });

  it('of work that takes everything or nothing', () => {
    const wrong = expect.objectContaining({ code: 'BB_CHECKSUM_MISMATCH' });
    const valid = { ...cell, workload: 'parse.delete', lane: 'valid', batch: 1 };
    expect(() => verifyValid(valid, (sql) => (sql.endsWith('(') ? 0 : 1))).not.toThrow();
    expect(() => verifyValid(valid, () => 1)).toThrow(wrong);
    expect(() => verifyValid(valid, () => 0)).toThrow(wrong);
  });
});

it('a batch that is not whole has fewer statements', () => {
  const cell = { workload: 'parse.mixed', lane: 'json', client: 'napi-rs', batch: 12 };
  const loop = parserTopic.open(cell) as (operations: number) => number;
  for (const operations of [0, 1, 11, 12, 13, 59, 1]) {
    expect(loop(operations), `${operations}`).toBe(parserTopic.resultOf(cell, operations));
  }
});

it('a text that is left out changes the sum', () => {
  const cell = { workload: 'parse.mixed', lane: 'call', client: undefined, batch: 12 };
  const work = (sql: string): number => right(sql, resultOfStatement);
  let calls = 0;
  const lazy = (sql: string): number => ((calls += 1) === 3 ? 0 : work(sql));
  const operations = 12 * BATCHES;
  expect(loopOf(cell, work)(operations)).toBe(resultOfParsing('parse.mixed', 'call', 12, operations));
  expect(loopOf(cell, lazy)(operations)).not.toBe(resultOfParsing('parse.mixed', 'call', 12, operations));
});

it.each([
  ['node-sql-parser', nodeSqlParser],
  ['pgsql-ast-parser', pgsqlAstParser],
])('%s refuses text that is no SQL', (_, open) => {
  expect(() => open()('SELECT (', resultOfStatement)).toThrow(Error);
});
