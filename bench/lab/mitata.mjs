// Checks whether this package and mitata agree on the time of a call of five functions. Both measure each function in
// processes of its own, one after the other, several times. It installs mitata in a folder that it removes at the end.
//
//   node bench/lab/mitata.mjs [--rounds 5] [--out FILE]
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { run } from '../../dist/bench.js';
import { renderMarkdown } from '../../dist/report/document.js';
import { mitataTable } from './tables.mjs';
import { FUNCTIONS, workloads } from './own-functions.mjs';
import { optionsOf, origin, temporaryFolder, writeResult } from './frame.mjs';

const MITATA = 'mitata@1.0.34';

const { values } = optionsOf({ rounds: '5', out: undefined });
const from = await origin();
const folder = temporaryFolder();
const functions = [];
execFileSync('npm', ['install', '--silent', '--prefix', folder, MITATA], { stdio: 'inherit' });
for (const [index, name] of Object.keys(FUNCTIONS).entries()) {
  const rounds = [];
  for (let round = 0; round < Number(values.rounds); round += 1) {
    rounds.push({ ours: await timeByUs(index, `${index}-${round}`), mitata: timeByMitata(name) });
  }
  functions.push({ name, rounds });
}
process.stdout.write(renderMarkdown(mitataTable(functions)));
writeResult(values.out, { ...from, versions: { ...from.versions, mitata: MITATA.split('@')[1] }, functions });

/** The median and the shortest seconds of a call, as one process of a run measures it. */
async function timeByUs(index, place) {
  // The family of a name is found among the exports, so that each has a file of its own.
  const file = join(folder, `${place}.mjs`);
  const module = new URL('own-functions.mjs', import.meta.url).href;
  writeFileSync(
    file,
    `import { workloads } from ${JSON.stringify(module)};\nexport const own = workloads[${index}];\n`,
  );
  const families = [{ ...workloads[index], module: pathToFileURL(file).href }];
  const { run: finished } = await run({ families, directory: join(folder, place), forks: 1 });
  const [{ summary }] = finished.records;
  return { median: summary.medianSeconds, shortest: summary.minSeconds };
}

/** The same as mitata measures it. */
function timeByMitata(name) {
  const script = `
    import { do_not_optimize, measure } from ${JSON.stringify(pathToFileURL(join(folder, 'node_modules', 'mitata', 'src', 'main.mjs')).href)};
    import { FUNCTIONS } from ${JSON.stringify(new URL('own-functions.mjs', import.meta.url).href)};
    const work = FUNCTIONS[${JSON.stringify(name)}];
    // As its documentation asks for: a result that nobody uses lets the compiler leave out a part of the work.
    const { p50, min } = await measure(() => do_not_optimize(work()));
    console.log(JSON.stringify({ median: p50 / 1e9, shortest: min / 1e9 }));
  `;
  const output = execFileSync(process.execPath, ['--expose-gc', '--input-type=module', '--eval', script], {
    encoding: 'utf8',
  });
  return JSON.parse(output.trim().split('\n').at(-1));
}
