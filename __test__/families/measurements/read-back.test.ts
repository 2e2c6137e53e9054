import { expect, test } from 'vitest';

import { connect } from '../../../src/library/engine/connection.js';
import { readBack } from '../../../src/families/measurements/read-back.js';
import { createTables } from '../../../src/families/measurements/query-tables.js';
import { lacks } from '../../needs.js';

const uris = lacks('hyperd') ? ['embedded:'] : ['embedded:', 'hyper:'];

test.for(uris)('sums beyond 64 bits are read back whole from %s', async (uri) => {
  await using connection = await connect(uri);
  await createTables(connection, ['t']);
  const timestamp = 2n ** 63n - 1n;
  await connection.execute(`INSERT INTO t VALUES (1, 2, 0.5, ${timestamp}), (2, 2, 0.25, ${timestamp})`);
  expect(await readBack(connection, ['t'])).toEqual({
    rows: 2,
    sums: { id: '3', sensor_id: '4', value: 0.75, timestamp: String(2n * timestamp) },
  });
});
