/** Runs code that may crash in a process of its own, so that a crash is a failed test that names its signal. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

/** The outcome of a script. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The program that runs a script, this one by default, with flags and with variables instead of the variables of this process. */
export interface Runner {
  readonly program?: string;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a script of `scripts/`. A script that hangs is killed, and so ends by SIGKILL. */
export async function endingOf(script: string, args: readonly string[] = [], runner: Runner = {}) {
  const { program = process.execPath, flags = [], env = {} } = runner;
  const path = fileURLToPath(new URL(`scripts/${script}`, import.meta.url));
  const child = spawn(program, [...flags, path, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    timeout: 100_000,
    killSignal: 'SIGKILL',
  });
  const closed = new Promise<Pick<Ending, 'code' | 'signal'>>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  const [stdout, stderr, ending] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { ...ending, stdout, stderr } satisfies Ending;
}

/** The output of a script of `scripts/`, parsed as JSON. */
export async function resultOf(script: string, args: readonly string[] = [], runner: Runner = {}): Promise<unknown> {
  const { code, signal, stdout, stderr } = await endingOf(script, args, runner);
  if (code !== 0) throw new Error(`${script} ${args.join(' ')} ended with ${signal ?? code}: ${stderr.slice(-2000)}`);
  return JSON.parse(stdout);
}
