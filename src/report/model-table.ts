/** The tables of the cost model: the costs of each mechanism, and predictions beside measurements of cells that were not fitted. */
import { type CostModel, type Mechanism, type MechanismCosts, PIECES, type Piece } from '../records/record.js';
import { type Block, type Table, heading, list, paragraph, tableBlock, tableOf, under } from './document.js';
import { UNKNOWN, formatDuration, formatFactor, formatPercent, formatRows } from './format.js';
import { sideAndVariantOf } from './labels.js';

/** The largest relative difference of a prediction that counts as right. */
const RIGHT = 0.25;

const NOTE =
  'The time of a call is the sum of its pieces times their costs. Beyond a size that is named, what is carried costs so many times as much, or a call so much more. A dash: the cost is in that of the pieces before it, since the ladder had always as many of both.';

/** The section of a run's report about the model; nothing for a run without one. */
export function modelBlocks(model: CostModel | undefined): Block[] {
  if (model === undefined) return [];
  const comparison = tableBlock(heldOutTable(model));
  return [
    heading(2, 'What crossing costs'),
    ...tableBlock(modelTable(model)),
    paragraph(NOTE),
    ...list(model.unfitted.map((mechanism) => `${mechanismName(mechanism)}: no costs, for ${mechanism.reason}.`)),
    ...under(heading(3, 'Predicted and measured'), comparison),
    ...(comparison.length === 0 ? [] : [paragraph(shareText(model))]),
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

function heldOutTable({ mechanisms }: CostModel): Table {
  const cells = mechanisms.flatMap(({ heldOut }) => heldOut);
  return tableOf(cells, [
    { title: 'Cell that was not fitted', of: ({ id }) => id },
    { title: '>Measured', of: ({ measured }) => formatDuration(measured) },
    { title: '>Predicted', of: ({ predicted }) => formatDuration(predicted) },
    { title: '>Predicted / measured', of: ({ measured, predicted }) => (predicted / measured).toFixed(2) },
  ]);
}

function shareText({ mechanisms }: CostModel): string {
  const ratios = mechanisms.flatMap(({ heldOut }) => heldOut.map(({ measured, predicted }) => predicted / measured));
  const right = ratios.filter((ratio) => Math.abs(ratio - 1) <= RIGHT).length;
  return `${right} of ${ratios.length} predictions (${formatPercent(right / ratios.length)}) are within ${formatPercent(RIGHT)} of what was measured.`;
}
