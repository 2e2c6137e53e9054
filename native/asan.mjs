// Runs tests with addons whose own code AddressSanitizer checks: `npm run test:asan [-- files]`, by default the tests of the
// addons and of the library. Linux only. Node itself is not instrumented: the sanitizer's runtime is preloaded into it, and so
// also sees what other code frees, and copies by the functions of C.
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..');
const place = mkdtempSync(path.join(tmpdir(), 'boundary-bench-asan-'));
process.on('exit', () => rmSync(place, { recursive: true }));
const files = process.argv.slice(2);

function run(program, args, env) {
  const { status, error } = spawnSync(program, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } });
  if (status !== 0) {
    if (error) console.error(error.message);
    process.exit(status ?? 1);
  }
}

const host = /^host: (.*)$/m.exec(execFileSync('rustc', ['-vV'], { encoding: 'utf8' }))[1];
if (!host.endsWith('-linux-gnu'))
  throw new Error(`AddressSanitizer is loaded into Node on Linux alone, not on ${host}`);

/** The sanitizer's runtime of this rustc, made from its static library into a shared one to preload. */
function runtime() {
  const sysroot = execFileSync('rustc', ['--print', 'sysroot'], { encoding: 'utf8' }).trim();
  const libraries = path.join(sysroot, 'lib/rustlib', host, 'lib');
  const given = readdirSync(libraries).find((name) => /^librustc-.*_rt\.asan\.a$/.test(name));
  if (given === undefined)
    throw new Error(`${libraries} has no runtime of AddressSanitizer; rustup's toolchains have it`);
  const [archive, shared] = ['runtime.a', 'runtime.so'].map((name) => path.join(place, name));
  copyFileSync(path.join(libraries, given), archive);
  // Code that runs before a program's start (`.preinit_array`) is allowed in programs only, not in libraries.
  run('ar', ['d', archive, 'asan_preinit.cpp.o']);
  const whole = ['-Wl,--whole-archive', archive, '-Wl,--no-whole-archive'];
  run('cc', ['-shared', '-o', shared, ...whole, '-lstdc++', '-lpthread', '-ldl', '-lm', '-lrt']);
  return shared;
}

run('npm', ['run', 'build:all']);
const preloaded = runtime();
// The options are the same as for `npm run build:all`, so that other people's crates are not built again. The programs are not
// checked: unlike the addons, they would have to be linked with the sanitizer's runtime.
const built = spawnSync(
  'cargo',
  [
    'build',
    '--release',
    '--locked',
    '-p',
    'boundary-bench-addon',
    '-p',
    'boundary-bench-crossing',
    '-p',
    'boundary-bench-suite',
    '-p',
    'boundary-bench-server',
    '--no-default-features',
    '--features',
    'boundary-bench-addon/all,boundary-bench-suite/all,boundary-bench-crossing/all',
    '--lib',
    '--target',
    host,
    '--message-format=json-render-diagnostics',
  ],
  {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, RUSTC_WORKSPACE_WRAPPER: path.join(import.meta.dirname, 'asan.sh') },
  },
);
if (built.status !== 0) process.exit(built.status ?? 1);
const artifacts = built.stdout
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line))
  .filter(({ reason }) => reason === 'compiler-artifact');
const [addon, crossing] = [
  ['boundary_bench_addon', 'boundary-bench.node'],
  ['boundary_bench_crossing', 'boundary-bench-crossing.node'],
].map(([library, name]) => {
  const copy = path.join(place, name);
  copyFileSync(artifacts.find(({ target }) => target.name === library).filenames[0], copy);
  return copy;
});
const servers = readdirSync(root).find((name) => /^boundary-bench-server\.[^.]+$/.test(name));
copyFileSync(path.join(root, servers), path.join(place, 'boundary-bench-server'));

const tests = files.length > 0 ? files : ['__test__/addon', '__test__/library'];
run(
  'node',
  ['node_modules/vitest/vitest.mjs', 'run', '--pool=forks', '--maxWorkers=2', '--testTimeout=300000', ...tests],
  {
    BOUNDARY_BENCH_ADDON: addon,
    BOUNDARY_BENCH_CROSSING: crossing,
    LD_PRELOAD: preloaded,
    // Leaks are not reported: Node frees little of its memory when it ends. A report ends the process, so that the test
    // fails. The quarantine of freed memory is small, so that tests which measure memory pass.
    ASAN_OPTIONS: [
      'detect_leaks=0',
      'abort_on_error=0',
      'exitcode=99',
      'quarantine_size_mb=8',
      'thread_local_quarantine_size_kb=64',
      process.env.ASAN_OPTIONS ?? '',
    ].join(':'),
  },
);
