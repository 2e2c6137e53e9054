import type { Command } from 'commander';
import { hardwareDifferences } from '../compare/hardware.js';
import { BoundaryError } from '../errors.js';
import { kinds, parseRows, parseSize } from '../families/option-values.js';
import { hostContext } from '../host/machine.js';
import { findModelRun } from '../host/model-run.js';
import { type Question, forecastOf } from '../model/forecast.js';
import { loadOfBytes, loadOfRows, loadOfText } from '../model/load.js';
import type { Load } from '../model/pieces.js';
import type { CostModel, Crossing, Run } from '../records/record.js';
import { renderForecast } from '../report/forecast-report.js';
import { valuesNamedBy } from '../runner/filters.js';
import { parserOf } from './flags.js';
import { print } from './print.js';

interface PredictOptions {
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
                  a thousand rows a call, each of an int, a text of 12 characters in the mean, and a double
  --bytes 64K     an array of bytes
  --text 500      one string

The answer is that of the cost model of a run: a line through measured ladders of sizes, whose intervals and residuals it
takes into account. It says "can't tell" where the ladder ends, or the interval is wide. It is the cost of crossing alone:
what native code saves is yours to say, by --js-work and --native-work, the times of your work on a row (of bytes or a text: on the whole).

Without --run, the model is that of the newest committed run of the family boundary on this kind of host, or else of the newest
run in results/runs. To measure this machine:

  boundary-bench run --family boundary --workload 'bytes_*,text_*,rows_*' --out results/runs/model
  boundary-bench predict --run results/runs/model/run.json --bytes 64K

Exit code: 0 with an answer, 2 for a question that makes no sense, or where no run has a model.

Examples:
  boundary-bench predict --rows 1000 --columns id:int,name:text~12,score:double --calls-per-second 2000
  boundary-bench predict --rows 100 --columns a:double,b:double --direction in --lane objects,columns
  boundary-bench predict --rows 1 --columns id:int,total:double --js-work 2us --native-work 100ns
  boundary-bench predict --bytes 4096 --json`;

export function addPredictCommand(program: Command): void {
  program
    .command('predict')
    .summary('what crossing will cost, by the cost model of a run')
    .description('Predicts what it costs to carry rows, bytes or a text across the boundary, by each way and side.')
    .option('--rows <n>', 'rows of a call', parserOf(parseRows))
    .option('--columns <list>', 'their columns, as name:type; types: int, double, text~N')
    .option('--bytes <n>', 'in place of rows: an array of so many bytes', parserOf(parseSize))
    .option('--text <n>', 'in place of rows: a text of so many characters of one byte', parserOf(parseSize))
    .option('--calls-per-second <n>', 'also say how much of a core the calls take', parserOf(kinds.rate.parse))
    .option('--direction <in|out>', 'only into the other side, or only out of it', parserOf(parseDirection))
    .option('--lane <list>', 'only these ways, e.g. objects,columns', parserOf(kinds.words.parse))
    .option('--js-work <time>', 'the time of your work on a row in JavaScript, e.g. 500ns or 2us', parserOf(parseTime))
    .option('--native-work <time>', 'the same in native code', parserOf(parseTime))
    .option('--run <file>', 'the run.json whose model to use')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async (options: PredictOptions) => {
      const load = loadOf(options);
      const { path, run, model } = await findModelRun(options.run);
      const question = questionOf(load, options, model);
      const forecast = forecastOf(model, question);
      const { host, startedAt } = run.context;
      const origin = await originOf(path, run);
      const found = { run: path, startedAt, host, load, ...forecast };
      print(options.json, found, () => renderForecast(question, forecast, origin));
    });
}

/** The sentences about the run: which it is, where it was measured, and how that differs from here. */
async function originOf(path: string, { context }: Run): Promise<string[]> {
  const { host, startedAt, versions } = context;
  const differences = hardwareDifferences(host, await hostContext());
  return [
    `By the model of ${path}, measured ${startedAt.slice(0, 10)} on ${host.cpu} (${host.logicalCores} logical cores, ${host.os}) with Node.js ${versions['node'] ?? 'unknown'}.`,
    ...(differences.length === 0 ? [] : [`This machine is another, so times will differ: ${differences.join('; ')}.`]),
  ];
}

function loadOf({ rows, columns, bytes, text }: PredictOptions): Load {
  const given = [rows, bytes, text].filter((size) => size !== undefined);
  if (given.length !== 1) {
    throw new BoundaryError('BB_USAGE', 'one of --rows, --bytes and --text says what crosses', {
      hint: 'For example: boundary-bench predict --rows 1000 --columns id:int,name:text~12',
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
      hint: `Measure them: boundary-bench run --family boundary --workload '${load.what}_*'`,
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
