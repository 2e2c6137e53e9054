/**
 * Run files of schema version 3, whose records called the connections of requests `threads`, and counted operations and calls as `rows`.
 */
type Fields = Readonly<Record<string, unknown>>;

/** A parsed run file of version 3, in the shape of version 4. Values that are no objects are kept, for the check to find. */
export function fromVersion3(run: Fields): Fields {
  const { context, records, comparisons } = run;
  return {
    ...run,
    schemaVersion: 4,
    ...(isObject(context) && { context: withConnections(context) }),
    ...(Array.isArray(records) && { records: records.map((record) => (isObject(record) ? recordOf(record) : record)) }),
    ...(Array.isArray(comparisons) && {
      comparisons: comparisons.map((each) => (isObject(each) ? comparisonOf(each) : each)),
    }),
  };
}

function withConnections(context: Fields): Fields {
  return isObject(context['config'])
    ? { ...context, config: renamed(context['config'], 'threads', 'connections') }
    : context;
}

function recordOf(record: Fields): Fields {
  const { id, threads, requests, calls, rows, summary } = record;
  // Work on all rows, in one request, counts rows.
  const isOperations = threads !== undefined && requests === undefined;
  const named = { ...renamed(record, 'threads', 'connections'), id: idOf(id) };
  if (isOperations) {
    return {
      ...renamed(named, 'rows', 'operations'),
      ...(isObject(summary) && { summary: renamed(summary, 'rowsPerSecond', 'operationsPerSecond') }),
    };
  }
  if (calls === undefined) return named;
  // A user's own function counted its items as rows.
  return calls === rows ? without(named, 'rows') : renamed(named, 'rows', 'items');
}

function comparisonOf(comparison: Fields): Fields {
  const { numerator, denominator } = comparison;
  return {
    ...renamed(comparison, 'threads', 'connections'),
    numerator: idOf(numerator),
    denominator: idOf(denominator),
  };
}

/** An id, whose part `t32` names 32 connections as `c32`. */
function idOf(id: unknown): unknown {
  return typeof id === 'string' ? id.replace(/\/t(\d+)(?=\/b\d)/, '/c$1') : id;
}

function renamed(fields: Fields, from: string, to: string): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name === from ? to : name, value]));
}

function without(fields: Fields, name: string): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name));
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
