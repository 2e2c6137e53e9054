import type { CostModel } from '../records/record.js';
import type { Load } from './pieces.js';
import { predictCall } from './predict.js';

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
