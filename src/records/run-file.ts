import { readFile } from 'node:fs/promises';
import { summarize } from '../stats/summary.js';
import { type CompletedRecord, type Run, type Sample, SCHEMA_VERSION } from './record.js';
import { runShape } from './record-shape.js';
import { BoundaryError } from '../errors.js';
import { asObject } from './shape.js';

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
  const { records } = value as { readonly records?: unknown };
  const whole = Array.isArray(records)
    ? { ...(value as object), records: records.map((record) => withSummary(withEachSample(record))) }
    : value;
  runShape(whole, name);
  return whole as Run;
}

/** A record with each of its samples: compact files have one entry, with a list of seconds, for samples that are alike in all else. */
export function withEachSample(record: unknown): unknown {
  const { samples } = (record ?? {}) as { readonly samples?: unknown };
  if (!Array.isArray(samples)) return record;
  const each = samples.flatMap((sample: { readonly seconds?: unknown } | null) => {
    const seconds = sample?.seconds;
    const isList = Array.isArray(seconds) && seconds.length > 1;
    return isList ? seconds.map((one: unknown) => ({ ...sample, seconds: one })) : [sample];
  });
  return { ...(record as object), samples: each };
}

/** A record with the summary that compact files leave out, since it follows from the samples. */
function withSummary(record: unknown): unknown {
  const { samples, summary } = (record ?? {}) as Partial<CompletedRecord>;
  const canFollow =
    summary === undefined &&
    Array.isArray(samples) &&
    samples.length > 0 &&
    samples.every((sample: Partial<Sample> | null) => typeof sample?.seconds === 'number');
  return canFollow ? { ...(record as object), summary: summarize(samples, record as CompletedRecord) } : record;
}

/** Like `parseRun`, for a file; also throws `BB_RESULT_FILE_UNREADABLE` if the file can't be read. */
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
