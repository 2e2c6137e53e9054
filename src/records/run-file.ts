import { readFile } from 'node:fs/promises';
import { comparedAnew } from '../compare/comparisons.js';
import { sumOf } from '../stats/sum.js';
import { summarize } from '../stats/summary.js';
import { type Run, type RunRecord, type Sample, SCHEMA_VERSION } from './record.js';
import { BoundaryError } from '../errors.js';
import { asObject, checksBy, shapeError } from './shape.js';
import { fromVersion3 } from './version-3.js';

/** The checks by a definition of `schema/run.schema.json`, or by all of it. */
export const checkOf = checksBy('run.schema.json');

const checkRun = checkOf();

/** The text of `run.json`. */
export function serializeRun(run: Run): string {
  return `${JSON.stringify(run, null, 2)}\n`;
}

/**
 * Parses the text of a `run.json`, also of schema version 3, and checks its shape. `name` is its name in messages.
 *
 * Throws a `BoundaryError`: `BB_RESULT_FILE_NOT_JSON`, `BB_RESULT_FILE_VERSION` (written by another major version), or
 * `BB_RESULT_FILE_SHAPE`.
 *
 * @example
 * ```js
 * import { BoundaryError, parseRun } from 'boundary-bench/bench';
 *
 * try {
 *   parseRun('{', 'run.json');
 * } catch (error) {
 *   if (error instanceof BoundaryError) console.log(error.code); // BB_RESULT_FILE_NOT_JSON
 * }
 * ```
 */
export function parseRun(content: string, name = 'the run'): Run {
  const value = parseRunFields(content, name);
  requireSchemaVersion(value['schemaVersion'], name);
  checkRun(value, name);
  const run = value as unknown as Run;
  const whole = {
    ...run,
    records: run.records.map((record, index) => wholeRecord(record, `${name}.records[${index}]`)),
  };
  const isCompact = whole.records.some((record) => record.outcome === 'completed' && record.rustLane !== undefined);
  return isCompact ? comparedAnew(whole) : whole;
}

/** The fields of a run file, unchecked, in the shape of the current version if the file is of version 3. */
export function parseRunFields(content: string, name: string): Readonly<Record<string, unknown>> {
  const found = asObject(parseJson(content, name), name);
  return found['schemaVersion'] === 3 ? fromVersion3(found) : found;
}

/**
 * A record with everything that compact files leave out: each of its samples, and the summary that follows from them,
 * as this version makes it. `path` is its position, for the message of a `BB_RESULT_FILE_SHAPE`.
 */
export function wholeRecord(record: RunRecord, path: string): RunRecord {
  if (record.outcome !== 'completed') return record;
  const { samples } = withEachSample(record, path);
  return { ...record, samples, summary: summarize(samples, record) };
}

/** A record with each of its samples. In compact files, an entry with a list of seconds is that many samples. `path` is as above. */
export function withEachSample<Record extends { readonly samples?: readonly Sample[] }>(
  record: Record,
  path: string,
): Record {
  const { samples } = record;
  if (samples === undefined) return record;
  return {
    ...record,
    samples: samples.flatMap((entry, index) => samplesOf(entry as SampleEntry, `${path}.samples[${index}]`)),
  };
}

/** An entry of the samples of a compact file, as `sample` of the schema describes it. Other files have one sample per entry. */
interface SampleEntry {
  readonly seconds: number | readonly number[];
  readonly exponent?: number;
  readonly first?: Partial<Sample>;
}

/** Runs of values: the first value of each, its step, and its number of samples, in turn. */
interface Runs {
  readonly runs: readonly number[];
}

function samplesOf({ exponent, first, ...fields }: SampleEntry, path: string): Sample[] {
  const { length } = [fields.seconds].flat();
  const columns = Object.entries<unknown>(fields).map(([name, value]) => {
    const count = countOf(value) ?? length;
    if (count !== length) {
      throw shapeError(`${path}.${name} must have as many values as seconds, ${length}, but has ${count}`);
    }
    const values = valuesOf(value, length);
    const isScaled = exponent !== undefined && /seconds$/i.test(name);
    return [name, isScaled ? values.map((value) => scaled(value as number, exponent)) : values] as const;
  });
  return Array.from({ length }, (_, place) => {
    const sample = Object.fromEntries(columns.map(([name, values]) => [name, values[place]]));
    return { ...sample, ...(place === 0 && first) } as Sample;
  });
}

/** A number times ten to a power. A division by a power of ten is exact to the last digit, and a product with its inverse is not. */
function scaled(value: number, exponent: number): number {
  return exponent < 0 ? value / 10 ** -exponent : value * 10 ** exponent;
}

function isRuns(value: unknown): value is Runs {
  return typeof value === 'object' && value !== null && 'runs' in value;
}

/** The number of values of a field with one per sample. `undefined` for a field that is the same for all. */
function countOf(value: unknown): number | undefined {
  if (Array.isArray(value)) return value.length;
  if (!isRuns(value)) return undefined;
  const { runs } = value;
  return runs.length % 3 === 0 ? sumOf(runs.filter((_, index) => index % 3 === 2)) : Number.NaN;
}

/** The values of a field, one per sample. */
function valuesOf(value: unknown, length: number): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (!isRuns(value)) return Array.from({ length }, () => value);
  return value.runs.flatMap((samples, index, runs) => {
    if (index % 3 < 2) return [];
    const [first, step] = [runs[index - 2]!, runs[index - 1]!];
    return Array.from({ length: samples }, (_, place) => first + place * step);
  });
}

/**
 * Like `parseRun`, for a file. It also throws `BB_RESULT_FILE_UNREADABLE` if the file can't be read.
 *
 * @example
 * ```js
 * import { readRun } from 'boundary-bench/bench';
 *
 * const { context, records } = await readRun('before/run.json');
 * console.log(context.git?.dirty, records.length > 0); // false true
 * ```
 */
export async function readRun(path: string): Promise<Run> {
  return parseRun(await readResultFile(path), path);
}

/** The text of a result file. Throws a `BoundaryError` with the code `BB_RESULT_FILE_UNREADABLE` if the file can't be read. */
export async function readResultFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new BoundaryError('BB_RESULT_FILE_UNREADABLE', `can't read ${path}: ${why}`, { cause });
  }
}

export function parseJson(content: string, name: string): unknown {
  try {
    return JSON.parse(content);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new BoundaryError('BB_RESULT_FILE_NOT_JSON', `${name} is not JSON: ${why}`, { cause });
  }
}

export function requireSchemaVersion(version: unknown, name: string): void {
  if (version === SCHEMA_VERSION) return;
  const found = version === undefined ? 'none' : JSON.stringify(version);
  throw new BoundaryError(
    'BB_RESULT_FILE_VERSION',
    `${name} has schema version ${found}; this version reads 3 and ${SCHEMA_VERSION}`,
  );
}
