/** The cost model of a run: the costs of each mechanism whose ladder was measured. */
import { completedOf, groupBy } from '../compare/cell-groups.js';
import { secondsPerItem } from '../compare/rate-ratio.js';
import type { CompletedRecord, CostModel, Crossing, Mechanism, RunRecord } from '../records/record.js';
import { type MeasuredCall, fitCosts } from './fit.js';
import type { Load } from './pieces.js';
import { predictCall } from './predict.js';

/** A cell whose calls cross as the cost model describes. */
type CrossingRecord = CompletedRecord & { readonly crossing: Crossing };

/** The costs of the mechanisms of a run; `undefined` if it has no cells to fit them to. */
export function costModelOf(records: readonly RunRecord[]): CostModel | undefined {
  const crossing = completedOf(records).filter(
    (record): record is CrossingRecord => record.crossing !== undefined && record.runtime === undefined,
  );
  const groups = groupBy(crossing, (record) => JSON.stringify(mechanismOf(record)));
  const fits = groups.map((group) => ({ mechanism: mechanismOf(group[0]!), fit: fitCosts(group.map(callOf)) }));
  if (!fits.some(({ fit }) => typeof fit !== 'string')) return undefined;
  const model: CostModel = {
    mechanisms: fits.flatMap(({ mechanism, fit }) => (typeof fit === 'string' ? [] : [{ ...mechanism, ...fit }])),
    unfitted: fits.flatMap(({ mechanism, fit }) => (typeof fit === 'string' ? [{ ...mechanism, reason: fit }] : [])),
  };
  const loads = new Map(crossing.map((record) => [record.id, record.crossing]));
  return withExpected(model, (id) => loads.get(id));
}

function mechanismOf({ crossing, side, lane, variant, batch }: CrossingRecord): Mechanism {
  const { what, direction, client } = crossing;
  return {
    what,
    direction,
    side,
    lane,
    variant,
    ...(client === undefined ? {} : { client }),
    ...(batch === undefined ? {} : { batch }),
  };
}

function callOf(record: CrossingRecord): MeasuredCall {
  return { id: record.id, crossing: record.crossing, seconds: secondsPerItem(record) };
}

/**
 * A model with the interval in which it expects each cell that was not fitted, if `loadOf` knows what crosses in the cell of an id.
 */
export function withExpected(model: CostModel, loadOf: (id: string) => Load | undefined): CostModel {
  return {
    ...model,
    mechanisms: model.mechanisms.map((mechanism) => ({
      ...mechanism,
      heldOut: mechanism.heldOut.map((cell) => {
        const load = loadOf(cell.id);
        if (load === undefined) return cell;
        const { low, high } = predictCall(mechanism, load);
        return { ...cell, low, high };
      }),
    })),
  };
}
