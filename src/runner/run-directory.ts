import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Run, RunContext, RunRecord } from '../records/record.js';
import { serializeRun } from '../records/run-file.js';
import {
  type ForkRecord,
  type RunLog,
  readLog,
  serializeForkLine,
  serializeLog,
  serializeRecordLine,
} from '../records/run-log.js';
import { renderRunMarkdown } from '../report/run-report.js';
import { BoundaryError } from '../errors.js';

/** The files of a run: `run.jsonl` during the run, `run.json`, `run.md` and `run.html` at its end. */
export class RunDirectory {
  readonly path: string;
  #context: RunContext;
  readonly #records = new Map<string, RunRecord>();
  #forks: readonly ForkRecord[];
  #log: FileHandle | undefined;

  private constructor(path: string, { context, records, forks }: Omit<RunLog, 'truncated'>) {
    this.path = path;
    this.#context = context;
    this.#forks = forks;
    for (const record of records) this.#records.set(record.id, record);
  }

  /** Starts a run in a directory, which is created if necessary. Throws `BB_OUT_EXISTS` if it already contains a run. */
  static async create(path: string, context: RunContext): Promise<RunDirectory> {
    if (await exists(join(path, 'run.jsonl'))) {
      throw new BoundaryError('BB_OUT_EXISTS', `${path} holds a run already`, {
        hint: 'Add --resume to go on with it, or choose another directory.',
      });
    }
    await mkdir(path, { recursive: true });
    const directory = new RunDirectory(path, { context, records: [], forks: [] });
    await directory.#rewriteLog();
    return directory;
  }

  /** Resumes the run in a directory. Throws `BB_RESUME_NOTHING` if there is none, and the errors of `readLog`. */
  static async resume(path: string): Promise<RunDirectory> {
    const log = join(path, 'run.jsonl');
    if (!(await exists(log))) {
      throw new BoundaryError('BB_RESUME_NOTHING', `${path} holds no run to go on with: there is no run.jsonl`);
    }
    const directory = new RunDirectory(path, await readLog(log));
    // Rewritten, since an interruption may have cut the last line short, and nothing may be appended to it.
    await directory.#rewriteLog();
    return directory;
  }

  get context(): RunContext {
    return this.#context;
  }

  /** The latest record of each cell, by id. */
  get records(): ReadonlyMap<string, RunRecord> {
    return this.#records;
  }

  /** The forks so far of a cell that is not complete. */
  forksOf(id: string): ForkRecord[] {
    return this.#forks.filter((fork) => fork.id === id);
  }

  /** Replaces the context, also in the log. */
  async setContext(context: RunContext): Promise<void> {
    this.#context = context;
    await this.#rewriteLog();
  }

  /** Appends a record to the log; resolves when the record is on disk. */
  async append(record: RunRecord): Promise<void> {
    this.#records.set(record.id, record);
    this.#forks = this.#forks.filter(({ id }) => id !== record.id);
    await this.#append(serializeRecordLine(record));
  }

  /** Appends what one process measured; resolves when it is on disk. */
  async appendFork(fork: ForkRecord): Promise<void> {
    this.#forks = [...this.#forks, fork];
    await this.#append(serializeForkLine(fork));
  }

  /** Writes `run.json` and `run.md`, each atomically. */
  async writeResults(run: Run): Promise<void> {
    await writeAtomically(this.#pathOf('run.json'), serializeRun(run));
    await writeAtomically(this.#pathOf('run.md'), renderRunMarkdown(run));
  }

  /** Writes `run.html` atomically, after the other results, which can make it anew. */
  async writePage(run: Run): Promise<void> {
    // Loaded with its charts when there is something to draw, not when a run starts.
    const { renderRunHtml } = await import('../report/html/run-page.js');
    await writeAtomically(this.#pathOf('run.html'), await renderRunHtml(run));
  }

  async close(): Promise<void> {
    await this.#log?.close();
    this.#log = undefined;
  }

  async #append(line: string): Promise<void> {
    this.#log ??= await open(this.#pathOf('run.jsonl'), 'a');
    await this.#log.appendFile(line);
    await this.#log.datasync();
  }

  async #rewriteLog(): Promise<void> {
    await this.close();
    const log = { context: this.#context, records: [...this.#records.values()], forks: this.#forks };
    await writeAtomically(this.#pathOf('run.jsonl'), serializeLog(log));
  }

  #pathOf(file: string): string {
    return join(this.path, file);
  }
}

/** The default directory, such as `results/runs/2026-05-02T10-00-00Z`: without colons, which not every file system allows. */
export function defaultDirectory(startedAt: Date): string {
  return join(
    'results',
    'runs',
    startedAt
      .toISOString()
      .replace(/\.\d+Z$/, 'Z')
      .replaceAll(':', '-'),
  );
}

/** Replaces a file so that a reader sees the old or the new content, also after a crash. */
export async function writeAtomically(path: string, content: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    const file = await open(temporary, 'w');
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (cause) {
    await rm(temporary, { force: true });
    throw cause;
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
