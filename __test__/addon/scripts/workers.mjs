/** Ends by itself, though it has a pool of workers. Takes the state of the pool; prints what the threads have returned. */
import { connect, createWorkers } from '../../../dist/index.js';

const module = new URL('../../library/workers/functions.mjs', import.meta.url);
const connection = await connect();
const pool = await createWorkers({ module, count: 2, connection });
const [one, two] = await Promise.all(pool.runOnEach('add', (index) => ({ left: index, right: 2 })));

switch (process.argv[2]) {
  case 'closed':
    await pool.close();
    await connection.close();
    break;
  case 'crashed':
    await pool.run('exit', 1).catch(() => {});
    break;
  case 'busy':
    // A call under way keeps the process until it is over.
    void pool.run('wait', 200).then((waited) => process.stdout.write(`${(one * two * waited) / 200}`));
    break;
}
if (process.argv[2] !== 'busy') process.stdout.write(`${one * two}`);
