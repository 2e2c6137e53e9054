import { describe, expect, it } from 'vitest';
import { codecFamily, topicOf } from '../../../src/families/codec/family.js';
import { CODEC_MATRIX } from '../../../src/families/codec/topic.js';

const OPTIONS = { rows: 10_000, workers: 1, engines: {} };
const planned = codecFamily.plan(OPTIONS);

describe('the plan', () => {
  it('gives each cell an id of its own, and each lane workloads that there are', () => {
    expect(new Set(planned.map(({ cell }) => cell.id)).size).toBe(planned.length);
    const named = new Set(CODEC_MATRIX.lanes.flatMap(({ workloads }) => workloads));
    expect([...named].toSorted()).toEqual(Object.keys(CODEC_MATRIX.workloads).toSorted());
  });

  it('has whole batches', () => {
    for (const { cell } of planned) {
      expect(cell.calls! % (cell.batch ?? 1), cell.id).toBe(0);
      expect(cell.calls, cell.id).toBeGreaterThan(0);
      expect(cell.rows, cell.id).toBeUndefined();
    }
  });

  it('has a cell of Rust for each cell of Node, of the same workload and batch, on the lane that it is compared with', () => {
    const rust = new Set(
      planned
        .filter(({ cell, client }) => cell.side === 'rust' && client === undefined)
        .map(({ cell: { workload, lane, batch } }) => [workload, lane, batch].join()),
    );
    const alone = planned.filter(
      ({ cell: { side, workload, batch }, rustLane }) =>
        side !== 'rust' && !rust.has([workload, rustLane, batch].join()),
    );
    expect(alone.map(({ cell }) => cell.id)).toEqual([]);
  });

  it('has JavaScript for each workload', () => {
    const workloads = new Set(planned.filter(({ cell }) => cell.side === 'js').map(({ cell }) => cell.workload));
    expect([...workloads].toSorted()).toEqual(Object.keys(CODEC_MATRIX.workloads).toSorted());
  });
});

it.each(Object.keys(CODEC_MATRIX.workloads))(
  '%s has a topic, whose sums grow with the operations',
  async (workload) => {
    const topic = await topicOf(workload);
    for (const { cell, client } of planned.filter(({ cell }) => cell.workload === workload)) {
      const { lane, batch = 1 } = cell;
      // Enough rows that some of them pass a filter.
      const [once, twice] = [30 * batch, 60 * batch].map((operations) =>
        topic!.resultOf({ workload, lane, client, batch }, operations),
      );
      expect(Number.isFinite(once), cell.id).toBe(true);
      expect(twice, cell.id).toBeGreaterThan(once!);
    }
  },
);

it('a workload that is no one’s has no topic', async () => {
  expect(await topicOf('other.one')).toBeUndefined();
});

it('names the versions of the clients that are measured', async () => {
  const cells = planned.filter(({ cell }) => cell.workload === 'arrow_decode');
  const open = await codecFamily.open(OPTIONS, cells);
  expect(Object.keys(await open.versions())).toEqual(['apache-arrow', 'flechette']);
  await open.close();
});
