// Looks for inputs that break a harness of native/fuzz: `npm run fuzz -- [--seconds N] [--keep] [NAME ...]`. Each harness runs for
// a minute by default. Begins with the kept inputs. With --keep, adds the new inputs that reach more of the code. An input that
// breaks a harness is kept in any case, as a regression test.
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

const here = import.meta.dirname;
const folder = path.join(here, 'fuzz');
const corpus = path.join(folder, 'corpus');

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: 'string', default: '60' }, keep: { type: 'boolean', default: false } },
});
const seconds = Number(values.seconds);
if (!Number.isInteger(seconds) || seconds < 1) throw new Error('--seconds takes a whole number from 1 on');
const known = readdirSync(corpus).toSorted();
const unknown = positionals.filter((name) => !known.includes(name));
if (unknown.length > 0) throw new Error(`no harness ${unknown.join(', ')}; there are ${known.join(', ')}`);

/** Builds with cargo, and returns its JSON messages. */
function cargo(args, options) {
  const { status, stdout } = spawnSync(
    'cargo',
    [...args, '--release', '--locked', '--message-format=json-render-diagnostics'],
    {
      encoding: 'utf8',
      maxBuffer: 1 << 28,
      stdio: ['ignore', 'pipe', 'inherit'],
      ...options,
    },
  );
  if (status !== 0) process.exit(status ?? 1);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

const engine = cargo(['build'], { cwd: path.join(folder, 'libfuzzer') }).find(
  ({ reason, package_id: id }) => reason === 'build-script-executed' && id.includes('libfuzzer-sys'),
);
const host = /^host: (.*)$/m.exec(execFileSync('rustc', ['-vV'], { encoding: 'utf8' }))[1];
// The target and the features are the same as in the addon's build, so that other people's crates are not built again.
const program = cargo(
  ['build', '--target', host, '-p', 'boundary-bench-addon', '-p', 'boundary-bench-fuzz'].concat([
    '--bin',
    'boundary-bench-fuzz',
    '--features',
    'boundary-bench-fuzz/libfuzzer',
  ]),
  {
    cwd: path.join(here, '..'),
    env: { ...process.env, LIBFUZZER_DIR: engine.out_dir, RUSTC_WORKSPACE_WRAPPER: path.join(folder, 'instrument.sh') },
  },
).find(({ executable }) => executable !== undefined && executable !== null).executable;

/** Runs libFuzzer with a harness, and returns its exit status and its output. */
function run(name, args) {
  const { status, stderr } = spawnSync(program, ['-rss_limit_mb=2048', '-timeout=10', '-verbosity=1', ...args], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    env: { ...process.env, BOUNDARY_BENCH_HARNESS: name },
  });
  return { status, said: stderr };
}

/**
 * The inputs of `fresh` that reach at least three places of the code that neither the inputs in `kept` nor shorter ones reach.
 */
function reachingMore(name, kept, fresh, longest, work) {
  const [before, control] = ['before', 'control'].map((part) => path.join(work, part));
  // libFuzzer adds to its first folder every input that differs in how often it reaches a place.
  cpSync(kept, before, { recursive: true });
  run(name, ['-merge=1', `-max_len=${longest}`, `-merge_control_file=${control}`, before, fresh]);
  // The control file holds the number of inputs, the number of inputs in the first folder, and their paths. Then follow lines
  // such as `COV 7 31 32`: the places in the code that no input before input 7 had reached.
  const [all, , ...lines] = readFileSync(control, 'utf8').split('\n');
  const inputs = lines.slice(0, Number(all));
  const more = lines.map((line) => /^COV (\d+)(?: \d+){3}/.exec(line)?.[1]).filter((index) => index !== undefined);
  return more.map((index) => inputs[Number(index)]).filter((input) => input.startsWith(fresh));
}

const found = [];
for (const name of positionals.length > 0 ? positionals : known) {
  const kept = path.join(corpus, name);
  const work = mkdtempSync(path.join(tmpdir(), 'boundary-bench-fuzz-'));
  const fresh = path.join(work, 'fresh');
  mkdirSync(fresh);
  const longest = Math.max(4096, ...readdirSync(kept).map((file) => readFileSync(path.join(kept, file)).length));
  const limits = [`-max_total_time=${seconds}`, `-max_len=${longest}`, '-use_value_profile=1'];
  const { status, said } = run(name, [...limits, '-print_final_stats=1', `-artifact_prefix=${kept}/`, fresh, kept]);
  const inputs = Number(/stat::number_of_executed_units: (\d+)/.exec(said)?.[1] ?? NaN);
  const reached = [...said.matchAll(/ cov: (\d+)/g)].at(-1)?.[1];
  console.log(`${name}: ${inputs} inputs, ${reached} edges reached${status === 0 ? '' : `, status ${status}`}`);
  if (status !== 0) {
    found.push(name);
    console.log(
      said
        .split('\n')
        .filter((line) => !/^#\d+\s+(NEW|REDUCE|pulse)/.test(line))
        .slice(-60)
        .join('\n'),
    );
  } else if (values.keep) {
    for (const input of reachingMore(name, kept, fresh, longest, work)) {
      copyFileSync(input, path.join(kept, path.basename(input)));
    }
  }
  rmSync(work, { recursive: true });
}
if (found.length > 0) {
  console.log(
    `Broken: ${found.join(', ')}; the inputs are beside those kept in ${path.relative(process.cwd(), corpus)}`,
  );
  process.exit(1);
}
