/** The layouts of submissions and results that TypeScript states are the addon's. */
import { createRequire } from 'node:module';

import { expect, test } from 'vitest';

import { addonPath } from '../../src/addon.js';
import * as frame from '../../src/library/crossing/result-frame.js';
import * as responses from '../../src/library/http/http-responses.js';
import * as requests from '../../src/library/http/http-submission.js';
import * as commands from '../../src/library/kv/kv-submission.js';
import * as replies from '../../src/library/kv/kv-values.js';
import * as statements from '../../src/library/sql/sql-client.js';
import * as results from '../../src/library/sql/sql-results.js';

/** The addon's numbers, by the names of the layouts and then their own; they are not in the public types. */
const { layouts } = createRequire(import.meta.url)(addonPath()) as {
  layouts(): Readonly<Record<string, Readonly<Record<string, number>>>>;
};

const methods = Object.fromEntries(requests.METHODS.map((method, number) => [method, number]));

test.each([
  ['frame', { ...frame }],
  ['kv', { ...commands, ...replies }],
  ['http', { ...requests, ...responses, ...methods }],
  ['sql', { ...statements, ...results }],
])('the layout of %s', (name, stated) => {
  expect(stated).toMatchObject(layouts()[name]!);
});
