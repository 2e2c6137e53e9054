import { expect, test } from 'vitest';

import { argumentsText, commandText } from '../../src/runner/command-text.js';
import { around, completed, context } from '../records/sample-run.js';

const record = completed({ side: 'js', lane: 'row', variant: 'a' }, around(1));

test('the rows and the options that are not the default make the command', () => {
  const config = { rows: { measurements: 3000 }, filters: { workload: ['query.*'] }, quick: true, forks: undefined };
  expect(argumentsText({ config })).toBe("3000 --workload 'query.*' --quick");
});

test('a run without rows has a command too', () => {
  expect(argumentsText({ config: {} })).toBe('');
});

test('a run of a user has none, since no run names its files', () => {
  expect(commandText({ context, records: [record] })).toMatch(/^npx boundary-bench run /);
  expect(commandText({ context, records: [record, { ...record, family: 'mine' }] })).toBeUndefined();
});
