import { type ChildProcess, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { builtMain, spawnCli } from './spawn-cli.js';

// Each test starts processes, which take as long as the machine is busy.
vi.setConfig({ testTimeout: 120_000 });

describe('boundary-bench serve', () => {
  it('explains its options, and refuses others', async () => {
    const help = await spawnCli(['serve', '--help'], { cwd: tmpdir(), script: builtMain });
    expect(help.exitCode).toBe(0);
    expect(help.stdout).toContain('--scale-factor <n>');
    expect(help.stdout).toContain('Examples:');
    const wrong = await spawnCli(['serve', '--what'], { cwd: tmpdir(), script: builtMain });
    expect(wrong.exitCode).toBe(2);
    expect(wrong.stderr).toContain('there is no --what [BB_INVALID_ARGUMENT]');
  });

  it('does not listen on addresses that others reach', async () => {
    for (const kind of [[], ['flight'], ['shard'], ['delay', '--to', '127.0.0.1:1']]) {
      const open = await spawnCli(['serve', ...kind, '--listen', '0.0.0.0:0'], { cwd: tmpdir(), script: builtMain });
      expect(open.exitCode).toBe(2);
      expect(open.stderr).toMatch(
        /other machines could reach 0\.0\.0\.0:0: listen on the loopback.*BB_INVALID_ARGUMENT/s,
      );
    }
  });

  it('answers until it is interrupted, and then ends with success', async () => {
    const { server, ended, url } = await serve();
    onTestFinished(() => void server.kill('SIGKILL'));
    const body = JSON.stringify({ filters: [{ column: 'id0', value: 5 }], operationId: 'x' });
    const answer = await fetch(`${url}/0.1.0/rdrs_bench/table_1/pk-read`, { method: 'POST', body });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ code: 200, operationId: 'x', data: { col0: `0005${'a'.repeat(96)}` } });
    server.kill('SIGINT');
    expect(await ended).toBe(0);
  });

  it('leaves no server when it is killed', async () => {
    const { server, url } = await serve();
    server.kill('SIGKILL');
    await vi.waitFor(() => expect(fetch(url)).rejects.toThrow('fetch failed'), { timeout: 60_000 });
  });
});

/** The command in a process of its own, and the URL that it prints. */
async function serve(): Promise<{ server: ChildProcess; ended: Promise<number | null>; url: string }> {
  const server = spawn(process.execPath, [builtMain, 'serve', '--listen', '127.0.0.1:0'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = new Promise<number | null>((resolve) => {
    server.once('exit', resolve);
  });
  const line = await new Promise<string>((resolve) => {
    server.stdout.once('data', (data: Buffer) => resolve(data.toString()));
  });
  return { server, ended, url: /^listening on (http:\/\/127\.0\.0\.1:\d+)\n$/.exec(line)![1]! };
}
