import { invalidArgument } from '../errors.js';
import { describeValue } from '../library/crossing/describe-value.js';
import { type OptionChecks, checkFunction, checkLater, checkOptionNames, oneOf } from '../library/crossing/options.js';
import { checkText } from '../library/crossing/well-formed.js';
import { type Cell, type Side, itemsOf } from '../records/record.js';
import type { Family, FamilyOptions, OpenCell, PlannedCell } from './workload.js';

/** One way to do a user's workload. It becomes one cell. */
export interface LaneDefinition {
  /** The name of the lane, short and in the words of this package if one fits: `row`, `columns`, `objects`, `batch`, ... */
  readonly lane: string;
  readonly side: Side;
  /** The engine that holds the rows, or the server that responds. */
  readonly engine: string;
  /** The function or client that is measured, as tables name it. */
  readonly variant: string;
  readonly flavor?: 'sync' | 'async';
  /** The lane of the side `rust` that this one is compared with, if there is one. */
  readonly rustLane?: string;
  /** The most rows of the lane, if it is too slow for more. */
  readonly maxRows?: number;
  /** The reason why the lane can't run here, if it is known. */
  readonly skip?: string;
}

/** The options with which a lane is opened. */
export interface LaneOptions extends Pick<FamilyOptions, 'engines'> {
  /** The rows that each sample must move. */
  readonly rows: number;
}

/** An open lane: an `OpenCell` whose `close` is optional. */
export type OpenLane = Omit<OpenCell, 'close'> & Partial<Pick<OpenCell, 'close'>>;

/** A user's workload, with the lanes to compare. */
export interface WorkloadDefinition<Lane extends LaneDefinition = LaneDefinition> {
  /** The family of the workload, and the first part of its cells' ids. */
  readonly family: string;
  /** The name of the workload, such as `insert.orders`. */
  readonly name: string;
  readonly description?: string;
  /** The URL of the module that exports the family, `import.meta.url` there, so that its cells are measured in processes of their own. */
  readonly module?: string;
  /** The default number of rows of a sample. */
  readonly rows: number;
  /** The bytes of a row, by the widths of its columns, for MiB/s in tables. */
  readonly bytesPerRow?: number;
  readonly lanes: readonly Lane[];
  /**
   * Prepares a lane, untimed. Its `sample` brackets the lane's work with the stopwatch and returns the checksum of the
   * values that it read. A writer returns the checksum of the rows that the engine then holds. The checksum must equal
   * `expected`, which must be computed in another way.
   */
  open(lane: Lane, options: LaneOptions): OpenLane | Promise<OpenLane>;
}

/**
 * Makes a family of a user's workload, for `run({ families: [...] })`: its lanes are planned, interleaved, verified and
 * reported like this package's own lanes. A lane may carry further properties. `open` gets the lane as it was given.
 *
 * Throws a `BoundaryError` with the code `BB_INVALID_ARGUMENT` if there is no lane, two lanes would be the same cell,
 * or a number of rows is not a positive integer.
 *
 * @example
 * ```js
 * import { defineWorkload } from 'boundary-bench/bench';
 *
 * const text = JSON.stringify({ id: 1 });
 * export const parsing = defineWorkload({
 *   family: 'parsing',
 *   name: 'parse',
 *   module: import.meta.url,
 *   rows: 1000,
 *   lanes: [{ lane: 'call', side: 'js', engine: 'memory', variant: 'JSON.parse' }],
 *   open: (_lane, { rows }) => ({
 *     expected: { rows, sums: { id: String(rows) } },
 *     sample: async (stopwatch) => {
 *       let sum = 0;
 *       stopwatch.start();
 *       for (let row = 0; row < rows; row++) sum += JSON.parse(text).id;
 *       stopwatch.stop();
 *       return { rows, sums: { id: String(sum) } };
 *     },
 *   }),
 * });
 * ```
 */
export function defineWorkload<Lane extends LaneDefinition>(definition: WorkloadDefinition<Lane>): Family {
  checkOptionNames(definition, NAMES, 'the workload');
  const { family, name, rows, lanes, module } = definition;
  checkText('family', family);
  checkText('name', name);
  if (module !== undefined) checkText('module', module);
  if (definition.description !== undefined) checkText('description', definition.description);
  checkFunction('open', definition.open);
  checkRows(rows, 'rows');
  if (definition.bytesPerRow !== undefined) checkRows(definition.bytesPerRow, 'bytesPerRow');
  if (!Array.isArray(lanes)) throw invalidArgument(`lanes must be an array, not ${describeValue(lanes)}`);
  Array.from(lanes as readonly LaneDefinition[], checkLane);
  for (const lane of lanes) if (lane.maxRows !== undefined) checkRows(lane.maxRows, 'maxRows');
  const byPlace = new Map(lanes.map((lane) => [placeOf(lane), lane]));
  if (lanes.length === 0) throw invalidArgument(`the workload ${name} has no lanes`);
  if (byPlace.size < lanes.length)
    throw invalidArgument(`two lanes of ${name} have the same lane, side, engine and flavor`);
  return {
    name: family,
    onlyWorkload: name,
    ...(module === undefined ? {} : { module }),
    description: definition.description ?? name,
    defaultRows: rows,
    plan: (options) => lanes.map((lane) => plannedLane(definition, lane, options.rows)),
    open: async ({ engines }) => ({
      versions: async () => ({}),
      openCell: async ({ cell }) => {
        // The runtime is a part of an id.
        const lane = byPlace.get(placeOf(cell));
        if (lane === undefined) throw invalidArgument(`the workload ${name} has no cell ${cell.id}`);
        const open = await definition.open(lane, { rows: itemsOf(cell), engines });
        return {
          expected: open.expected,
          ...(open.repeats === undefined ? {} : { repeats: open.repeats }),
          sample: (stopwatch, signal, repeats) => open.sample(stopwatch, signal, repeats),
          verify: async (stopwatch, signal) => open.verify?.(stopwatch, signal),
          close: async () => open.close?.(),
        };
      },
      close: async () => {},
    }),
  };
}

/** The names of a definition, whose values are checked where they are read. */
const NAMES: OptionChecks<WorkloadDefinition> = {
  family: checkLater,
  name: checkLater,
  description: checkLater,
  module: checkLater,
  rows: checkLater,
  bytesPerRow: checkLater,
  lanes: checkLater,
  open: checkLater,
};

function plannedLane(definition: WorkloadDefinition, lane: LaneDefinition, rows: number): PlannedCell {
  const { family, name, bytesPerRow } = definition;
  const cellRows = Math.min(rows, lane.maxRows ?? rows);
  const cell: Cell = {
    id: cellId(definition, lane),
    family,
    workload: name,
    lane: lane.lane,
    side: lane.side,
    ...(lane.flavor === undefined ? {} : { flavor: lane.flavor }),
    variant: lane.variant,
    engine: lane.engine,
    rows: cellRows,
    ...(bytesPerRow === undefined ? {} : { bytes: cellRows * bytesPerRow }),
  };
  return {
    cell,
    group: name,
    ...(lane.rustLane === undefined ? {} : { rustLane: lane.rustLane }),
    ...(lane.skip === undefined ? {} : { skip: lane.skip }),
  };
}

/** The key of a lane within its workload. */
function placeOf({ lane, side, engine, flavor }: Pick<LaneDefinition, 'lane' | 'side' | 'engine' | 'flavor'>): string {
  return JSON.stringify([lane, side, engine, flavor]);
}

function cellId({ family, name }: Pick<WorkloadDefinition, 'family' | 'name'>, lane: LaneDefinition): string {
  const { lane: laneName, side, engine, flavor } = lane;
  return [family, name, laneName, side, engine, ...(flavor === undefined ? [] : [flavor])].join('/');
}

function checkLane(lane: LaneDefinition, index: number): void {
  if (typeof lane !== 'object' || lane === null) {
    throw invalidArgument(`lane ${index} must be an object, not ${describeValue(lane)}`);
  }
  for (const name of ['lane', 'engine', 'variant'] as const) checkText(`${name} of lane ${index}`, lane[name]);
  oneOf('rust', 'napi', 'js')(`side of lane ${index}`, lane.side);
  if (lane.flavor !== undefined) oneOf('sync', 'async')(`flavor of lane ${index}`, lane.flavor);
}

function checkRows(rows: number, what: string): void {
  if (!Number.isSafeInteger(rows) || rows < 1)
    throw invalidArgument(`${what} must be a whole number of 1 or more, not ${describeValue(rows)}`);
}
