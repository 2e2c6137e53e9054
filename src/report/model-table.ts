/** The tables of the cost model: the costs of each mechanism, and predictions next to measurements of cells that were not fitted. */
import { groupBy } from '../compare/cell-groups.js';
import {
  type CostModel,
  type Mechanism,
  type MechanismCosts,
  type ModelledCell,
  PIECES,
  type Piece,
} from '../records/record.js';
import {
  type Block,
  type ColumnOf,
  type Table,
  heading,
  list,
  paragraph,
  tableBlock,
  tableOf,
  under,
} from './document.js';
import { UNKNOWN, formatDuration, formatFactor, formatPercent, formatRows } from './format.js';
import { sideAndVariantOf } from './labels.js';

/** The largest relative difference of a prediction that counts as right. */
export const RIGHT = 0.25;

const NOTE =
  'The time of a call is the sum of its pieces times their costs. Beyond a size that is named, each further ' +
  'row or byte costs a multiple, or a call costs a fixed amount more. A dash: the cost is included in the cost ' +
  'of the pieces before it, since the ladder always had as many of both.';

/** The section of a run's report about the model. Nothing for a run without a model. */
export function modelBlocks(model: CostModel | undefined): Block[] {
  if (model === undefined) return [];
  const crossings = model.mechanisms.filter(({ client }) => client !== undefined);
  const floors = model.mechanisms.filter(({ client }) => client === undefined);
  return [
    heading(2, 'What crossing costs'),
    ...tableBlock(modelTable(model)),
    paragraph(NOTE),
    ...list(model.unfitted.map((mechanism) => `${mechanismName(mechanism)}: no costs, for ${mechanism.reason}.`)),
    ...heldOutBlocks('Predicted and measured', crossings),
    ...heldOutBlocks('Predicted and measured, where nothing crosses', floors),
  ];
}

/** The costs of each mechanism. */
function modelTable({ mechanisms }: CostModel): Table {
  return tableOf(mechanisms, [
    { title: 'Crosses', of: ({ what, direction }) => `${what} ${direction}` },
    { title: 'Mechanism', of: sideAndVariantOf },
    ...PIECES.map((piece) => ({ title: `>A ${piece}`, of: (mechanism: MechanismCosts) => costText(mechanism, piece) })),
    { title: 'Beyond', of: beyondText },
    { title: '>Worst residual', of: ({ worst }) => formatPercent(worst) },
  ]);
}

/** A mechanism in a sentence, such as `rows in by napi-rs, array of objects (napi)`. */
function mechanismName({ what, direction, side, variant }: Mechanism): string {
  return `${what} ${direction} by ${variant} (${side})`;
}

function costText({ costs }: MechanismCosts, of: Piece): string {
  const own = costs.find((cost) => cost.of === of && cost.after === undefined);
  return own === undefined ? UNKNOWN : secondsText(own.seconds);
}

function secondsText(seconds: number): string {
  // Bytes cost fractions of a nanosecond.
  return seconds === 0 ? '0' : seconds < 1e-9 ? `${(seconds * 1e12).toPrecision(3)} ps` : formatDuration(seconds);
}

/** The sizes beyond which what is carried costs more, or less, or a call costs more. */
function beyondText({ what, knees, costs }: MechanismCosts): string {
  const unit = what === 'rows' ? 'rows' : 'bytes';
  const texts = [
    ...knees.map(({ after, factor }) => ({ after, text: formatFactor(factor) })),
    ...costs.flatMap(({ after, seconds }) =>
      after === undefined ? [] : [{ after, text: `+ ${secondsText(seconds)}` }],
    ),
  ];
  return texts
    .toSorted((left, right) => left.after - right.after)
    .map(({ after, text }) => `${formatRows(after)} ${unit}: ${text}`)
    .join('; ');
}

/** The predictions of some mechanisms next to measurements, and how many of them hold. */
function heldOutBlocks(title: string, mechanisms: readonly MechanismCosts[]): Block[] {
  const table = tableBlock(heldOutTable(mechanisms));
  const kinds = groupBy(mechanisms, ({ what }) => what).filter((ofKind) => cellsOf(ofKind).length > 0);
  const shares = kinds.length < 2 ? [] : kinds.map((ofKind) => `Of ${ofKind[0]!.what}: ${shareText(ofKind)}`);
  return under(heading(3, title), [
    ...table,
    ...(table.length === 0 ? [] : [paragraph(shareText(mechanisms))]),
    ...list(shares),
  ]);
}

function cellsOf(mechanisms: readonly MechanismCosts[]): ModelledCell[] {
  return mechanisms.flatMap(({ heldOut }) => heldOut);
}

function heldOutTable(mechanisms: readonly MechanismCosts[]): Table {
  const cells = cellsOf(mechanisms);
  return tableOf(cells, [
    { title: 'Cell that was not fitted', of: ({ id }) => id },
    { title: '>Measured', of: ({ measured }) => formatDuration(measured) },
    { title: '>Predicted', of: ({ predicted }) => formatDuration(predicted) },
    ...(cells.some(hasInterval) ? [EXPECTED] : []),
    { title: '>Predicted / measured', of: ({ measured, predicted }) => (predicted / measured).toFixed(2) },
  ]);
}

const EXPECTED: ColumnOf<ModelledCell> = {
  title: '>95% interval',
  of: (cell) =>
    hasInterval(cell)
      ? `${formatDuration(cell.low)}–${formatDuration(cell.high)}${isCovered(cell) ? '' : ' (outside)'}`
      : UNKNOWN,
};

type Expected = ModelledCell & Required<Pick<ModelledCell, 'low' | 'high'>>;

function hasInterval(cell: ModelledCell): cell is Expected {
  return cell.low !== undefined && cell.high !== undefined;
}

function isCovered({ measured, low, high }: Expected): boolean {
  return low <= measured && measured <= high;
}

/** How many predictions are right, and how many measurements lie in the 95% interval of the model. */
function shareText(mechanisms: readonly MechanismCosts[]): string {
  const cells = cellsOf(mechanisms);
  const right = cells.filter(({ measured, predicted }) => Math.abs(predicted / measured - 1) <= RIGHT).length;
  const expected = cells.filter(hasInterval);
  const covered = expected.filter(isCovered).length;
  const misses = covered < expected.length ? ', the others are marked (outside)' : '';
  const coverage =
    expected.length === 0
      ? ''
      : ` The 95% interval covers ${covered} of ${expected.length} (${formatPercent(covered / expected.length)}${misses}).`;
  return `${right} of ${cells.length} predictions (${formatPercent(right / cells.length)}) are within ${formatPercent(RIGHT)} of what was measured.${coverage}`;
}
