/** The figures of the cost model: what it says beside what was measured, and which way is the cheapest by size. */
import { groupBy } from '../../compare/cell-groups.js';
import type { CostModel, MechanismCosts } from '../../records/record.js';
import { formatDuration } from '../format.js';
import type { Canvas } from './canvas.js';
import { axisX, axisY } from './frame.js';
import type { Figure } from './page.js';
import { SIDE_STYLES } from './side-style.js';
import { logDomain, logTicks } from './ticks.js';

const HEIGHT = 320;

/** For each kind of load and direction, the predicted over the measured time of a call of every cell. */
export function modelFigures(canvas: Canvas, { mechanisms }: CostModel): Figure[] {
  const kinds = groupBy(mechanisms, ({ what, direction }) => `${what} ${direction}`);
  return kinds.map((ofKind) => {
    const { what, direction } = ofKind[0]!;
    const title = `${what} ${direction}: predicted beside measured`;
    return { title, note: 'a call; filled: cells that were not fitted', picture: predictedPlot(canvas, ofKind, title) };
  });
}

function predictedPlot(canvas: Canvas, mechanisms: readonly MechanismCosts[], label: string): Figure['picture'] {
  const { Plot } = canvas;
  const cells = mechanisms.flatMap(({ side, fitted, heldOut }) => [
    ...fitted.map((cell) => ({ ...cell, ...SIDE_STYLES[side], isHeldOut: false })),
    ...heldOut.map((cell) => ({ ...cell, ...SIDE_STYLES[side], isHeldOut: true })),
  ]);
  const domain = logDomain(cells.flatMap(({ measured, predicted }) => [measured, predicted]));
  const ticks = logTicks(domain, 5);
  return canvas.draw({
    label,
    options: {
      height: HEIGHT,
      marginLeft: 60,
      marginTop: 24,
      marginBottom: 42,
      x: { type: 'log', domain },
      y: { type: 'log', domain },
      marks: [
        Plot.gridX(ticks, { stroke: 'var(--grid)', strokeOpacity: 1 }),
        Plot.gridY(ticks, { stroke: 'var(--grid)', strokeOpacity: 1 }),
        axisX(Plot, ticks, formatDuration, 'measured'),
        axisY(Plot, ticks, formatDuration, 'predicted'),
        Plot.link([domain], { x1: domain[0], y1: domain[0], x2: domain[1], y2: domain[1], stroke: 'var(--quiet)' }),
        Plot.dot(cells, {
          x: 'measured',
          y: 'predicted',
          symbol: 'symbol',
          r: ({ isHeldOut }: { isHeldOut: boolean }) => (isHeldOut ? 4 : 2.5),
          stroke: 'color',
          fill: ({ isHeldOut, color }: { isHeldOut: boolean; color: string }) => (isHeldOut ? color : 'var(--card)'),
          title: ({ id, measured, predicted }) =>
            `${id}\nmeasured ${formatDuration(measured)}, predicted ${formatDuration(predicted)}`,
        }),
      ],
      r: { type: 'identity' },
    },
  });
}
