/** The figures of the cost model: its predictions next to the measurements, and which way is the cheapest by size. */
import { groupBy } from '../../compare/cell-groups.js';
import { forecastOf, scaled } from '../../model/forecast.js';
import { loadOfBytes, loadOfText, predictCall } from '../../model/predict.js';
import { type Load, sizePieceOf } from '../../model/pieces.js';
import type { CostModel, Crossing, MechanismCosts, RunRecord } from '../../records/record.js';
import { formatDuration, formatRows } from '../format.js';
import { type LinePoint, type Series, linePlot } from './line-plot.js';
import type { Canvas } from './canvas.js';
import { axisX, axisY, logDomain, logTicks } from './frame.js';
import type { Figure } from './page.js';
import { SIDE_STYLES } from './side-style.js';

const HEIGHT = 320;

/**
 * For each kind of load and direction: the predicted over the measured time of a call of every cell, and the time by the size.
 * `records` are the records of the run. They know the sizes of cells.
 */
export function modelFigures(canvas: Canvas, model: CostModel, records: readonly RunRecord[]): Figure[] {
  const kinds = groupBy(model.mechanisms, ({ what, direction }) => `${what} ${direction}`);
  return kinds.flatMap((ofKind) => {
    const { what, direction } = ofKind[0]!;
    const title = `${what} ${direction}: predicted and measured`;
    return [
      { title, note: 'per call; filled: cells that were not fitted', picture: predictedPlot(canvas, ofKind, title) },
      ...bySizeFigure(canvas, ofKind, records),
    ];
  });
}

/** The points of a line in a power of ten. */
const STEPS = 6;

/**
 * The time of a call by its size: lines by the model, dots as measured, and the sizes at which one way becomes cheaper
 * than another.
 */
function bySizeFigure(canvas: Canvas, mechanisms: readonly MechanismCosts[], records: readonly RunRecord[]): Figure[] {
  const { what, direction } = mechanisms[0]!;
  const piece = sizePieceOf(what);
  const most = Math.min(...mechanisms.map((mechanism) => mechanism.most[piece]));
  if (most <= 1) return [];
  const crossings = new Map(records.map(({ id, crossing }) => [id, crossing]));
  const one = loadOfOne(mechanisms, crossings);
  const steps = Math.ceil(Math.log10(most) * STEPS);
  const sizes = [...new Set(Array.from({ length: steps + 1 }, (_, step) => Math.round(most ** (step / steps))))];
  const series = mechanisms.map((mechanism): Series => {
    const points = sizes.map((size) => ({ x: size, y: predictCall(mechanism, scaled(one, size)).seconds, title: '' }));
    const dots = [...mechanism.fitted, ...mechanism.heldOut].flatMap(({ id, measured }): LinePoint[] => {
      const crossing = crossings.get(id);
      if (crossing === undefined || !isOfShape(crossing, one)) return [];
      const title = `${id}\nmeasured ${formatDuration(measured)}`;
      return [{ x: what === 'rows' ? crossing.rows : crossing.bytes, y: measured, title }];
    });
    return { name: `${mechanism.side} · ${mechanism.variant}`, ...SIDE_STYLES[mechanism.side], points, dots };
  });
  const unit = what === 'rows' ? 'rows' : what === 'text' ? 'characters' : 'bytes';
  const { crossovers } = forecastOf({ mechanisms, unfitted: [] }, { load: one, directions: [direction] });
  const rules = crossovers.flatMap(({ way, other, rows }) => {
    if (rows === undefined) return [];
    return [{ x: rows, title: `from ${formatRows(rows)} ${unit} on, ${way.variant} is cheaper than ${other.variant}` }];
  });
  const title = `${what} ${direction}: time per call, by its size`;
  const picture = linePlot(canvas, {
    label: [title, ...rules.map((rule) => rule.title)].join('; '),
    xAxis: `${unit} per call`,
    yAxis: 'time per call',
    formatX: formatRows,
    formatY: formatDuration,
    series,
    rules,
  });
  const drawn = series.some(({ dots = [] }) => dots.length > 0) ? 'lines: predicted, dots: measured' : 'predicted';
  const note = [drawn, ...rules.map((rule) => `dashed: ${rule.title}`)].join('; ');
  return [{ title, note, picture }];
}

/** A load of size 1. For rows, a row of the columns that most cells carry, or of the largest call if those columns are not known. */
function loadOfOne(mechanisms: readonly MechanismCosts[], crossings: ReadonlyMap<string, Crossing | undefined>): Load {
  const { what, most, fitted } = mechanisms[0]!;
  if (what === 'bytes') return loadOfBytes(1);
  if (what === 'text') return loadOfText(1);
  const rows = fitted.flatMap(({ id }) => crossings.get(id) ?? []).map((crossing) => scaled(crossing, 1));
  const [usual] = groupBy(rows, ({ numbers, texts }) => JSON.stringify([numbers, texts])).toSorted(
    (a, b) => b.length - a.length,
  );
  const largest = { what, rows: most.row, numbers: most.number, texts: most.text, bytes: most.byte };
  return usual?.at(-1) ?? scaled(largest, 1);
}

/** Whether a cell carries rows of the same columns. */
function isOfShape(crossing: Crossing, one: Load): boolean {
  if (one.what !== 'rows') return true;
  const { numbers, texts } = scaled(crossing, 1);
  return numbers === one.numbers && texts === one.texts;
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
