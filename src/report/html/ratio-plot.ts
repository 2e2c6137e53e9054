/** The dot plot of ratios on a log scale: a row for each, with its name, its interval, and a line at 1. */
import type { Side, Verdict } from '../../records/record.js';
import { formatFactorInterval } from '../format.js';
import type { Canvas } from './canvas.js';
import { framed, ratioFrame, titlesAt } from './frame.js';
import type { Markup } from './markup.js';
import { SIDE_STYLES } from './side-style.js';

export interface RatioRow {
  readonly name: string;
  readonly side: Side;
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
  readonly verdict: Verdict;
  /** The marks after the ratio. A note explains them. */
  readonly marks: string;
  /** Whether the others are compared with this row. It then has no interval. */
  readonly isReference?: boolean;
  /** The text that the pointer over the row shows. */
  readonly title: string;
  /** The address of the row's record on the page. Absent: the row is no link. */
  readonly href?: string | undefined;
}

export interface RatioPlot {
  /** The content of the picture, for those who do not see it. */
  readonly label: string;
  readonly axis: string;
  /** The colour of the line at 1. */
  readonly reference: string;
  readonly rows: readonly RatioRow[];
}

const ROW_HEIGHT = 34;

const LEAST_DOMAIN = [0.8, 1.25] as const;

/** The place of the name in a row, and of the dot. */
const NAME_AT = 0.3;
const DOT_AT = 0.74;

export function ratioPlot(canvas: Canvas, { label, axis, reference, rows }: RatioPlot): Markup {
  const { Plot } = canvas;
  const placed = rows.map((row, index) => ({ ...row, ...SIDE_STYLES[row.side], index, at: index + DOT_AT }));
  const ratios = rows.flatMap(({ ratio, low, high }) => [ratio, low, high]);
  const frame = ratioFrame({ rows: rows.length, rowHeight: ROW_HEIGHT, axis }, ratios, LEAST_DOMAIN);
  return canvas.draw({
    label,
    hasLinks: rows.some(({ href }) => href !== undefined),
    options: framed(canvas, frame, [
      Plot.ruleX([1], { stroke: reference, strokeWidth: 1.5 }),
      Plot.link(placed, { x1: 'low', x2: 'high', y1: 'at', y2: 'at', stroke: 'color', strokeWidth: 2, title: 'title' }),
      Plot.dot(placed, {
        x: 'ratio',
        y: 'at',
        symbol: 'symbol',
        r: 5,
        stroke: 'color',
        strokeWidth: 1.75,
        fill: (row: RatioRow & { color: string }) => (isHollow(row) ? 'var(--card)' : row.color),
        title: 'title',
      }),
      titlesAt(canvas, placed, {
        at: NAME_AT,
        figureOf: (row) => (row.isReference === true ? '1×' : formatFactorInterval(row) + row.marks),
        href: 'href',
        title: 'title',
      }),
    ]),
  });
}

function isHollow({ verdict, isReference }: RatioRow): boolean {
  return (verdict === 'inconclusive' || verdict === 'server-bound') && isReference !== true;
}
