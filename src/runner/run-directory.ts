import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
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
import { commandText } from './command-text.js';
import { exists, makeFolder, writeAtomically } from './files.js';
import { RunLock } from './run-lock.js';

/** The content of a log that ends with a whole line. */
type WholeLog = Omit<RunLog, 'truncated'>;

/** The files of a run: `run.jsonl` during the run, `run.json`, `run.md` and `run.html` at its end. */
export class RunDirectory {
  readonly path: string;
  readonly #lock: RunLock;
  #context: RunContext;
  readonly #records = new Map<string, RunRecord>();
  #forks: readonly ForkRecord[];
  #log: FileHandle | undefined;
  /** The last work on the log. */
  #working: Promise<void> = Promise.resolve();

  private constructor(path: string, lock: RunLock, { context, records, forks }: WholeLog) {
    this.path = path;
    this.#lock = lock;
    this.#context = context;
    this.#forks = forks;
    for (const record of records) this.#records.set(record.id, record);
  }

  /**
   * Starts a run in a directory, which is created if necessary. Without one, it starts in a new directory named after its start
   * time. Throws `BB_OUT_EXISTS` if it already contains a run, `BB_OUT_BUSY` if another process writes there, and `BB_OUT_UNUSABLE`
   * if it can't be written.
   */
  static async create(given: string | undefined, context: RunContext): Promise<RunDirectory> {
    const path = given ?? defaultDirectory(new Date(context.startedAt));
    return saving(`can't keep results in ${path}`, NOTHING_MEASURED, async () => {
      const own = given === undefined ? await makeNewFolder(path) : await makeFolder(path);
      return RunDirectory.#locked(own, async () => {
        if (await exists(join(own, 'run.jsonl'))) {
          throw new BoundaryError('BB_OUT_EXISTS', `${own} holds a run already`, {
            hint: 'Add --resume to go on with it, or choose another directory.',
          });
        }
        return { context, records: [], forks: [] };
      });
    });
  }

  /**
   * Resumes the run in a directory. Throws `BB_RESUME_NOTHING` if there is none, `BB_OUT_BUSY` and `BB_OUT_UNUSABLE` as `create`,
   * and the errors of `readLog`.
   */
  static async resume(path: string): Promise<RunDirectory> {
    const log = join(path, 'run.jsonl');
    if (!(await exists(log))) {
      throw new BoundaryError('BB_RESUME_NOTHING', `${path} holds no run to go on with: there is no run.jsonl`);
    }
    // The log is rewritten, since an interruption may have cut the last line short, and nothing may be appended to it.
    return saving(`can't go on in ${path}`, 'What was done is kept.', () =>
      RunDirectory.#locked(path, () => readLog(log)),
    );
  }

  /** Locks a directory and writes the log that it is to have. */
  static async #locked(path: string, logOf: () => Promise<WholeLog>): Promise<RunDirectory> {
    const lock = await RunLock.take(path);
    try {
      const directory = new RunDirectory(path, lock, await logOf());
      await directory.#rewriteLog();
      return directory;
    } catch (error) {
      await lock.release();
      throw error;
    }
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

  /** The number of the last block of samples, or 0 if there is none. */
  get lastBlock(): number {
    const records = [...this.#records.values()].flatMap((record) => ('samples' in record ? record.samples : []));
    const samples = [...records, ...this.#forks.flatMap((fork) => fork.samples)];
    return samples.reduce((last, { block = 0 }) => Math.max(last, block), 0);
  }

  /** Replaces the context, also in the log. */
  async setContext(context: RunContext): Promise<void> {
    this.#context = context;
    await this.#inTurn(() => this.#rewriteLog());
  }

  /** Appends a record to the log. Resolves when the record is on disk. */
  async append(record: RunRecord): Promise<void> {
    this.#records.set(record.id, record);
    this.#forks = this.#forks.filter(({ id }) => id !== record.id);
    await this.#append(serializeRecordLine(record));
  }

  /** Appends the measurements of one process. Resolves when they are on disk. */
  async appendFork(fork: ForkRecord): Promise<void> {
    this.#forks = [...this.#forks, fork];
    await this.#append(serializeForkLine(fork));
  }

  /** Writes `run.json` and `run.md`, each atomically. */
  async writeResults(run: Run): Promise<void> {
    await this.#saving('run.json', () => writeAtomically(this.#pathOf('run.json'), serializeRun(run)));
    await this.#saving('run.md', () => writeAtomically(this.#pathOf('run.md'), renderRunMarkdown(run)));
  }

  /** Writes `run.html` atomically, after the other results. It can be regenerated from them. */
  async writePage(run: Run): Promise<void> {
    // Loaded with its charts when there is something to draw, not when a run starts.
    const { renderRunHtml } = await import('../report/html/run-page.js');
    await writeAtomically(this.#pathOf('run.html'), await renderRunHtml(run, commandText(run)));
  }

  /** Closes the log, and lets other processes write here. */
  async close(): Promise<void> {
    await this.#working.catch(() => {});
    await this.#closeLog();
    await this.#lock.release();
  }

  async #closeLog(): Promise<void> {
    await this.#log?.close();
    this.#log = undefined;
  }

  async #append(line: string): Promise<void> {
    await this.#inTurn(async () => {
      this.#log ??= await open(this.#pathOf('run.jsonl'), 'a');
      await this.#log.appendFile(line);
      await this.#log.datasync();
    });
  }

  /** Does work on the log once what was begun before has ended: processes end at the same time. */
  async #inTurn(work: () => Promise<void>): Promise<void> {
    const before = this.#working;
    const working = before.catch(() => {}).then(() => this.#saving('run.jsonl', work));
    this.#working = working;
    await working;
  }

  #saving(file: string, work: () => Promise<void>): Promise<void> {
    const kept = `What was done before is kept in ${this.#pathOf('run.jsonl')}; resume it with: npx boundary-bench run --resume ${this.path}`;
    return saving(`can't write ${this.#pathOf(file)}`, kept, work);
  }

  async #rewriteLog(): Promise<void> {
    await this.#closeLog();
    const log = { context: this.#context, records: [...this.#records.values()], forks: this.#forks };
    await writeAtomically(this.#pathOf('run.jsonl'), serializeLog(log));
  }

  #pathOf(file: string): string {
    return join(this.path, file);
  }
}

/** The default directory, such as `results/runs/2026-05-02T10-00-00Z`: without colons, since not every file system allows them. */
function defaultDirectory(startedAt: Date): string {
  return join(
    'results',
    'runs',
    startedAt
      .toISOString()
      .replace(/\.\d+Z$/, 'Z')
      .replaceAll(':', '-'),
  );
}

const NOTHING_MEASURED = 'Nothing was measured. Choose another directory by --out.';

/** The texts of the errors of a file system for people, by their codes. */
const PROBLEMS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EDQUOT: 'the quota of this user is used up',
  EFBIG: 'the file may not become larger',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of its path is a file',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
};

/** Does work on files. Throws `BB_OUT_UNUSABLE`, with what is kept as its hint, if the file system refuses. */
async function saving<T>(what: string, hint: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const { code, syscall, path, message } = cause as NodeJS.ErrnoException;
    if (syscall === undefined || code === undefined) throw cause;
    const problem = code === 'EEXIST' ? `${path} is a file` : (PROBLEMS[code] ?? message);
    throw new BoundaryError('BB_OUT_UNUSABLE', `${what}: ${problem} (${code})`, { hint, cause });
  }
}

/** Makes a folder that was not there, with a number after its name if other runs were started in the same second. */
async function makeNewFolder(path: string): Promise<string> {
  await makeFolder(dirname(path));
  for (let number = 1; ; number++) {
    const numbered = number === 1 ? path : `${path}-${number}`;
    try {
      await mkdir(numbered);
      return numbered;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
