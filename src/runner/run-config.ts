import { availableParallelism } from 'node:os';
import { type Check, amount, flag, listOf, mapOf, objectOf, positiveCount, text } from '../records/shape.js';
import { BoundaryError } from '../errors.js';
import { hasHidden, redactUrl } from '../redact-url.js';
import type { Family } from '../families/workload.js';
import { type CellFilters, FILTER_NAMES } from './filters.js';

/** What a user asks of a run; what is absent has a default. */
export interface RunRequest {
  /** Rows of every family; absent: each family's own default. */
  readonly rows?: number | undefined;
  /** Numbers of workers to measure with; default: one, and as many as there are cores. */
  readonly workers?: readonly number[] | undefined;
  /** Take exactly so many samples a cell; absent: at least 5, until they are steady or the time budget is spent. */
  readonly samples?: number | undefined;
  /** Seconds a cell, its warm-up and untimed work included; default 3. The minimum of samples is taken whatever it is. */
  readonly timeBudgetSeconds?: number | undefined;
  /** Engine URIs by engine name. */
  readonly engines?: Readonly<Record<string, string>> | undefined;
  readonly filters?: CellFilters | undefined;
  /** Measure the optional clients, too, where they are installed. */
  readonly peers?: boolean | undefined;
  /** Of request work: numbers of connections, each with one request in flight; absent: each family's own, `all`: its grid. */
  readonly threads?: readonly number[] | 'all' | undefined;
  /** Of request work: operations of one request; absent and `all` as for `threads`. */
  readonly batch?: readonly number[] | 'all' | undefined;
  /** Of request work: the operations of each cell's sample; absent: each family's own. */
  readonly operations?: number | undefined;
  /** Of request work: requests a second of all connections together, sent whether answers come or not; absent: each is sent when the last is answered. */
  readonly rate?: number | undefined;
  /** What families have of their own, by the names of their `defaultSettings`. */
  readonly settings?: Readonly<Record<string, string | number>> | undefined;
}

/** The request with its defaults filled in; it stands in the run's context. */
export interface RunConfig {
  /** Rows by family. */
  readonly rows: Readonly<Record<string, number>>;
  readonly workers: readonly number[];
  readonly samples?: number;
  readonly timeBudgetSeconds: number;
  readonly engines: Readonly<Record<string, string>>;
  readonly filters: CellFilters;
  readonly peers?: boolean;
  readonly threads?: readonly number[] | 'all';
  readonly batch?: readonly number[] | 'all';
  readonly operations?: number;
  readonly rate?: number;
  readonly settings?: Readonly<Record<string, string | number>>;
}

const DEFAULT_TIME_BUDGET_SECONDS = 3;

const gridPart: Check = (value, path) => (value === 'all' ? undefined : listOf(positiveCount, 1)(value, path));

const setting: Check = (value, path) => (typeof value === 'number' ? amount : text)(value, path);

const configShape = objectOf(
  {
    rows: mapOf(positiveCount),
    workers: listOf(positiveCount, 1),
    timeBudgetSeconds: amount,
    engines: mapOf(text),
    filters: objectOf({}, Object.fromEntries(FILTER_NAMES.map((name) => [name, listOf(text)]))),
  },
  {
    samples: positiveCount,
    peers: flag,
    threads: gridPart,
    batch: gridPart,
    operations: positiveCount,
    rate: amount,
    settings: mapOf(setting),
  },
);

/** Fills in the defaults. Throws a `BoundaryError` with the code `BB_INVALID_ARGUMENT` for a number that makes no sense. */
export function configOf(
  request: RunRequest,
  families: readonly Pick<Family, 'name' | 'defaultRows' | 'hasOperations' | 'defaultSettings'>[],
): RunConfig {
  const { threads, batch, operations, rate } = request;
  requireCount('rows', request.rows);
  requireCount('samples', request.samples);
  requireCount('operations', operations);
  for (const workers of request.workers ?? []) requireCount('workers', workers);
  for (const count of listed(threads)) requireCount('threads', count);
  for (const size of listed(batch)) requireCount('batch', size);
  if (rate !== undefined && !(Number.isFinite(rate) && rate > 0)) throw invalid('rate', 'above 0 a second', rate);
  // Those of families that are not in the run change nothing in it.
  const defaults = Object.assign({}, ...families.map(({ defaultSettings }) => defaultSettings)) as NonNullable<
    RunConfig['settings']
  >;
  const settings = Object.keys(defaults).map((name) => [name, request.settings?.[name] ?? defaults[name]!] as const);
  const budget = request.timeBudgetSeconds ?? DEFAULT_TIME_BUDGET_SECONDS;
  if (!Number.isFinite(budget) || budget < 0) throw invalid('the time budget', 'seconds, 0 or more', budget);
  return {
    rows: Object.fromEntries(
      families
        .filter(({ hasOperations }) => hasOperations !== true)
        .map(({ name, defaultRows }) => [name, request.rows ?? defaultRows]),
    ),
    workers: ascending(request.workers?.length ? request.workers : [1, availableParallelism()]),
    ...(request.samples === undefined ? {} : { samples: request.samples }),
    timeBudgetSeconds: budget,
    engines: request.engines ?? {},
    filters: request.filters ?? {},
    ...(request.peers === true ? { peers: true } : {}),
    ...(threads === undefined ? {} : { threads: threads === 'all' ? threads : ascending(threads) }),
    ...(batch === undefined ? {} : { batch: batch === 'all' ? batch : ascending(batch) }),
    ...(operations === undefined ? {} : { operations }),
    ...(rate === undefined ? {} : { rate }),
    ...(settings.length === 0 ? {} : { settings: Object.fromEntries(settings) }),
  };
}

/** The configuration as it is written down: without the secrets of its URLs. */
export function publicConfig(config: RunConfig): RunConfig {
  return { ...config, engines: withoutSecrets(config.engines) };
}

function withoutSecrets(engines: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(engines).map(([name, uri]) => [name, redactUrl(uri)]));
}

function listed(values: readonly number[] | 'all' | undefined): readonly number[] {
  return values === undefined || values === 'all' ? [] : values;
}

/**
 * The request that goes on with a run: what the user leaves out is as the run was started. Throws a `BoundaryError` with
 * the code `BB_RESUME_MISMATCH` where the two disagree, and another where the log's configuration has another
 * shape.
 */
export function resumeRequest(request: RunRequest, logged: Readonly<Record<string, unknown>>): RunRequest {
  configShape(logged, 'the configuration of the run to resume');
  const { rows, ...rest } = logged as unknown as RunConfig;
  const started: RunRequest = { ...rest, rows: singleValueOf(Object.values(rows)) };
  const before = optionsOf(started);
  const given = optionsOf({ ...request, engines: withoutSecrets(request.engines ?? {}) });
  for (const [name, value] of Object.entries(given)) {
    if (isGiven(value) && canonical(value) !== canonical(before[name])) {
      throw new BoundaryError(
        'BB_RESUME_MISMATCH',
        `the run was started with ${name} ${canonical(before[name])}, and can't go on with ${canonical(value)}`,
        { hint: 'Leave the option out to go on as it was started, or start a new run.' },
      );
    }
  }
  // What was written down has no secrets, so whoever goes on gives them again.
  for (const [name, uri] of Object.entries(started.engines ?? {})) {
    if (hasHidden(uri) && request.engines?.[name] === undefined) {
      throw new BoundaryError(
        'BB_RESUME_MISMATCH',
        `the run was started with ${uri}, whose secrets are not written down`,
        {
          hint: `Give the URL of ${name} again.`,
        },
      );
    }
  }
  return { ...started, engines: { ...started.engines, ...request.engines } };
}

/** The one value of several families' rows, if it is one: then it may have been given, and must be given again. */
function singleValueOf(values: readonly number[]): number | undefined {
  return new Set(values).size === 1 ? values[0] : undefined;
}

/** Each option by itself: a user who repeats one filter or setting of a run need not repeat the others. */
function optionsOf({ filters, settings, ...others }: RunRequest): Record<string, unknown> {
  return { ...others, ...filters, ...settings };
}

function isGiven(value: unknown): boolean {
  const isEmptyObject = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
  return value !== undefined && !isEmptyObject;
}

/** The same text for the same values, in whatever order they were given. */
function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_, part: unknown) => {
      if (Array.isArray(part)) return part.toSorted();
      if (typeof part !== 'object' || part === null) return part;
      return Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    }) ?? 'none'
  );
}

function ascending(values: readonly number[]): number[] {
  return [...new Set(values)].toSorted((a, b) => a - b);
}

function requireCount(what: string, value: number | undefined): void {
  if (value !== undefined && (!Number.isSafeInteger(value) || value < 1)) {
    throw invalid(what, 'a whole number of 1 or more', value);
  }
}

function invalid(what: string, expected: string, found: unknown): BoundaryError {
  return new BoundaryError('BB_INVALID_ARGUMENT', `${what} must be ${expected}, not ${String(found)}`);
}
