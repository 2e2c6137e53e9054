/** Finds the run by whose cost model predictions are made. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BoundaryError } from '../errors.js';
import type { CostModel, Run } from '../records/record.js';
import { readRun } from '../records/run-file.js';

/** A run with a model, and the file that it was read from. */
export interface ModelRun {
  readonly path: string;
  readonly run: Run;
  readonly model: CostModel;
}

const HINT =
  "Measure one: npx boundary-bench run --family boundary --workload 'bytes_*,text_*,rows_*' --out DIR, then give --run DIR/run.json.";

/** The results that this package brings along, by the kind of host. */
const COMMITTED = fileURLToPath(new URL(`../../results/${process.platform}-${process.arch}/`, import.meta.url));

/** The runs that were measured in the current directory. */
const OWN = join('results', 'runs');

/**
 * The run of a file. Without a file: the newest committed run of the family `boundary` on this kind of host that has a model, or
 * else the newest run in `results/runs` that has one. Throws a `BoundaryError` as `readRun` does, or `BB_MODEL_MISSING`.
 */
export async function findModelRun(path: string | undefined): Promise<ModelRun> {
  if (path !== undefined) {
    const found = await modelRunAt(path);
    if (found === undefined) {
      throw new BoundaryError('BB_MODEL_MISSING', `${path} has no cost model: its run measured no ladders`, {
        hint: HINT,
      });
    }
    return found;
  }
  const committed = (await namesIn(COMMITTED)).filter((name) =>
    /^\d{4}-\d\d-\d\d-(?:boundary|model)\.json$/.test(name),
  );
  const own = await newestFirst((await namesIn(OWN)).map((name) => join(OWN, name, 'run.json')));
  for (const candidate of [...committed.map((name) => join(COMMITTED, name)), ...own]) {
    const found = await modelRunAt(candidate).catch(() => undefined);
    if (found !== undefined) return found;
  }
  throw new BoundaryError('BB_MODEL_MISSING', 'no run here has a cost model', { hint: HINT });
}

async function modelRunAt(path: string): Promise<ModelRun | undefined> {
  const run = await readRun(path);
  return run.model === undefined ? undefined : { path, run, model: run.model };
}

/** The files that there are, the one that was written last first. */
async function newestFirst(paths: readonly string[]): Promise<string[]> {
  const written = paths.map(async (path) =>
    stat(path).then(
      ({ mtimeMs: time }) => [{ path, time }],
      () => [],
    ),
  );
  const there = (await Promise.all(written)).flat();
  return there.toSorted((a, b) => b.time - a.time).map(({ path }) => path);
}

/** The names in a folder, backwards, so that the newest is first if names begin with dates. None if the folder can't be read. */
async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(() => [])).toSorted().toReversed();
}
