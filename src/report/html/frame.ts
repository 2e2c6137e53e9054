/** The parts that the figures with one row per cell share: the axis below them, its lines, and the names of the rows. */
import type * as PlotModule from '@observablehq/plot';
import { type Canvas, FIGURE_WIDTH } from './canvas.js';

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
 * A frame of ratios on a log scale that has all of them, and is never narrower than `least`, so that noise does not
 * fill the picture.
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

/** The width of a character of a text, on average, in a wide font. */
const CHARACTER_WIDTH = 7;

/** How much of its room a name may take by the widths that Plot knows. Other fonts are wider. */
const ROOM_TAKEN = 0.86;

/** The size of the texts of a figure, and the space between the two texts of a row. */
const TEXT_SIZE = 12;
const BETWEEN = 8;

/** The texts above each row: its name at the left, as far as it fits, and a quiet figure at the right. */
export function titlesAt<Row extends { readonly index: number; readonly name: string }>(
  { Plot }: Canvas,
  rows: readonly Row[],
  options: PlotModule.TextOptions & { readonly at: number; readonly figureOf?: (row: Row) => string },
): PlotModule.Markish[] {
  const { at, figureOf = () => '', ...rest } = options;
  const y = ({ index }: Row): number => index + at;
  const width = FIGURE_WIDTH - MARGINS.marginLeft - MARGINS.marginRight + 2 * OUTDENT;
  const names = rows.map((row) => {
    const taken = [...figureOf(row)].length * CHARACTER_WIDTH + BETWEEN;
    return Plot.text([row], {
      text: 'name',
      frameAnchor: 'left',
      y,
      dx: -OUTDENT,
      textOverflow: 'ellipsis',
      lineWidth: (ROOM_TAKEN * (width - taken)) / TEXT_SIZE,
      fill: 'currentColor',
      ...HALO,
      ...rest,
    });
  });
  const figures = Plot.text(rows, {
    text: figureOf,
    frameAnchor: 'right',
    y,
    dx: OUTDENT,
    fill: 'var(--quiet)',
    ...HALO,
  });
  return [...names, figures];
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

/** The ticks of logarithmic axes. They are few and round, and exist even if an axis covers less than a power of ten. */

/** From coarse to fine: the factors before the powers of ten. */
const STEPS = [
  [1],
  [1, 3],
  [1, 2, 5],
  [1, 1.5, 2, 3, 5, 7],
  [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9],
  [1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.25, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5, 8, 8.5, 9, 9.5],
];

/** The most ticks on an axis of a figure. */
const MOST = 6;

/** Round values within a domain, at most `most`: as many of them as one of the steps gives. */
export function logTicks([low, high]: readonly [number, number], most = MOST): number[] {
  const ticks = STEPS.map((mantissas) => ticksOf(mantissas, low, high)).filter(({ length }) => length <= most);
  const found = ticks.at(-1) ?? [];
  if (found.length > 0) return found;
  // Even the powers of ten are too many.
  const powers = ticksOf([1], low, high);
  const every = Math.ceil(powers.length / most);
  return powers.filter((_, index) => index % every === 0);
}

function ticksOf(mantissas: readonly number[], low: number, high: number): number[] {
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const mantissa of mantissas) {
      const tick = Number((mantissa * 10 ** power).toPrecision(3));
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks;
}

/** Values that are less, or greater than its inverse, are no measurements, and have no place on an axis. */
const TINIEST = 1e-18;

/** The domain of positive values with a margin at each end, and at least as wide as `least`. */
export function logDomain(values: readonly number[], least?: readonly [number, number]): [number, number] {
  const all = [...values, ...(least ?? [])].filter((value) => value > TINIEST && value < 1 / TINIEST);
  if (all.length === 0) return [0.5, 2];
  const [low, high] = [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))];
  const margin = Math.max((high / low) ** 0.05, 1.02);
  return [low / margin, high * margin];
}

/** Round values from 0 up to the end of a linear domain, at most six. */
export function linearTicks([, high]: readonly [number, number]): number[] {
  const power = 10 ** Math.floor(Math.log10(high));
  const step = [0.2, 0.5, 1, 2].map((factor) => factor * power).find((step) => high / step < MOST)!;
  return Array.from({ length: Math.floor(high / step) + 1 }, (_, index) => Number((index * step).toPrecision(6)));
}
