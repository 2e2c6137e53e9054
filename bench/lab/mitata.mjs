// Checks whether this package and mitata agree on the time of a call of five functions. It measures each by mitata in a process of its own,
// then all by a run of this package, then by mitata again. It installs mitata in a folder that it removes at the end.
//
//   node bench/lab/mitata.mjs [--out FILE]
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

import { run } from '../../dist/bench.js';
import { renderMarkdown } from '../../dist/report/document.js';
import { mitataTable } from './mitata-table.mjs';
import { FUNCTIONS, workloads } from './own-functions.mjs';
import { origin, resultText } from './result-file.mjs';

const MITATA = 'mitata@1.0.34';

const { values } = parseArgs({ options: { out: { type: 'string' } } });
const from = await origin();
const folder = mkdtempSync(join(tmpdir(), 'own-mitata-'));
const functions = [];
try {
  execFileSync('npm', ['install', '--silent', '--prefix', folder, MITATA], { stdio: 'inherit' });
  const before = Object.keys(FUNCTIONS).map(timeByMitata);
  const ours = await timesByUs();
  for (const [index, name] of Object.keys(FUNCTIONS).entries()) {
    functions.push({ name, ours: ours.get(name), mitata: [before[index], timeByMitata(name)] });
  }
} finally {
  rmSync(folder, { recursive: true });
}
process.stdout.write(renderMarkdown(mitataTable(functions)));
if (values.out !== undefined) {
  const versions = { ...from.versions, mitata: MITATA.split('@')[1] };
  writeFileSync(values.out, resultText({ ...from, versions, functions }));
}

/** The median seconds of a call in a run, by the names of the functions. */
async function timesByUs() {
  const module = new URL('own-functions.mjs', import.meta.url).href;
  // The family of a name is found among the exports, so that each has a file of its own.
  const families = workloads.map((family, index) => {
    const file = join(folder, `function-${index}.mjs`);
    writeFileSync(
      file,
      `import { workloads } from ${JSON.stringify(module)};\nexport const own = workloads[${index}];\n`,
    );
    return { ...family, module: pathToFileURL(file).href };
  });
  const { run: finished } = await run({ families, directory: join(folder, 'run'), forks: 5 });
  return new Map(finished.records.map(({ family, summary }) => [family, summary.medianSeconds]));
}

/** The median seconds of a call as mitata measures it. */
function timeByMitata(name) {
  const script = `
    import { measure } from ${JSON.stringify(pathToFileURL(join(folder, 'node_modules', 'mitata', 'src', 'main.mjs')).href)};
    import { FUNCTIONS } from ${JSON.stringify(new URL('own-functions.mjs', import.meta.url).href)};
    const { p50 } = await measure(FUNCTIONS[${JSON.stringify(name)}]);
    console.log(p50);
  `;
  const output = execFileSync(process.execPath, ['--expose-gc', '--input-type=module', '--eval', script], {
    encoding: 'utf8',
  });
  return Number(output.trim().split('\n').at(-1)) / 1e9;
}
