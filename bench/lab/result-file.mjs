/** The files of results that the scripts of this folder write. bench/docs makes the tables of the pages from those in results/. */
import { runContext } from '../../dist/host/provenance.js';
import { loadNativeBuild } from '../../dist/native-build.js';

/** The origin of what a script measures from now on: the time, the machine, the versions, the build and the commit. */
export async function origin() {
  return originOf(await runContext({ startedAt: new Date(), config: {}, build: await loadNativeBuild() }));
}

/** The origin of a run, by its context. */
export function originOf({ startedAt, host, versions, build, git }) {
  return { startedAt, host, versions, build, git };
}

/** The text of a file: JSON with one line per field, or per element if the field is a list. Throws for a number that JSON has no form for. */
export function resultText(file) {
  const fields = Object.entries(file)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${JSON.stringify(name)}:${fieldText(value)}`);
  return `{\n${fields.join(',\n')}\n}\n`;
}

function fieldText(value) {
  if (!Array.isArray(value) || value.length === 0) return jsonOf(value);
  return `[\n${value.map(jsonOf).join(',\n')}\n]`;
}

function jsonOf(value) {
  return JSON.stringify(value, (name, part) => {
    // JSON would have null, and a table NaN.
    if (typeof part === 'number' && !Number.isFinite(part)) throw new Error(`${name} is ${part}, which is no result`);
    return part;
  });
}
