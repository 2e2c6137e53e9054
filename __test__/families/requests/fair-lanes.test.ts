import { expect, it } from 'vitest';

import { hybridFamily } from '../../../src/families/hybrid/family.js';
import { ingestFamily } from '../../../src/families/ingest/family.js';
import { kvFamily } from '../../../src/families/kv/family.js';
import { restFamily } from '../../../src/families/rest/family.js';
import { sqlFamily } from '../../../src/families/sql/family.js';

/** The lanes and settings of the addon that Rust can't have, by a part of their ids, and the reason of each. */
const OF_ADDON_ALONE: Readonly<Record<string, string>> = {
  'call-async/napi': "a promise of napi-rs's: Rust has no promise",
  'call-blocking/napi': "a thread of libuv's pool: Rust has none",
  '/strings/': 'answers as strings of JavaScript',
  '/rows/': 'answers as objects of JavaScript',
  '/mysql/shared/': "one client for all callers: Rust's is one session, which one caller has",
  '/redis/shared/': "MGET and MSET of one client for all callers: Rust's SharedKvClient has GET and SET alone",
  '/redis-cluster/shared/': "MGET and MSET of one client for all callers: Rust's SharedKvClient has GET and SET alone",
  '/native-json/': 'JSON that Rust reads, as in each lane of Rust',
};

const families = [hybridFamily, ingestFamily, kvFamily, restFamily, sqlFamily];

it.each(families.map((family) => [family.name, family] as const))(
  '%s has each client of the addon in Rust too, by the same lane',
  (_, family) => {
    const { ofAddon, alone } = lanesOf(family);
    expect(ofAddon.length).toBeGreaterThan(0);
    const unexplained = alone.filter((id) => !Object.keys(OF_ADDON_ALONE).some((part) => id.includes(part)));
    expect(unexplained).toEqual([]);
  },
);

it.each(Object.keys(OF_ADDON_ALONE))('the exception %s is needed', (part) => {
  const alone = families.flatMap((family) => lanesOf(family).alone);
  expect(alone.some((id) => id.includes(part))).toBe(true);
});

/** The ids of the cells of the addon, and of those that have no cell of Rust. */
function lanesOf(family: (typeof families)[number]): Record<'ofAddon' | 'alone', readonly string[]> {
  const ids = family.plan({ rows: 0, workers: 1, engines: {} }).map(({ cell }) => cell.id);
  const ofAddon = ids.filter((id) => id.includes('/napi/'));
  return { ofAddon, alone: ofAddon.filter((id) => !ids.includes(id.replace('/napi/', '/rust/'))) };
}
