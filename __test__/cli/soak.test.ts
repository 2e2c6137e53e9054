import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openTarget, type TargetServer } from '../../src/families/requests/target-server.js';
import { builtMain, spawnCli } from './spawn-cli.js';

// Each test starts processes, which take as long as the machine is busy.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const SHORT = ['--duration-secs', '0.3', '--warmup-secs', '0.1', '--workers', '2', '--batch-size', '50'];

const soak = (args: readonly string[]): ReturnType<typeof spawnCli> =>
  spawnCli(['soak', ...args], { cwd: tmpdir(), script: builtMain });

describe('boundary-bench soak', () => {
  let server: TargetServer;

  beforeAll(async () => void (server = await openTarget('ingest', {})));

  afterAll(() => server.close());

  it('prints what it has measured on a private server', async () => {
    const { exitCode, stdout, stderr } = await soak([...SHORT, '--client', 'rust', '--durable']);
    expect(stderr).toBe('');
    expect(exitCode).toBe(0);
    const shape = stdout.replaceAll(/\d[\d.,]*/g, '0').replaceAll(/0 (?:ns|µs|ms|s)\b/g, '0 s');
    expect(shape).toMatchInlineSnapshot(`
      "boundary-bench 0 (private), durable, columnar, rust: 0 workers, 0 points per request
      0 points/s: 0 in 0 s, 0 requests
      latency: p0 0 s, p0 0 s, p0 0 s, p0 0 s, p0 0 s, max 0 s
      the server counts 0 points; 0 were acknowledged
      "
    `);
  });

  it('takes the server from the variables of HyperbyteDB, and prints JSON', async () => {
    process.env['HYPERBYTEDB_URL'] = server.url;
    onTestFinished(() => void delete process.env['HYPERBYTEDB_URL']);
    const { exitCode, stdout } = await soak([...SHORT, '--encoding', 'lines', '--json', '--rate', '50']);
    expect(exitCode).toBe(0);
    const result = JSON.parse(stdout) as Record<string, unknown>;
    expect(result).toMatchObject({ client: 'addon', encoding: 'lines', workers: 2, rate: 50, errors: {} });
    expect(result['count']).toEqual({ outcome: 'right', counted: result['acknowledged'] });
    const refused = await soak([...SHORT, '--durable']);
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toContain('--durable is for a private server');
  });

  it('fails if no request succeeds, and says why once', async () => {
    // A batch of the other tests has more points than this server accepts.
    const strict = await openTarget('ingest', {}, ['--max-points', '10']);
    onTestFinished(() => strict.close());
    for (const client of ['rust', 'addon', 'undici']) {
      const { exitCode, stdout, stderr } = await soak([...SHORT, '--client', client, '--url', strict.url]);
      expect(exitCode).toBe(1);
      expect(stdout).toMatch(/^failed: \d+ × HTTP 413: /m);
      expect(stderr).toMatch(/^[^\n]*no request of the soak succeeded: HTTP 413: [^\n]*\n$/);
    }
  });

  it('sends its key, and says what a server wants that gets none', async () => {
    const key = `${'k'.repeat(16)}.${'s'.repeat(64)}`;
    const guarded = await openTarget('ingest', {}, ['--api-key', key]);
    onTestFinished(() => guarded.close());
    for (const client of ['rust', 'addon', 'undici']) {
      const sent = await soak([...SHORT, '--client', client, '--url', guarded.url, '--api-key', key, '--json']);
      expect(sent.exitCode).toBe(0);
      expect(sent.stderr).toMatch(/^[\d,]+ points stay on the server, in the measurement \w+ of the database \w+\n$/);
      expect(JSON.parse(sent.stdout)).toMatchObject({ errors: {}, count: { outcome: 'right' } });
      expect(sent.stdout).not.toContain(key);
    }
    const refused = await soak([...SHORT, '--url', guarded.url]);
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain('HTTP 401: authorization failed: the header X-API-KEY is missing');
  });

  it('ends at Ctrl-C with what it has measured', async () => {
    const args = ['soak', '--url', server.url, '--database', 'interrupted', '--workers', '2', '--warmup-secs', '0'];
    const child = spawn(process.execPath, [builtMain, ...args, '--duration-secs', '3600'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    const ended = new Promise<number | null>((resolve) => {
      child.once('close', resolve);
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    while (!(await hasPoints(server.url, 'interrupted'))) await delay(50);
    child.kill('SIGINT');
    expect(await ended).toBe(130);
    const [, counted, acknowledged] =
      /the server counts ([\d,]+) points; ([\d,]+) were acknowledged/.exec(stdout) ?? [];
    expect(counted).toBe(acknowledged);
    expect(counted).toMatch(/[1-9]/);
  });
});

async function hasPoints(url: string, database: string): Promise<boolean> {
  const query = new URLSearchParams({ db: database, q: 'SHOW MEASUREMENTS' });
  const answer = await fetch(`${url}/query?${query}`, { method: 'POST' });
  return (await answer.text()).includes('soak_');
}
