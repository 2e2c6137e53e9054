import type { Command } from 'commander';
import { completedOf } from '../compare/cell-groups.js';
import { hardwareDifferences } from '../compare/hardware.js';
import { BoundaryError } from '../errors.js';
import { kinds, parseBytes, parseRows, parseSize } from '../families/option-values.js';
import { hostContext } from '../host/machine.js';
import { findModelRun } from '../host/model-run.js';
import { timesAtSize } from '../model/at-size.js';
import { type Question, forecastOf } from '../model/forecast.js';
import { loadOfBytes, loadOfRows, loadOfText } from '../model/predict.js';
import type { Load } from '../model/pieces.js';
import type { CostModel, Crossing, Run } from '../records/record.js';
import { readRun } from '../records/run-file.js';
import { renderTimesAtSize } from '../report/at-size-report.js';
import { renderForecast } from '../report/forecast-report.js';
import { valuesNamedBy } from '../runner/filters.js';
import { parserOf } from './matrix-options.js';
import { print, terminalOf } from './terminal.js';

interface PredictOptions {
  readonly size?: number;
  readonly rows?: number;
  readonly columns?: string;
  readonly bytes?: number;
  readonly text?: number;
  readonly callsPerSecond?: number;
  readonly direction?: Crossing['direction'];
  readonly lane?: readonly string[];
  readonly jsWork?: number;
  readonly nativeWork?: number;
  readonly run?: string;
  readonly json?: boolean;
}

const HELP = `
Ask before you write native code: what will it cost to carry the data across, by each way of doing so?

  --rows 1000 --columns id:int,name:text~12,score:double
                  a thousand rows per call, each of an int, a text of 12 characters on average, and a double
  --bytes 64K     an array of bytes
  --text 500      one string
  --size 300      your own workloads with several sizes, at a size between them; --run names the run

The answer comes from the cost model of a run: a line through measured ladders of sizes, with its intervals and residuals. It
says "can't tell" if the size is beyond the ladder, or the interval is wide. It is the cost of crossing alone. To find out from
which size native code pays, give --js-work and --native-work, the times of your own work per row (for bytes or a text: in all).

Without --run, the model comes from the newest committed run of the family boundary on this kind of host, or else from the newest
run in results/runs. To measure this machine:

  npx boundary-bench run --family boundary --workload 'bytes_*,text_*,rows_*' --out results/runs/model
  npx boundary-bench predict --run results/runs/model/run.json --bytes 64K

Exit code: 0 with an answer, 2 for an invalid question, or if no run has a model.

Examples:
  npx boundary-bench predict --rows 1000 --columns id:int,name:text~12,score:double --calls-per-second 2000
  npx boundary-bench predict --rows 100 --columns a:double,b:double --direction in --lane objects,columns
  npx boundary-bench predict --rows 1 --columns id:int,total:double --js-work 2us --native-work 100ns
  npx boundary-bench predict --bytes 4096 --json
  npx boundary-bench predict --run results/runs/own/run.json --size 300`;

export function addPredictCommand(program: Command): void {
  program
    .command('predict')
    .summary('what crossing will cost, by the cost model of a run')
    .description('Predicts what it costs to carry rows, bytes or a text across the boundary, by each way and side.')
    .option('--size <n>', 'instead of rows: the size of the input of your own workloads', parserOf(parseSize))
    .option('--rows <n>', 'rows per call', parserOf(parseRows))
    .option('--columns <list>', 'their columns, as name:type; types: int, double, text~N')
    .option('--bytes <n>', 'instead of rows: an array of this many bytes', parserOf(parseBytes))
    .option('--text <n>', 'instead of rows: a text of this many one-byte characters', parserOf(parseSize))
    .option('--calls-per-second <n>', 'also say how much of a core the calls take', parserOf(kinds.rate.parse))
    .option('--direction <in|out>', 'only into the other side, or only out of it', parserOf(parseDirection))
    .option('--lane <list>', 'only these ways, e.g. objects,columns', parserOf(kinds.words.parse))
    .option('--js-work <time>', 'the time of your work on a row in JavaScript, e.g. 500ns or 2us', parserOf(parseTime))
    .option('--native-work <time>', 'the same in native code', parserOf(parseTime))
    .option('--run <file>', 'the run.json whose model to use')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async (options: PredictOptions) => {
      if (options.size !== undefined) return predictAtSize(options.size, options);
      const load = loadOf(options);
      const { path, run, model } = await findModelRun(options.run);
      const question = questionOf(load, options, model);
      const forecast = forecastOf(model, question);
      const { host, startedAt } = run.context;
      const origin = await originOf('the model of', path, run);
      const found = { run: path, startedAt, host, load, ...forecast };
      print(options.json, found, () => renderForecast(question, forecast, origin, terminalOf(process.stdout)));
    });
}

/** The flag of an option, such as `--calls-per-second`. */
function flagOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

async function predictAtSize(size: number, { run: path, json, ...others }: PredictOptions): Promise<void> {
  const [other] = Object.keys(others).filter((name) => name !== 'size');
  if (other !== undefined)
    throw new BoundaryError('BB_USAGE', `--size goes with --run and --json alone, not with ${flagOf(other)}`);
  if (path === undefined) {
    throw new BoundaryError('BB_USAGE', '--size needs --run: the run.json of your own workloads');
  }
  const run = await readRun(path);
  const times = timesAtSize(completedOf(run.records), size);
  if (times.length === 0) {
    throw new BoundaryError('BB_MODEL_MISSING', `${path} has no workload that was measured at several sizes`, {
      hint: 'Give your workload sizes: [4, 16, 64], and measure it again.',
    });
  }
  const { host, startedAt } = run.context;
  const found = {
    run: path,
    startedAt,
    host,
    size,
    times: times.map(({ record, ...time }) => ({ id: record.id, ...time })),
  };
  const origin = await originOf('the measurements of', path, run);
  print(json, found, () => renderTimesAtSize(size, times, origin, terminalOf(process.stdout)));
}

/** The sentences about the run: which it is, where it was measured, and how that machine differs from this one. */
async function originOf(what: string, path: string, { context }: Run): Promise<string[]> {
  const { host, startedAt, versions } = context;
  const differences = hardwareDifferences(host, await hostContext());
  return [
    `By ${what} ${path}, measured ${startedAt.slice(0, 10)} on ${host.cpu} (${host.logicalCores} logical ` +
      `cores, ${host.os}) with Node.js ${versions['node'] ?? 'unknown'}.`,
    ...(differences.length === 0 ? [] : [`This machine is another, so times will differ: ${differences.join('; ')}.`]),
  ];
}

function loadOf({ rows, columns, bytes, text }: PredictOptions): Load {
  const given = [rows, bytes, text].filter((size) => size !== undefined);
  if (given.length !== 1) {
    throw new BoundaryError('BB_USAGE', 'one of --rows, --bytes and --text says what crosses', {
      hint: 'For example: npx boundary-bench predict --rows 1000 --columns id:int,name:text~12',
    });
  }
  if (rows === undefined) {
    if (columns !== undefined) throw new BoundaryError('BB_USAGE', '--columns is for --rows');
    return bytes === undefined ? loadOfText(text!) : loadOfBytes(bytes);
  }
  if (columns === undefined) {
    throw new BoundaryError('BB_USAGE', '--rows needs --columns', {
      hint: 'For example: --columns id:int,name:text~12',
    });
  }
  return loadOfRows(rows, columns);
}

function questionOf(load: Load, options: PredictOptions, model: CostModel): Question {
  const { direction, lane, callsPerSecond, jsWork, nativeWork } = options;
  const lanes = model.mechanisms.filter(({ what }) => what === load.what).map((mechanism) => mechanism.lane);
  if (lanes.length === 0) {
    throw new BoundaryError('BB_MODEL_MISSING', `the run's model has no costs of ${load.what}`, {
      hint: `Measure them: npx boundary-bench run --family boundary --workload '${load.what}_*'`,
    });
  }
  return {
    load,
    directions: direction === undefined ? ['in', 'out'] : [direction],
    ...(lane === undefined ? {} : { lanes: valuesNamedBy(lane, lanes, 'lane') }),
    ...(callsPerSecond === undefined ? {} : { callsPerSecond }),
    ...(jsWork === undefined ? {} : { jsWork }),
    ...(nativeWork === undefined ? {} : { nativeWork }),
  };
}

function parseDirection(text: string): Crossing['direction'] {
  if (text !== 'in' && text !== 'out') throw new BoundaryError('BB_USAGE', 'It must be in or out.');
  return text;
}

/** The seconds of each unit of time. */
const UNITS: Readonly<Record<string, number>> = { ns: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1 };

function parseTime(text: string): number {
  const [, digits, unit] = /^(\d*\.?\d+)(ns|us|µs|ms|s)$/.exec(text) ?? [];
  if (unit === undefined) throw new BoundaryError('BB_USAGE', 'It must be a time, such as 500ns, 2us or 0.1ms.');
  return Number(digits) * UNITS[unit]!;
}
