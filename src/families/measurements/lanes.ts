import type { Connection } from '../../library/engine/connection.js';
import type { LaneRun, LaneTask } from './lane.js';
import { lanesIn } from './lanes-in.js';
import { lanesOut } from './lanes-out.js';
import { workloadEntry } from './matrix.js';

/** Prepares the lane of a task, untimed. */
export function prepareLane(connection: Connection, task: LaneTask): LaneRun {
  const lanes = workloadEntry(task.workload).direction === 'in' ? lanesIn : lanesOut;
  const lane = lanes[task.lane];
  if (lane === undefined)
    throw new Error(`the workload "${task.workload}" has no lane "${task.lane}" through the addon`);
  return lane(connection, task);
}
