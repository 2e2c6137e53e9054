import { checkBy } from '../records/shape.js';
import type { RunContext } from '../records/record.js';
import { BoundaryError } from '../errors.js';
import { hasHidden, redactUrl } from '../redact-url.js';
import type { GivenValues, Option, OptionTable } from '../families/option.js';
import { checkValue, flatten, nest, option, partsOf } from '../families/option.js';
import { count, counts, flag, fraction, rows, seconds, uris, words } from '../families/option-values.js';
import type { FamilyValues } from '../families/registry.js';
import type { Family } from '../families/workload.js';
import { DEFAULT_MARGIN } from '../stats/ratio-interval.js';
import type { CellFilters } from './filters.js';
import { LOOKS } from '../stats/looks.js';
import { SLOW_SECONDS } from './sampling.js';

const URIS = { redact: redactUrl };
const SAMPLES = { otherwise: '3 to 10, by the time budget' };
const ABOUT_ALL = 'every engine and every lane, and several workers everywhere';
const ABOUT_PEERS =
  'also clients that one could pick instead, if they are installed: hyperdb-api-node for hyper, valkey-glide for kv';

const CELL_OPTIONS = {
  rows: option('--rows <n>', rows, 'the same as an option'),
  workers: option('--workers <list>', counts, 'numbers of workers, e.g. 1,4', {
    otherwise: '1, with --all also the number of cores',
  }),
  engines: option(
    '--engine-uri <name=uri>',
    uris,
    'connect engine <name> to this URI instead of a private one (repeatable)',
    URIS,
  ),
  quick: option('--quick', flag, 'a rough first look: few cells, in short processes'),
  all: option('--all', flag, ABOUT_ALL),
  peers: option('--peers', flag, ABOUT_PEERS),
  runtimes: option(
    '--runtime <list>',
    words,
    'measure the Node sides also on these: node@22,bun,deno as `setup runtime` installs them, or paths',
  ),
} satisfies OptionTable;

/** The options of any run that say which cells it has. */
export const MATRIX_OPTIONS: OptionTable = {
  ...CELL_OPTIONS,
  'filters.family': option('--family <list>', words, 'only these, e.g. measurements,kv,sql'),
  'filters.workload': option('--workload <list>', words, 'only these, e.g. query.*'),
  'filters.lane': option('--lane <list>', words, 'only these, e.g. staged-row,columns'),
  'filters.side': option(
    '--side <list>',
    words,
    'only these: rust (Rust alone), napi (Node through the addon), js (Node with another client from npm)',
  ),
  'filters.engine': option('--engine <list>', words, 'only these, e.g. embedded'),
  'filters.transport': option('--transport <list>', words, 'only these, e.g. tcp,ipc,grpc-*'),
};

/** The options of any run that say how its cells are measured. */
export const SAMPLING_OPTIONS = {
  aa: option('--aa', flag, 'measure each cell as two, to see how often equal cells look different'),
  forks: option('--forks <n>', count, 'the number of processes per cell', {
    otherwise: `as many as decide its comparisons: ${LOOKS.slice(0, -1).join(', ')} or ${LOOKS.at(-1)}`,
  }),
  slowForks: option(
    '--slow-forks <n>',
    count,
    `with --forks, the most processes for cells whose samples last ${SLOW_SECONDS} seconds or longer`,
    { default: 3 },
  ),
  decideSeconds: option(
    '--decide-within <seconds>',
    seconds,
    'without --forks, the time of the run until which inconclusive comparisons get more processes',
    { default: 480, quickly: 30, otherwise: '480, with --quick 30', calledAs: 'the time to decide' },
  ),
  samples: option('--samples <n>', count, 'the exact number of samples per process', SAMPLES),
  timeBudgetSeconds: option(
    '--time-budget <seconds>',
    seconds,
    'time for the samples of a process, without --samples; 0 only shows that cells work, each sample one execution',
    {
      default: 0.3,
      quickly: 0.05,
      otherwise: '0.3, with --quick 0.05',
      calledAs: 'the time budget',
    },
  ),
  timeoutSeconds: option('--timeout <seconds>', seconds, 'time for a whole process, after which the cell has failed', {
    default: 600,
    calledAs: 'the timeout',
  }),
  profile: option('--profile', flag, 'after the measurement, write a flame graph and a CPU profile of each cell'),
  leaveGarbage: option('--leave-garbage', flag, 'leave garbage to V8, instead of collecting it between samples'),
  margin: option('--margin <part>', fraction, 'the difference up to which two cells are equivalent', {
    default: DEFAULT_MARGIN,
  }),
} satisfies OptionTable;

type RunValues = GivenValues<typeof CELL_OPTIONS & typeof SAMPLING_OPTIONS> & FamilyValues;

/** A user's request for a run. Absent fields have a default. */
export interface RunRequest extends RunValues {
  /** Engine URIs by engine name. The URL of a server is the URI of the engine of its name, such as `redis`. */
  readonly engines?: Readonly<Record<string, string>> | undefined;
  /** The keys that requests carry, by the names `rest`, `ingest` and `shards`. They are hidden in the result files. */
  readonly apiKeys?: Readonly<Record<string, string>> | undefined;
  readonly filters?: CellFilters | undefined;
  /** Values of options that hold if the request leaves them out. Options of families that are not measured are ignored. */
  readonly fallbacks?: Omit<RunRequest, 'fallbacks'> | undefined;
}

/** The request with its defaults filled in. It stands in the run's context. */
export interface RunConfig
  extends Omit<RunRequest, 'rows' | 'fallbacks' | Settled>, Required<Pick<RunRequest, Settled>> {
  /** Rows by family. */
  readonly rows: Readonly<Record<string, number>>;
}

type Settled =
  | 'decideSeconds'
  | 'slowForks'
  | 'timeBudgetSeconds'
  | 'timeoutSeconds'
  | 'margin'
  | 'engines'
  | 'filters';

/** All options that mean something to a run over these families. */
export function knownOptions(families: readonly Family[]): OptionTable {
  return Object.assign({}, MATRIX_OPTIONS, SAMPLING_OPTIONS, ...families.map(({ options }) => options)) as OptionTable;
}

/** The option that a value is of: its own one, or the one of the map that it is in. */
function optionOf(known: OptionTable, name: string): Option | undefined {
  return known[name] ?? known[partsOf(name).map ?? name];
}

/**
 * Fills in the defaults and fallbacks of the families that are measured. `known` are the options of all families. Throws a
 * `BoundaryError` for a value that makes no sense.
 */
export function configOf(request: RunRequest, families: readonly Family[], known: OptionTable): RunConfig {
  const own = knownOptions(families);
  const defaults = Object.entries(own).map(([name, { default: usual, quickly = usual }]) => {
    return [name, request.quick === true ? quickly : usual] as const;
  });
  const fallbacks = entriesOf(request.fallbacks, (name) => own[name] !== undefined);
  const given = entriesOf(request, (name) => optionOf(known, name) !== undefined);
  const values = flatten(Object.fromEntries([...defaults, ...fallbacks, ...given]));
  for (const [name, value] of Object.entries(values)) {
    const declared = optionOf(known, name);
    if (declared !== undefined) checkValue(name, declared, value);
    const isNumbers = Array.isArray(value) && typeof value[0] === 'number';
    if (isNumbers) values[name] = [...new Set<number>(value)].toSorted((a, b) => a - b);
  }
  const { rows, ...others } = values;
  return {
    ...({ engines: {}, filters: {}, ...nest(others) } as unknown as RunConfig),
    rows: Object.fromEntries(
      families
        .filter(({ hasOperations }) => hasOperations !== true)
        .map(({ name, defaultRows, quickRows = defaultRows }) => [
          name,
          (rows as number | undefined) ?? (request.quick === true ? quickRows : defaultRows),
        ]),
    ),
  };
}

/** The configuration as it is written down: without the secrets of its URLs, and without keys. */
export function publicConfig(config: object, known: OptionTable): Record<string, unknown> {
  const values = Object.entries(flatten(config)).map(([name, value]) => {
    const redact = known[name]?.redact ?? known[partsOf(name).map ?? name]?.redact;
    return [name, redact === undefined ? value : redact(String(value))] as const;
  });
  return { ...config, ...nest(Object.fromEntries(values)) };
}

/** The check of a logged configuration: options may be absent, but the rows of the families may not. */
const checkLogged = checkBy({
  type: 'object',
  required: ['rows'],
  properties: { rows: { type: 'object', additionalProperties: { type: 'integer', minimum: 1 } } },
});

/**
 * The request that resumes a run: options that the user leaves out are as at its start. Throws a `BoundaryError` with the code
 * `BB_RESUME_MISMATCH` if the two disagree, and with another code if the log's configuration has another shape.
 */
export function resumeRequest(request: RunRequest, logged: RunContext['config'], known: OptionTable): RunRequest {
  const path = 'the configuration of the run to resume';
  checkLogged(logged, path);
  const { rows, ...rest } = logged as unknown as RunConfig;
  const before = flatten({ ...rest, rows: singleValueOf(Object.values(rows)) });
  for (const [name, value] of Object.entries(before)) {
    const declared = optionOf(known, name);
    if (declared === undefined) continue;
    checkValue(name, declared, value, (expected, found) => {
      throw new BoundaryError('BB_RESULT_FILE_SHAPE', `${path}.${name} must be ${expected}, but is ${String(found)}`);
    });
  }
  const fallbacks = entriesOf(request.fallbacks, (name) => before[name] !== undefined);
  const given = Object.fromEntries([
    ...fallbacks,
    ...entriesOf(request, (name) => optionOf(known, name) !== undefined),
  ]);
  for (const [name, value] of Object.entries(flatten(publicConfig(nest(given), known)))) {
    const [asked, started] = [canonical(value), canonical(before[name])];
    const what = `${partsOf(name).key} ${started}, and can't go on with ${asked}`;
    if (asked !== started) throw mismatch(what, 'Leave the option out to go on as it was started, or start a new run.');
  }
  // Secrets are not written down, so the user who resumes gives them again.
  for (const [name, value] of Object.entries(before)) {
    if (typeof value !== 'string' || !hasHidden(value) || given[name] !== undefined) continue;
    const { map, key } = partsOf(name);
    const hint = `Give the ${map === 'apiKeys' ? 'key' : 'URL'} of ${key} again.`;
    throw mismatch(`${value}, whose secrets are not written down`, hint);
  }
  return nest({ ...before, ...given });
}

function mismatch(what: string, hint: string): BoundaryError {
  return new BoundaryError('BB_RESUME_MISMATCH', `the run was started with ${what}`, { hint });
}

function entriesOf(values: object | undefined, isMeant: (name: string) => boolean): [string, unknown][] {
  return Object.entries(flatten(values ?? {})).filter(([name]) => isMeant(name));
}

/** The rows of several families if they are equal, since the user may then have given them, and must give the same again. */
function singleValueOf(values: readonly number[]): number | undefined {
  return new Set(values).size === 1 ? values[0] : undefined;
}

/** The same text for the same values, in any order. */
function canonical(value: unknown): string {
  return JSON.stringify(Array.isArray(value) ? value.toSorted() : value) ?? 'none';
}
