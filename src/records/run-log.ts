/**
 * `run.jsonl`, the log to which a run appends fork by fork, so that an interruption loses nothing. The first line is `{type:
 * 'context', schemaVersion, context}`. A line `{type: 'fork', fork}` follows for each process that measured a cell, and a line
 * `{type: 'record', record}` for each cell once it is complete. A resumed run appends to the log. Of several records with one id
 * the last one counts, and the forks before a record count no more.
 */
import {
  type Checksum,
  type NoVerdict,
  type RunContext,
  type RunRecord,
  type Sample,
  SCHEMA_VERSION,
} from './record.js';
import { BoundaryError } from '../errors.js';
import { checkOf, parseJson, readResultFile, requireSchemaVersion, withEachSample, wholeRecord } from './run-file.js';
import { asObject } from './shape.js';

/** The measurements of a cell by one process. */
export interface ForkRecord {
  /** The id of the cell. */
  readonly id: string;
  readonly samples: readonly Sample[];
  readonly checksum: Checksum;
  /** Why the process decides nothing. Absent: it does. */
  readonly noVerdict?: NoVerdict;
}

/** The content of a log. */
export interface RunLog {
  readonly context: RunContext;
  /** The forks of the cells that are not complete, in order. */
  readonly forks: readonly ForkRecord[];
  /** One record per id, in the order of the ids' first occurrence. */
  readonly records: readonly RunRecord[];
  /**
   * Whether the log ends in an incomplete line. That line was left out. Before anything is appended, such a log must be
   * rewritten with `serializeLog`.
   */
  readonly truncated: boolean;
}

const checkContextLine = checkOf('contextLine');
const checkLine = checkOf('line');

/** The first line of a log, with its newline. */
export function serializeContextLine(context: RunContext): string {
  return `${JSON.stringify({ type: 'context', schemaVersion: SCHEMA_VERSION, context })}\n`;
}

/** The line of a record, with its newline. */
export function serializeRecordLine(record: RunRecord): string {
  return `${JSON.stringify({ type: 'record', record })}\n`;
}

/** The line of a fork, with its newline. */
export function serializeForkLine(fork: ForkRecord): string {
  return `${JSON.stringify({ type: 'fork', fork })}\n`;
}

/** The text of a whole log. */
export function serializeLog({ context, records, forks }: Omit<RunLog, 'truncated'>): string {
  return [serializeContextLine(context), ...records.map(serializeRecordLine), ...forks.map(serializeForkLine)].join('');
}

/**
 * Parses the text of a log. A last line that has no newline and is not valid JSON was left by an interruption, and is left out. Any
 * other mistake throws a `BoundaryError` whose message names the line. It has the codes of `parseRun`, and
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
  let forks: ForkRecord[] = [];
  rest.forEach((text, index) => {
    const line = `${name}, line ${index + 2}`;
    const { record, fork } = parseLine(text, line);
    if (fork !== undefined) forks.push(withEachSample(fork, line));
    if (record === undefined) return;
    records.set(record.id, wholeRecord(record, line));
    forks = forks.filter(({ id }) => id !== record.id);
  });
  return { context, records: [...records.values()], forks, truncated };
}

/** Like `parseLog`, for a file. It also throws `BB_RESULT_FILE_UNREADABLE` if the file can't be read. */
export async function readLog(path: string): Promise<RunLog> {
  return parseLog(await readResultFile(path), path);
}

function parseContextLine(line: string, name: string): RunContext {
  const value = asObject(parseJson(line, name), name);
  requireSchemaVersion(value['schemaVersion'], name);
  checkContextLine(value, name);
  return value['context'] as RunContext;
}

/** A line has a record or a fork. */
function parseLine(text: string, name: string): { readonly record?: RunRecord; readonly fork?: ForkRecord } {
  const value = parseJson(text, name);
  checkLine(value, name);
  return value as { record?: RunRecord; fork?: ForkRecord };
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
