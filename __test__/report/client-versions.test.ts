import { expect, test } from 'vitest';

import { renderRunHtml } from '../../src/report/html/run-page.js';
import { renderRunMarkdown, renderRunTerminal } from '../../src/report/run-report.js';
import { renderRunSummary } from '../../src/report/summary-report.js';
import { completed, sampleRun } from '../records/sample-run.js';

test('the versions of the clients of a run stand below its tables, and no other versions', async () => {
  const { context, ...run } = sampleRun();
  const [first] = run.records;
  const id = 'kv/get/call/rust/redis/redis/c1/b1';
  const crate = completed({ ...first!, id, family: 'kv', engine: 'redis', variant: 'crate redis' }, [1]);
  const versions = { node: '22', '@duckdb/node-api': '1.5.6', redis: '7.0', 'crate redis': '1.8.1', ioredis: '6.0.0' };
  const of = { ...run, context: { ...context, versions }, records: [...run.records, crate] };
  const line = 'Clients: @duckdb/node-api 1.5.6, crate redis 1.8.1.';
  expect(renderRunSummary(of, { report: 'run.html', columns: 120 })).toContain(line);
  expect(await renderRunHtml(of)).toContain(line);
  for (const text of [renderRunTerminal(of), renderRunMarkdown(of)]) {
    expect(text).toContain('Clients: @duckdb/node-api 1.5.6.');
    expect(text).toContain('Clients: crate redis 1.8.1.');
  }
});
