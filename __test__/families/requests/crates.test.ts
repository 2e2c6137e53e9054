import { readFileSync } from 'node:fs';

import { expect, it } from 'vitest';

import { CRATES, crateVersions } from '../../../src/families/requests/clients.js';
import { hybridFamily } from '../../../src/families/hybrid/family.js';
import { kvFamily } from '../../../src/families/kv/family.js';
import { restFamily } from '../../../src/families/rest/family.js';
import { sqlFamily } from '../../../src/families/sql/family.js';
import type { PlannedRequests } from '../../../src/families/requests/grid.js';

const options = { rows: 0, workers: 1, engines: {} };
const cells = [hybridFamily, kvFamily, restFamily, sqlFamily].flatMap(
  (family) => family.plan(options) as PlannedRequests[],
);

it('has the versions of all crates that the matrix names, as Cargo.lock has them', () => {
  const lock = readFileSync(new URL('../../../Cargo.lock', import.meta.url), 'utf8');
  const packages = new Map(
    [...lock.matchAll(/^name = "(.+)"\nversion = "(.+)"$/gm)].map(([, name, version]) => [name, version]),
  );
  const locked = Object.keys(CRATES).map((name) => [name, packages.get(name)]);
  expect(CRATES).toEqual(Object.fromEntries(locked));
  expect(crateVersions(cells)).toEqual(
    Object.fromEntries(Object.entries(CRATES).map(([name, version]) => [`crate ${name}`, version])),
  );
  expect(crateVersions(cells.filter(({ cell }) => cell.side !== 'rust'))).toEqual({});
});
