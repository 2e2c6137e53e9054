import { expect, test } from 'vitest';
import { judgeOf } from '../../src/compare/judge.js';
import type { CompletedRecord } from '../../src/records/record.js';
import { settingTable } from '../../src/report/setting-table.js';
import { completed, context, network, runOf } from '../records/sample-run.js';
import { networkText } from '../../src/report/host-block.js';
import { renderRunMarkdown } from '../../src/report/run-report.js';

const judge = judgeOf({ context });

function record(
  transport: string | undefined,
  seconds: number,
  side: CompletedRecord['side'] = 'rust',
): CompletedRecord {
  const fields = { family: 'hybrid', workload: 'point_lookup', lane: 'call', engine: 'shards', variant: 'ShardClient' };
  const rows = transport === 'direct' ? 20_000 : 1000;
  const cell = { ...fields, side, rows, batch: 1, connections: 1, ...(transport === undefined ? {} : { transport }) };
  return completed(cell, [seconds, seconds, seconds]);
}

test('the ways of one side stand in one row, with what they win over gRPC at any number of rows', () => {
  const { table, notes } = settingTable(
    [record('direct', 0.002), record('grpc', 0.1), record('hybrid', 0.05), record('grpc', 0.2, 'js')],
    judge,
  );
  expect(table.columns).toHaveLength(9);
  expect(table.rows).toEqual([
    ['point_lookup', 'rust', '1', '1', '10.0 K/s', '20.0 K/s', '2.0× (2.0–2.0)', '10.0 M/s', '1.00K× (1.00K–1.00K)'],
    ['point_lookup', 'js', '1', '1', '5.00 K/s', '—', '—', '—', '—'],
  ]);
  expect(notes).toHaveLength(1);
});

test('each client of a side has a row of its own', () => {
  const tonic = { ...record('grpc', 0.2), variant: 'tonic-prost, grpc' };
  const ours = ['grpc', 'hybrid'].map((way) => ({ ...record(way, 0.1), variant: `ShardClient, ${way}` }));
  const { table } = settingTable([tonic, ...ours, record('grpc', 0.2, 'js')], judge);
  expect(table.rows.map((row) => [row[1], row[4], row[5]])).toEqual([
    ['rust, tonic-prost', '5.00 K/s', '—'],
    ['rust, ShardClient', '10.0 K/s', '10.0 K/s'],
    ['js', '5.00 K/s', '—'],
  ]);
});

test('latencies stand next to the rates', () => {
  const latency = { p50: 820, p90: 1200, p95: 1500, p99: 20_000, p999: 300_000, max: 400_000, histogram: '' };
  const grpc: CompletedRecord = { ...record('grpc', 0.1), latency };
  expect(settingTable([grpc, record('hybrid', 0.05)], judge).table.rows[0]!.slice(4, 6)).toEqual([
    '10.0 K/s, 820 ns / 20.0 µs',
    '20.0 K/s',
  ]);
});

test('a way that was not measured is left out, and other request work has no such table', () => {
  expect(settingTable([record('grpc', 0.1), record('hybrid', 0.1)], judge).table.rows[0]!.slice(-2)).toEqual([
    '—',
    '—',
  ]);
  expect(settingTable([record('grpc', 0.1)], judge).table.rows).toEqual([]);
  expect(settingTable([record(undefined, 0.1)], judge)).toMatchObject({ table: { rows: [] }, notes: [] });
});

test('a simulated network is told with who made it, what was asked for, and what was measured; so is what was done otherwise', () => {
  const text =
    'Simulated network: 500 µs and 1000 Mbit/s each way by a proxy before each server; a call of one row took 130 µs (p99 ' +
    '410 µs) before and 1.15 ms (p99 1.53 ms) with it: 1.02 ms a round trip were added in the median, 1000 µs were asked for';
  expect(networkText(network)).toBe(text);
  const { megabits: _, ...delayOnly } = network;
  expect(networkText({ ...delayOnly, by: 'kernel' })).toMatch(
    /^Simulated network: 500 µs each way by the kernel \(netem/,
  );

  const records = [record('grpc', 0.1), record('hybrid', 0.05)];
  expect(settingTable(records, judge, network).notes).toEqual([expect.stringContaining('Hybrid:'), `${text}.`]);
  const run = runOf(records);
  expect(renderRunMarkdown(run)).not.toContain('Simulated');
  const adaptations = { shards: ['rows are sent by hand', 'shards are counted'], other: ['nothing'] };
  expect(renderRunMarkdown({ ...run, context: { ...context, adaptations } })).toContain(
    '## Engine: shards\n\nOn this server rows are sent by hand; shards are counted.\n',
  );
  // The text is in the description of the host, and below the table.
  const markdown = renderRunMarkdown({ ...run, context: { ...context, networks: { shards: network } } });
  expect(markdown.split(text)).toHaveLength(3);
});
