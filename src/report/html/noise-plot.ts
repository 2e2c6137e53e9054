/** The panel of noise: each cell compared with itself, its odd with its even processes, in the order of their ratios. */
import type { Comparison } from '../../records/record.js';
import { formatFactorInterval } from '../format.js';
import { isDecided } from '../factor.js';
import type { Canvas } from './canvas.js';
import { framed, ratioFrame } from './frame.js';
import type { Markup } from './markup.js';

const MOST_HEIGHT = 560;
const ROW_HEIGHT = 8;
const LEAST_DOMAIN = [0.8, 1.25] as const;

export function noisePlot(canvas: Canvas, noise: readonly Comparison[], margin: number): Markup {
  const { Plot } = canvas;
  const rows = noise
    .toSorted((a, b) => a.ratio - b.ratio)
    .map((comparison, index) => {
      const isWrong = isDecided(comparison);
      return {
        ...comparison,
        at: index + 0.5,
        isWrong,
        color: isWrong ? 'var(--bad)' : 'var(--quiet)',
        symbol: isWrong ? 'square' : 'circle',
        title: `${comparison.numerator}\n${formatFactorInterval(comparison)}, ${comparison.verdict}`,
      };
    });
  const frame = ratioFrame(
    {
      rows: rows.length,
      rowHeight: Math.min(ROW_HEIGHT, MOST_HEIGHT / rows.length),
      axis: 'odd / even processes of a cell; the band is the margin',
    },
    rows.flatMap(({ low, high }) => [low, high]),
    LEAST_DOMAIN,
  );
  return canvas.draw({
    label: `${rows.length} cells compared with themselves; ${rows.filter(({ isWrong }) => isWrong).length} look faster or slower than themselves`,
    options: framed(canvas, frame, [
      Plot.rectX([margin], { x1: 1 - margin, x2: 1 + margin, fill: 'var(--grid)' }),
      Plot.ruleX([1], { stroke: 'var(--quiet)' }),
      Plot.link(rows, { x1: 'low', x2: 'high', y1: 'at', y2: 'at', stroke: 'color', title: 'title' }),
      Plot.dot(rows, {
        x: 'ratio',
        y: 'at',
        r: 2.5,
        stroke: 'color',
        fill: 'var(--card)',
        symbol: 'symbol',
        title: 'title',
      }),
    ]),
  });
}
