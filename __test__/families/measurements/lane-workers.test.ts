import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { type Connection, connect } from '../../../src/library/engine/connection.js';
import type { LaneTask } from '../../../src/families/measurements/lane.js';
import { LaneWorkers } from '../../../src/families/measurements/lane-workers.js';
import { loadTables, tableNames } from '../../../src/families/measurements/query-tables.js';
import { splitRows } from '../../../src/families/measurements/rows.js';

const ROWS = 2_000_000;

describe('worker threads', () => {
  let connection: Connection;
  let tasks: LaneTask[];
  let workers: LaneWorkers;

  beforeEach(async () => {
    connection = await connect('embedded:');
    await loadTables(connection, { table: 't', rows: ROWS, workers: 2 });
    const ranges = splitRows(ROWS, 2);
    tasks = tableNames('t', 2).map((table, worker) => ({
      workload: 'query.full_scan',
      lane: 'stream',
      table,
      range: ranges[worker]!,
      readAhead: true,
    }));
    workers = await LaneWorkers.start(connection, tasks);
  });
  afterEach(async () => {
    await workers.close();
    await connection.close();
  });

  it('share one engine, each with its own table', async () => {
    const { timing, checksums } = await workers.run(new AbortController().signal);
    expect(checksums.map(({ rows }) => rows)).toEqual([ROWS / 2, ROWS / 2]);
    expect(timing.seconds).toBeGreaterThan(0);
    expect(timing.cpuUserSeconds).toBeGreaterThan(0);
    expect(timing.minorFaults).toBeGreaterThanOrEqual(0);
    // No platform but Linux tells the threads' times.
    expect(process.platform !== 'linux' || timing.threads! >= 2).toBe(true);
  });

  it('stop when the sample is aborted, and can run again', async () => {
    const abort = new AbortController();
    const running = workers.run(abort.signal);
    setTimeout(() => abort.abort(), 20);
    await expect(running).rejects.toThrow(expect.objectContaining({ code: 'BB_ABORTED' }));
    const { checksums } = await workers.run(new AbortController().signal);
    expect(checksums.map(({ rows }) => rows)).toEqual([ROWS / 2, ROWS / 2]);
  });

  it('pass on the code of an error of one of them', async () => {
    await connection.dropTable('t_1');
    await expect(workers.run(new AbortController().signal)).rejects.toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^BB_(ENGINE|TABLE_NOT_FOUND)/) }),
    );
  });

  it('fail to start with the code of what they miss', async () => {
    const closed = await connect('embedded:');
    await closed.close();
    await expect(LaneWorkers.start(closed, tasks)).rejects.toThrow(expect.objectContaining({ code: 'BB_CLOSED' }));
  });
});
