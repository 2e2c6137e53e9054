/**
 * `run.jsonl`, the log to which a run appends cell by cell, so that an interruption loses nothing: a first line `{type:
 * 'context', schemaVersion, context}`, then one line `{type: 'record', record}` per record. A resumed run appends to it; of
 * several records with one id the last one counts.
 */
import { type RunContext, type RunRecord, SCHEMA_VERSION } from './record.js';
import { contextShape, recordShape } from './record-shape.js';
import { BoundaryError } from '../errors.js';
import { parseJson, readResultFile, requireSchemaVersion } from './run-file.js';
import { asObject, objectOf, oneOf } from './shape.js';

/** The content of a log. */
export interface RunLog {
  readonly context: RunContext;
  /** One record per id, in the order of the ids' first occurrence. */
  readonly records: readonly RunRecord[];
  /**
   * Whether the log ends in an incomplete line, which was left out. Before anything is appended, such a log must be rewritten
   * with `serializeLog`.
   */
  readonly truncated: boolean;
}

const contextLine = objectOf({ type: oneOf('context'), context: contextShape });
const recordLine = objectOf({ type: oneOf('record'), record: recordShape });

/** The first line of a log, with its newline. */
export function serializeContextLine(context: RunContext): string {
  return `${JSON.stringify({ type: 'context', schemaVersion: SCHEMA_VERSION, context })}\n`;
}

/** The line of a record, with its newline. */
export function serializeRecordLine(record: RunRecord): string {
  return `${JSON.stringify({ type: 'record', record })}\n`;
}

/** The text of a whole log. */
export function serializeLog(log: { readonly context: RunContext; readonly records: readonly RunRecord[] }): string {
  return serializeContextLine(log.context) + log.records.map(serializeRecordLine).join('');
}

/**
 * Parses the text of a log. A last line that has no newline and is not valid JSON was left by an interruption, and is left out;
 * any other mistake throws a `BoundaryError` whose message names the line: the codes of `parseRun`, and
 * `BB_RESULT_FILE_INCOMPLETE` if not even the context is complete.
 */
export function parseLog(content: string, name = 'the run log'): RunLog {
  const lines = content.split('\n');
  const unterminated = lines.pop() ?? '';
  const truncated = unterminated !== '' && !isJson(unterminated);
  if (unterminated !== '' && !truncated) lines.push(unterminated);

  const [first, ...rest] = lines;
  if (first === undefined) {
    throw new BoundaryError('BB_RESULT_FILE_INCOMPLETE', `${name} ends before the run's context was written`);
  }
  const context = parseContextLine(first, `${name}, line 1`);
  const records = new Map<string, RunRecord>();
  rest.forEach((line, index) => {
    const record = parseRecordLine(line, `${name}, line ${index + 2}`);
    records.set(record.id, record);
  });
  return { context, records: [...records.values()], truncated };
}

/** Like `parseLog`, for a file; also throws `BB_RESULT_FILE_UNREADABLE` if the file can't be read. */
export async function readLog(path: string): Promise<RunLog> {
  return parseLog(await readResultFile(path), path);
}

function parseContextLine(line: string, name: string): RunContext {
  const value = asObject(parseJson(line, name), name);
  requireSchemaVersion(value['schemaVersion'], name);
  contextLine(value, name);
  return value['context'] as RunContext;
}

function parseRecordLine(line: string, name: string): RunRecord {
  const value = parseJson(line, name);
  recordLine(value, name);
  return (value as { record: RunRecord }).record;
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
