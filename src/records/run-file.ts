import { readFile } from 'node:fs/promises';
import { summarize } from '../stats/summary.js';
import { type Run, type RunRecord, type Sample, SCHEMA_VERSION } from './record.js';
import { BoundaryError } from '../errors.js';
import { asObject, checksBy } from './shape.js';

/** The checks by a definition of `schema/run.schema.json`, or by all of it. */
export const checkOf = checksBy('run.schema.json');

const checkRun = checkOf();

/** The text of `run.json`. */
export function serializeRun(run: Run): string {
  return `${JSON.stringify(run, null, 2)}\n`;
}

/**
 * Parses the text of a `run.json` and checks its shape. `name` is its name in messages.
 *
 * Throws a `BoundaryError`: `BB_RESULT_FILE_NOT_JSON`, `BB_RESULT_FILE_VERSION` (written by another major version), or
 * `BB_RESULT_FILE_SHAPE`.
 */
export function parseRun(content: string, name = 'the run'): Run {
  const value = parseJson(content, name);
  requireSchemaVersion(asObject(value, name)['schemaVersion'], name);
  checkRun(value, name);
  const run = value as Run;
  return { ...run, records: run.records.map(wholeRecord) };
}

/** A record with everything that compact files leave out: each of its samples, and the summary that follows from them. */
export function wholeRecord(record: RunRecord): RunRecord {
  if (record.outcome !== 'completed') return record;
  const { samples } = withEachSample(record);
  return { ...record, samples, summary: record.summary ?? summarize(samples, record) };
}

/** A record with each of its samples: compact files have one entry, with a list of seconds, for samples that are alike in all else. */
export function withEachSample<Record extends { readonly samples?: readonly Sample[] }>(record: Record): Record {
  const each = record.samples?.flatMap((sample) =>
    [sample.seconds].flat().map((seconds): Sample => ({ ...sample, seconds })),
  );
  return each === undefined ? record : { ...record, samples: each };
}

/** Like `parseRun`, for a file. It also throws `BB_RESULT_FILE_UNREADABLE` if the file can't be read. */
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
    `${name} has schema version ${found}; this version reads ${SCHEMA_VERSION}`,
  );
}
