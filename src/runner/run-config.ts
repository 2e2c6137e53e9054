import { availableParallelism } from 'node:os';
import { type Check, amount, flag, listOf, mapOf, objectOf, positiveCount, text } from '../records/shape.js';
import { BoundaryError } from '../errors.js';
import { hasHidden, redactUrl } from '../redact-url.js';
import type { Family } from '../families/workload.js';
import { type CellFilters, FILTER_NAMES } from './filters.js';

/** A user's request for a run; absent fields have defaults. */
export interface RunRequest {
  /** The rows of every family; absent: each family's own default. */
  readonly rows?: number | undefined;
  /** The numbers of workers to measure with. Default: one, and the number of cores. */
  readonly workers?: readonly number[] | undefined;
  /** The exact number of samples per cell; absent: at least 5, until they are steady or the time budget is spent. */
  readonly samples?: number | undefined;
  /**
   * The seconds per cell, including warm-up and untimed work. Default: 3. The minimum number of samples is taken in any case.
   */
  readonly timeBudgetSeconds?: number | undefined;
  /** Engine URIs by engine name. */
  readonly engines?: Readonly<Record<string, string>> | undefined;
  readonly filters?: CellFilters | undefined;
  /** Whether to measure the optional clients, too, if they are installed. */
  readonly peers?: boolean | undefined;
  /**
   * For request work: the numbers of connections, each with one request in flight; absent: each family's own, `all`: its grid.
   */
  readonly threads?: readonly number[] | 'all' | undefined;
  /** For request work: the numbers of operations per request; absent and `all` as for `threads`. */
  readonly batch?: readonly number[] | 'all' | undefined;
  /** For request work: the operations of each cell's sample; absent: each family's own. */
  readonly operations?: number | undefined;
  /**
   * For request work: the requests per second of all connections together, sent without waiting for responses; absent: each
   * request is sent after the previous response.
   */
  readonly rate?: number | undefined;
  /** The families' own settings, by the names of their `defaultSettings`. */
  readonly settings?: Readonly<Record<string, string | number>> | undefined;
}

/** The request with its defaults filled in; part of the run's context. */
export interface RunConfig {
  /** The rows of each family, by its name. */
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

/** Fills in the defaults. Throws a `BoundaryError` with the code `BB_INVALID_ARGUMENT` for an invalid number. */
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
  // The settings of families that are not in the run do not affect it.
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

/** The configuration for result files: without the secrets of its URLs. */
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
 * The request that resumes a run: options that the user leaves out are as at its start. Throws a `BoundaryError` with the code
 * `BB_RESUME_MISMATCH` if the two disagree, and with another code if the log's configuration has another shape.
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
  // The recorded URLs have no secrets, so the user must give them again.
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

/** The rows of several families if they are equal, since the user may then have given them, and must give the same again. */
function singleValueOf(values: readonly number[]): number | undefined {
  return new Set(values).size === 1 ? values[0] : undefined;
}

/** The options one by one: a user who repeats one filter or setting of a run need not repeat the others. */
function optionsOf({ filters, settings, ...others }: RunRequest): Record<string, unknown> {
  return { ...others, ...filters, ...settings };
}

function isGiven(value: unknown): boolean {
  const isEmptyObject = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
  return value !== undefined && !isEmptyObject;
}

/** A canonical text of a value, which does not depend on the order in which its parts were given. */
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
