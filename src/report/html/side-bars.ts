/** The best of each side as bars, for readers who want the answer alone: one bar per side, with its rate. */
import type { Side } from '../../records/record.js';
import { rateOf } from '../../stats/summary.js';
import { type WorkloadAnswer, answerSides, bestRateText, workloadText } from '../workload-answers.js';
import type { Canvas } from './canvas.js';
import type { Figure } from './page.js';
import { SIDE_STYLES } from './side-style.js';

const ROW_HEIGHT = 26;

/** The room for the names of the sides, and for their rates. */
const MARGINS = { marginLeft: 92, marginRight: 118, marginTop: 0, marginBottom: 4 };

/** The part of a row above its bar, and below it. */
const ABOVE = 0.15;

interface Bar {
  readonly index: number;
  readonly side: Side;
  readonly title: string;
  readonly rate: number;
  readonly text: string;
}

/** The figure of a workload, in which the fastest side has the longest bar. A star marks it if a verdict says so. */
export function sideBars({ Plot, draw }: Canvas, answer: WorkloadAnswer): Figure {
  const sides = answerSides([answer]);
  const bars = sides.flatMap(([side, title], index): Bar[] => {
    const record = answer.best[side];
    return record === undefined ? [] : [{ index, side, title, rate: rateOf(record), text: bestRateText(answer, side) }];
  });
  const title = workloadText(answer.node);
  const middle = ({ index }: Bar): number => index + 0.5;
  const picture = draw({
    label: `${title}: ${bars.map((bar) => `${bar.title} ${bar.text}`).join(', ')}`,
    options: {
      ...MARGINS,
      height: sides.length * ROW_HEIGHT + MARGINS.marginTop + MARGINS.marginBottom,
      x: { axis: null, domain: [0, Math.max(...bars.map(({ rate }) => rate))] },
      y: { axis: null, domain: [sides.length, 0] },
      marks: [
        Plot.rect(bars, {
          x1: 0,
          x2: 'rate',
          y1: ({ index }: Bar) => index + ABOVE,
          y2: ({ index }: Bar) => index + 1 - ABOVE,
          fill: ({ side }: Bar) => SIDE_STYLES[side].color,
        }),
        Plot.text(bars, { x: 0, y: middle, text: 'title', textAnchor: 'end', dx: -8, fill: 'currentColor' }),
        Plot.text(bars, { x: 'rate', y: middle, text: 'text', textAnchor: 'start', dx: 6, fill: 'currentColor' }),
      ],
    },
  });
  return { title, picture };
}
