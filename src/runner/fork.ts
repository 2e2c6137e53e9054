import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { builtModule, inheritedFlags } from '../built-module.js';
import { BoundaryError, receivedError, TIMEOUT } from '../errors.js';
import type { Runtime } from '../families/workload.js';
import type { ForkAbort, ForkReport, ForkResult, ForkStep, ForkTask } from './fork-message.js';

/** The program of a fork. */
const PROGRAM = fileURLToPath(builtModule(new URL('../fork-main.js', import.meta.url)));

/** The time that a fork has to end by itself once its run is aborted. */
const GRACE_MS = 5000;

/** The most of a fork's error output that is kept, in characters. */
const KEPT_OUTPUT = 2000;

/** What the process of the run wants of a fork beside its result. */
export interface ForkWatch {
  readonly signal: AbortSignal;
  readonly timeoutSeconds: number;
  readonly onStep: (step: ForkStep) => void;
  /** Another runtime than that of this process. */
  readonly runtime?: Runtime | undefined;
}

/**
 * Measures one cell in a process of its own. Throws the error of the cell; `BB_FORK` if the process ends without a result, as by a
 * signal; `BB_TIMEOUT` after `timeoutSeconds`; and the reason of `signal` once that aborts and the fork has ended.
 */
export async function measureInFork(
  task: ForkTask,
  { signal, timeoutSeconds, onStep, runtime }: ForkWatch,
): Promise<ForkResult> {
  signal.throwIfAborted();
  const child = fork(PROGRAM, [], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    ...(runtime === undefined
      ? { serialization: 'advanced', execArgv: inheritedFlags() }
      : // What all runtimes understand.
        { serialization: 'json', execArgv: [...runtime.args], execPath: runtime.program }),
  });
  let output = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-KEPT_OUTPUT)));
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    child.kill('SIGKILL');
  }, timeoutSeconds * 1000);
  const stopAborting = onAbort(signal, child);
  const killNow = (): void => void child.kill('SIGKILL');
  process.once('exit', killNow);
  try {
    const { report, ending } = await lastReport(child, task, onStep);
    signal.throwIfAborted();
    if (report?.type === 'done') return { samples: report.samples, checksum: report.checksum };
    if (report?.type === 'failed') throw receivedError(report.error);
    if (isLate) throw new BoundaryError(TIMEOUT, `the cell was not measured within ${timeoutSeconds} seconds`);
    throw new BoundaryError('BB_FORK', `the process that measured the cell ended by ${ending}${lastLine(output)}`);
  } finally {
    clearTimeout(timer);
    stopAborting();
    process.off('exit', killNow);
  }
}

interface Ended {
  /** The last report, if there was one. */
  readonly report: ForkReport | undefined;
  /** How the process ended. */
  readonly ending: string;
}

function lastReport(child: ChildProcess, task: ForkTask, onStep: ForkWatch['onStep']): Promise<Ended> {
  return new Promise((resolve, reject) => {
    let report: ForkReport | undefined;
    child.on('message', (message: ForkReport) => {
      if (message.type === 'done' || message.type === 'failed') report = message;
      else onStep(message);
    });
    child.once('error', (cause) =>
      reject(new BoundaryError('BB_FORK', `no process could be started: ${cause.message}`)),
    );
    // Not at `exit`, after which messages and output may still come.
    child.once('close', (code, name) => resolve({ report, ending: name === null ? `exit code ${code}` : name }));
    child.send(task, () => {});
  });
}

function onAbort(signal: AbortSignal, child: ChildProcess): () => void {
  let grace: NodeJS.Timeout | undefined;
  const abort = (): void => {
    if (child.connected) child.send({ type: 'abort' } satisfies ForkAbort, () => {});
    grace = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
  };
  signal.addEventListener('abort', abort, { once: true });
  return () => {
    clearTimeout(grace);
    signal.removeEventListener('abort', abort);
  };
}

function lastLine(output: string): string {
  const line = output.trimEnd().split('\n').at(-1);
  return line === undefined || line === '' ? '' : `: ${line}`;
}
