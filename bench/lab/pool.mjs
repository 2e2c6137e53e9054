// Measures the cost of a connection from the pool: the same short query on one connection, and on one that `pool.use` lends for each query.
// Prints queries per second, the median of the rounds, and the ratio.
//
//   node bench/lab/pool.mjs [QUERIES] [ROUNDS]
import { connect, createPool } from '../../dist/index.js';
import { mediansInTurn, shownRate, shownRatio } from './in-turn.mjs';

const ENGINES = ['embedded:', 'mysql:'];
const SQL = 'SELECT 1 AS one';

const [queries = 5000, rounds = 7] = process.argv.slice(2).map(Number);
console.log('| Engine | one connection | from the pool | pool / one |');
console.log('| --- | ---: | ---: | ---: |');
for (const engine of ENGINES) await compare(engine);

async function compare(engine) {
  const connection = await connect(engine);
  const pool = createPool(engine, { max: 4 });
  try {
    const { one, lent } = await mediansInTurn(
      {
        one: () => rateOf(() => connection.executeQuery(SQL)),
        lent: () => rateOf(() => pool.use((member) => member.executeQuery(SQL))),
      },
      rounds,
    );
    console.log(`| ${engine} | ${shownRate(one)} | ${shownRate(lent)} | ${shownRatio(lent, one)} |`);
  } finally {
    await pool.close();
    await connection.close();
  }
}

async function rateOf(query) {
  const startedAt = performance.now();
  for (let done = 0; done < queries; done += 1) {
    const [{ one }] = await query();
    if (one !== 1) throw new Error(`the query answered ${one}`);
  }
  return queries / ((performance.now() - startedAt) / 1000);
}
