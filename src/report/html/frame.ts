/** The parts that the figures with one row per cell share: the axis below them, its lines, and the names of the rows. */
import type * as PlotModule from '@observablehq/plot';
import type { Canvas } from './canvas.js';
import { linearTicks, logDomain, logTicks } from './ticks.js';

const MARGINS = { marginTop: 2, marginBottom: 40, marginLeft: 12, marginRight: 12 };

/** How far texts reach into the margins at the sides. */
const OUTDENT = 10;

/** Texts stand before the lines behind them. */
const HALO = { stroke: 'var(--card)', strokeWidth: 4 };

export interface Frame {
  readonly rows: number;
  readonly rowHeight: number;
  /** The title of the axis. */
  readonly axis: string;
  readonly tickFormat: (value: number) => string;
  readonly x: { readonly type: 'log' | 'linear'; readonly domain: readonly [number, number] };
}

/** A factor on an axis: `0.5×`, `2×`, `1000×`. */
export function factorTick(value: number): string {
  return `${Number(value.toPrecision(3))}×`;
}

/**
 * A frame of ratios on a log scale that has all of them, and is never narrower than `least`, so that noise does not fill the
 * picture.
 */
export function ratioFrame(
  frame: Pick<Frame, 'rows' | 'rowHeight' | 'axis'>,
  ratios: readonly number[],
  least: readonly [number, number],
): Frame {
  return { ...frame, tickFormat: factorTick, x: { type: 'log', domain: logDomain(ratios, least) } };
}

/** The options of Plot for rows below each other, of which row `i` reaches from `i` to `i + 1` on the y scale. */
export function framed({ Plot }: Canvas, frame: Frame, marks: readonly PlotModule.Markish[]): PlotModule.PlotOptions {
  const { rows, rowHeight, axis, tickFormat, x } = frame;
  const ticks = x.type === 'log' ? logTicks(x.domain) : linearTicks(x.domain);
  return {
    ...MARGINS,
    height: rows * rowHeight + MARGINS.marginTop + MARGINS.marginBottom,
    x: { type: x.type, domain: [...x.domain] },
    y: { axis: null, domain: [rows, 0] },
    marks: [
      Plot.gridX(ticks, { stroke: 'var(--grid)', strokeOpacity: 1 }),
      axisX(Plot, ticks, tickFormat, axis),
      ...marks,
    ],
  };
}

/** A text at the left of each row. */
export function namesAt<Row extends { readonly index: number }>(
  { Plot }: Canvas,
  rows: readonly Row[],
  options: PlotModule.TextOptions & { readonly at: number },
): PlotModule.Markish {
  const { at, ...rest } = options;
  return Plot.text(rows, {
    frameAnchor: 'left',
    y: ({ index }: Row) => index + at,
    dx: -OUTDENT,
    textOverflow: 'ellipsis',
    fill: 'currentColor',
    ...HALO,
    ...rest,
  });
}

/** A quiet text at the right of each row. */
export function figuresAt<Row extends { readonly index: number }>(
  { Plot }: Canvas,
  rows: readonly Row[],
  at: number,
  text: (row: Row) => string,
): PlotModule.Markish {
  return Plot.text(rows, {
    text,
    frameAnchor: 'right',
    y: ({ index }: Row) => index + at,
    dx: OUTDENT,
    fill: 'var(--quiet)',
    ...HALO,
  });
}

/** The options that the axes of all figures have in common. */
function axisOptions(label: string, format: (value: number) => string) {
  return { text: (tick: number) => format(tick), label, labelArrow: 'none', tickSize: 0 } as const;
}

/** The axis below a figure. Its tick labels are texts, since Plot would leave out labels of a log scale that it finds too many. */
export function axisX(
  plot: typeof PlotModule,
  ticks: readonly number[],
  format: (value: number) => string,
  label: string,
): PlotModule.Markish {
  return plot.axisX(ticks, { ...axisOptions(label, format), labelAnchor: 'center' });
}

/** The axis at the left of a figure. */
export function axisY(
  plot: typeof PlotModule,
  ticks: readonly number[],
  format: (value: number) => string,
  label: string,
): PlotModule.Markish {
  return plot.axisY(ticks, { ...axisOptions(label, format), labelAnchor: 'top' });
}
