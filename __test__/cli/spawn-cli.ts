import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const overSums = fileURLToPath(new URL('cli-over-sums.mjs', import.meta.url));

/** The built entry, as users run it. */
export const builtMain = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface SpawnOptions {
  readonly cwd: string;
  readonly script?: string;
  /** The most that the process may write into a file, in blocks of 512 bytes. */
  readonly mostBlocks?: number;
  readonly env?: NodeJS.ProcessEnv;
  readonly broken?: Readonly<Record<string, string>>;
  /** Called with all of standard error so far, each time more arrives. */
  readonly onStderr?: (text: string, kill: (signal: NodeJS.Signals) => void) => void;
}

/** Runs the command line in a process and waits for its end. */
export async function spawnCli(args: readonly string[], options: SpawnOptions): Promise<Ended> {
  if (!existsSync(builtMain)) throw new Error('these tests drive the build: run `npm run build:ts` first');
  const { cwd, script = overSums, broken = {}, mostBlocks, onStderr } = options;
  const env = { ...process.env, ...options.env, BROKEN: JSON.stringify(broken) };
  const limit = mostBlocks === undefined ? [] : ['sh', '-c', `ulimit -f ${mostBlocks}; exec "$@"`, 'sh'];
  const [program, ...words] = [...limit, process.execPath, script, ...args] as [string, ...string[]];
  const child = spawn(program, words, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    onStderr?.(stderr, (signal) => child.kill(signal));
  });
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject).on('close', resolve);
  });
  return { exitCode, stdout, stderr };
}
