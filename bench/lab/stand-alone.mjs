// Whether native code is as fast inside Node as alone: cells of the native suite through the addon, and in the program
// boundary-bench-native. Prints millions of rows per second, the median of the rounds, and the ratio.
//
//   node bench/lab/stand-alone.mjs [ROWS] [ROUNDS]
import { addon } from '../../dist/addon.js';
import { mediansInTurn, shownRatio } from './in-turn.mjs';
import { builtProgram, outputOf } from './programs.mjs';

const LANES = [
  { workload: 'insert.bulk', lane: 'columns' },
  { workload: 'query.full_scan', lane: 'columnar' },
];

const [rows = 10_000_000, rounds = 7] = process.argv.slice(2).map(Number);
const program = builtProgram('boundary-bench-suite', 'boundary-bench-native');
const engine = await addon.Engine.open('memory:');
await engine.loadNative(JSON.stringify({ table: 'measurements', rows, workers: 1 }));
console.log('| Workload | Lane | alone | inside Node | inside / alone |');
console.log('| --- | --- | ---: | ---: | ---: |');
for (const cell of LANES) await compare(cell);
engine.close();

async function compare({ workload, lane }) {
  const { alone, inside } = await mediansInTurn(
    {
      alone: () => {
        const options = [
          '--engine',
          'memory:',
          '--rows',
          `${rows}`,
          '--workers',
          '1',
          '--samples',
          '1',
          '--flavor',
          'sync',
        ];
        return rateOf(outputOf(program, [...options, '--workload', workload, '--lane', lane]));
      },
      inside: async () => {
        const table = workload === 'insert.bulk' ? 'inserted' : 'measurements';
        const spec = { workload, lane, flavor: 'sync', workers: 1, rows, table };
        return rateOf(await engine.runNative(JSON.stringify(spec)));
      },
    },
    rounds,
  );
  const shown = [alone, inside].map((rate) => (rate / 1e6).toFixed(1));
  console.log(`| ${[workload, lane, ...shown, shownRatio(inside, alone)].join(' | ')} |`);
}

function rateOf(sample) {
  return rows / JSON.parse(sample).seconds;
}
