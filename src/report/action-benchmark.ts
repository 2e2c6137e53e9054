import { completedOf } from '../compare/cell-groups.js';
import { type Run, itemsOf } from '../records/record.js';
import { formatPercent } from './format.js';
import { oneUnitOf } from './labels.js';

/** A figure in the form `customSmallerIsBetter` of github-action-benchmark, by its README. */
export interface ActionFigure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly range: string;
  readonly extra: string;
}

/** The digits of a figure. */
const DIGITS = 4;

/**
 * The figures of a run for github-action-benchmark: the nanoseconds of one row, call or query of each cell in the
 * median, with the relative spread of its samples. Cells without a verdict are left out.
 */
export function actionFigures(run: Run): ActionFigure[] {
  const cells = completedOf(run.records).filter(({ noVerdict }) => noVerdict === undefined);
  return cells.map(({ id, calls, queries, samples, summary, ...cell }) => ({
    name: id,
    unit: `ns/${queries !== undefined ? 'query' : oneUnitOf(calls === undefined ? cell : { calls })}`,
    value: Number(((summary.medianSeconds / (queries ?? calls ?? itemsOf(cell))) * 1e9).toPrecision(DIGITS)),
    range: `± ${formatPercent(summary.spread)}`,
    extra: `${samples.length} samples`,
  }));
}
