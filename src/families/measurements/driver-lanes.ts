import { userClientOf } from '../user-client.js';
import { hasTexts } from './checksum.js';
import { type EngineLane, engineLanes, matrix } from './matrix.js';

/** The lanes that an engine of the user's may have, by their directions, with the method of the driver for each. */
export const DRIVER_LANES = {
  in: { row: 'insertRows', columns: 'insertColumns' },
  out: { objects: 'queryObjects', columnar: 'queryColumns' },
} as const;

/** A lane of an engine of the user's. */
export interface DriverLane extends EngineLane {
  /** The path of the module that has the engine; absent for our own. */
  readonly module?: string;
}

/** The engine with whose cells the user's engine takes turns, and is compared. */
const BESIDE = 'embedded';

/** The lanes of the user's engine, which is given as `side:file`. */
export function lanesOfUser(given: string): DriverLane[] {
  const { side, file, name } = userClientOf(given, [
    ...engineLanes.map(({ client }) => client),
    ...Object.keys(matrix.engines),
  ]);
  return Object.entries(DRIVER_LANES).flatMap(([direction, methods]) => {
    // A driver is compared with Rust, which reads no texts.
    const workloads = Object.entries(matrix.workloads).flatMap(([name, entry]) =>
      entry.direction === direction && !hasTexts(entry.columns) ? [name] : [],
    );
    return Object.keys(methods).map((lane): DriverLane => ({
      side,
      lane,
      rustLane: lane,
      variant: name,
      workloads,
      engine: BESIDE,
      transports: [undefined],
      flavors: ['async'],
      workers: ['one'],
      runs: 'quick',
      client: name,
      module: file,
    }));
  });
}
