/**
 * The types of record.ts as run-time checks, with the same fields by the compiler; `schema/run.schema.json` describes the same, and
 * a test compares them.
 */
import {
  type Cell,
  type Checksum,
  type Comparison,
  type CompletedRecord,
  type Cost,
  type CostModel,
  type Crossing,
  DRIVERS,
  type Driver,
  type FailedRecord,
  type HostContext,
  type Knee,
  type Latency,
  type Mechanism,
  type MechanismCosts,
  type ModelledCell,
  PIECES,
  type Piece,
  type RoundTrip,
  type Run,
  type RunContext,
  type Sample,
  type Side,
  type SimulatedNetwork,
  type SkippedRecord,
  type Summary,
  type UnfittedMechanism,
  type Verdict,
} from './record.js';
import {
  type OptionalChecks,
  type RequiredChecks,
  amount,
  positiveAmount,
  anything,
  count,
  flag,
  listOf,
  mapOf,
  number,
  objectOf,
  oneOf,
  positiveCount,
  sum,
  text,
  variantOf,
} from './shape.js';

const cellRequired: RequiredChecks<Cell> = {
  id: text,
  family: text,
  workload: text,
  lane: text,
  side: oneOf<Side>('rust', 'napi', 'js'),
  variant: text,
  engine: text,
  rows: count,
};

const crossing = objectOf<Crossing>(
  {
    what: oneOf<Crossing['what']>('bytes', 'text', 'rows'),
    direction: oneOf<Crossing['direction']>('in', 'out'),
    rows: count,
    numbers: count,
    texts: count,
    bytes: count,
  },
  { client: text, isHeldOut: flag },
);

const cellOptional: OptionalChecks<Cell> = {
  flavor: oneOf<NonNullable<Cell['flavor']>>('sync', 'async'),
  transport: text,
  workers: positiveCount,
  batch: positiveCount,
  threads: positiveCount,
  driver: oneOf<Driver>(...DRIVERS),
  processes: positiveCount,
  requests: positiveCount,
  rate: amount,
  bytes: count,
  queries: positiveCount,
  calls: positiveCount,
  crossing,
  runtime: text,
};

const sample = objectOf<Sample>(
  { seconds: positiveAmount },
  {
    fork: positiveCount,
    executions: positiveCount,
    encodeSeconds: amount,
    decodeSeconds: amount,
    cpuUserSeconds: amount,
    cpuSystemSeconds: amount,
    mainThreadCpuSeconds: amount,
    peakRssBytes: count,
    serverCpuUserSeconds: amount,
    serverCpuSystemSeconds: amount,
    gcSeconds: amount,
    heapBytesPerCall: amount,
    longestStallMs: amount,
    latency: text,
    behind: text,
  },
);

const summary = objectOf<Summary>(
  { medianSeconds: amount, minSeconds: amount, maxSeconds: amount, spread: amount },
  { rowsPerSecond: amount, mebibytesPerSecond: amount, queriesPerSecond: amount, callsPerSecond: amount },
);

const latency = objectOf<Latency>(
  { p50: amount, p90: amount, p95: amount, p99: amount, p999: amount, max: amount },
  { histogram: text },
);

const checksum = objectOf<Checksum>({ rows: count, sums: mapOf(sum) });

/** A record without the field that names its shape. */
type Outcome<Record> = Omit<Record, 'outcome'>;

export const forkShape = objectOf({ id: text, samples: listOf(sample, 1), checksum });

export const recordShape = variantOf('outcome', {
  completed: objectOf<Outcome<CompletedRecord>>(
    { ...cellRequired, samples: listOf(sample, 1), summary, checksum },
    { ...cellOptional, latency, behind: latency },
  ),
  failed: objectOf<Outcome<FailedRecord>>(
    { ...cellRequired, error: objectOf<FailedRecord['error']>({ code: text, message: text }) },
    cellOptional,
  ),
  skipped: objectOf<Outcome<SkippedRecord>>({ ...cellRequired, reason: text }, cellOptional),
});

const comparison = objectOf<Comparison>(
  {
    workload: text,
    lane: text,
    engine: text,
    kind: oneOf<Comparison['kind']>('lane', 'best', 'batching', 'noise-floor'),
    numerator: text,
    denominator: text,
    ratio: amount,
    low: amount,
    high: amount,
    verdict: oneOf<Verdict>('faster', 'slower', 'equivalent', 'inconclusive', 'server-bound'),
  },
  { transport: text, workers: positiveCount, threads: positiveCount, batch: positiveCount, forks: positiveCount },
);

export const hostShape = objectOf<HostContext>(
  { os: text, arch: text, cpu: text, logicalCores: positiveCount, memoryBytes: count },
  {
    physicalCores: positiveCount,
    governor: text,
    cgroup: objectOf<NonNullable<HostContext['cgroup']>>({}, { cpus: amount, memoryBytes: count }),
  },
);

const roundTrip = objectOf<RoundTrip>({ p50: amount, p99: amount });

const network = objectOf<SimulatedNetwork>(
  { by: oneOf<SimulatedNetwork['by']>('proxy', 'kernel'), delayUs: amount, plain: roundTrip, delayed: roundTrip },
  { megabits: amount },
);

export const contextShape = objectOf<RunContext>(
  {
    startedAt: text,
    host: hostShape,
    versions: mapOf(text),
    build: objectOf<RunContext['build']>({ profile: text, targetCpu: text, addonSha256: text }),
    config: mapOf(anything),
  },
  {
    git: objectOf<NonNullable<RunContext['git']>>({ commit: text, dirty: flag }),
    networks: mapOf(network),
    adaptations: mapOf(listOf(text, 1)),
  },
);

const mechanismRequired: RequiredChecks<Mechanism> = {
  what: oneOf<Mechanism['what']>('bytes', 'text', 'rows'),
  direction: oneOf<Mechanism['direction']>('in', 'out'),
  side: oneOf<Side>('rust', 'napi', 'js'),
  lane: text,
  variant: text,
};

const cost = objectOf<Cost>(
  { of: oneOf<Piece>(...PIECES), seconds: amount, low: amount, high: amount },
  { after: amount },
);

const modelledCells = listOf(objectOf<ModelledCell>({ id: text, measured: amount, predicted: amount }));

const amounts = objectOf<Record<Piece, number>>({
  call: amount,
  row: amount,
  number: amount,
  text: amount,
  byte: amount,
});

const partsOfCosts = listOf(number);

const mechanismCosts = objectOf<MechanismCosts>(
  {
    ...mechanismRequired,
    costs: listOf(cost, 1),
    knees: listOf(objectOf<Knee>({ after: amount, factor: amount })),
    covariance: listOf(listOf(number)),
    inseparable: objectOf<MechanismCosts['inseparable']>(
      {},
      { call: partsOfCosts, row: partsOfCosts, number: partsOfCosts, text: partsOfCosts, byte: partsOfCosts },
    ),
    most: amounts,
    mostPerRow: amounts,
    deviation: amount,
    degrees: positiveCount,
    worst: amount,
    fitted: modelledCells,
    heldOut: modelledCells,
  },
  { client: text, batch: positiveCount, worstStraight: amount },
);

const model = objectOf<CostModel>({
  mechanisms: listOf(mechanismCosts),
  unfitted: listOf(
    objectOf<UnfittedMechanism>({ ...mechanismRequired, reason: text }, { client: text, batch: positiveCount }),
  ),
});

export const runShape = objectOf<Omit<Run, 'schemaVersion'>>(
  { context: contextShape, records: listOf(recordShape), comparisons: listOf(comparison) },
  { model },
);
