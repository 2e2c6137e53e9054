import type { Connection } from '../../library/engine/connection.js';
import type { Lane, LaneRun, LaneTask } from './lane.js';
import { lanesIn } from './lanes-in.js';
import { lanesOut } from './lanes-out.js';
import { workloadEntry } from './matrix.js';
import { ARROW_IPC } from './packages.js';

/** Prepares the lane of a task, untimed. */
export async function prepareLane(connection: Connection, task: LaneTask): Promise<LaneRun> {
  const lane = await laneOf(task);
  if (lane === undefined)
    throw new Error(`the workload "${task.workload}" has no lane "${task.lane}" through the addon`);
  return lane(connection, task);
}

async function laneOf({ workload, lane }: LaneTask): Promise<Lane | undefined> {
  const isIn = workloadEntry(workload).direction === 'in';
  if (lane !== ARROW_IPC) return (isIn ? lanesIn : lanesOut)[lane];
  const { arrowIn, arrowOut } = await import('./lanes-arrow.js');
  return isIn ? arrowIn : arrowOut;
}
