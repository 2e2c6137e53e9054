import { itemsOf } from '../../records/record.js';
import { callFamily, openFloor, openLoop, sumOfCalls } from '../in-process.js';
import type { OpenCell, PlannedCell } from '../workload.js';
import { CODEC_MATRIX, type CodecCell, type Topic } from './topic.js';

/** The packages of the clients, by their names in the matrix. Any of them may be missing. */
const PACKAGES: Readonly<Record<string, string>> = {
  'node-sql-parser': 'node-sql-parser',
  'pgsql-ast-parser': 'pgsql-ast-parser',
  'sorted-btree': 'sorted-btree',
  msgpackr: 'msgpackr',
  'apache-arrow': 'apache-arrow',
  flechette: '@uwdata/flechette',
};

/** Work on values in process: native code computes, and the boundary decides how much of its advantage is left. */
export const codecFamily = callFamily({
  name: 'codec',
  module: import.meta.url,
  matrix: CODEC_MATRIX,
  packages: PACKAGES,
  openCell,
});

/** The topic of each workload, by the word before its first dot. Each is imported only if it is measured. */
const TOPICS: Readonly<Record<string, () => Promise<Topic>>> = {
  parse: async () => (await import('./parser.js')).parserTopic,
  row_encode: async () => (await import('./rows.js')).rowTopic,
  row_decode: async () => (await import('./rows.js')).rowTopic,
  filter: async () => (await import('./filter.js')).filterTopic,
  tree_get: async () => (await import('./tree.js')).treeTopic,
  tree_range: async () => (await import('./tree.js')).treeTopic,
  tree_insert: async () => (await import('./tree.js')).treeTopic,
  json_parse: async () => (await import('./formats.js')).formatTopic,
  msgpack_decode: async () => (await import('./formats.js')).formatTopic,
  arrow_decode: async () => (await import('./formats.js')).formatTopic,
};

/** The work of a workload; `undefined` if there is no code for it. */
export async function topicOf(workload: string): Promise<Topic | undefined> {
  return TOPICS[workload.split('.')[0]!]?.();
}

async function openCell(planned: PlannedCell): Promise<OpenCell> {
  const { workload, lane, side, batch = 1 } = planned.cell;
  const calls = itemsOf(planned.cell);
  const topic = (await topicOf(workload))!;
  const cell: CodecCell = { workload, lane, client: planned.client, batch };
  const expected = sumOfCalls(calls, topic.resultOf(cell, calls));
  if (side === 'rust') return openFloor(planned, expected);
  const open = openLoop(await topic.open(cell), calls, expected, { batch });
  return { ...open, verify: async () => topic.verify(cell) };
}
