/** The output of `boundary-bench predict` for a terminal. */
import type { BreakEven, Forecast, ForecastCall, ForecastCrossover, Question } from '../model/forecast.js';
import {
  type Block,
  type Table,
  list,
  paragraph,
  renderTerminal,
  tableBlock,
  tableOf,
  type Terminal,
} from './document.js';
import { UNKNOWN, formatDuration, formatPercent, formatRows } from './format.js';
import { sideAndVariantOf } from './labels.js';

/** A forecast with its origin: the sentences about the run come first. */
export function renderForecast(
  question: Question,
  forecast: Forecast,
  origin: readonly string[],
  terminal?: Terminal,
): string {
  const blocks = [
    ...origin.map(paragraph),
    ...tableBlock(callsTable(question, forecast.calls)),
    ...list(forecast.crossovers.map((crossover) => crossoverText(question, crossover, forecast.most))),
    ...list(forecast.breakEvens.map((breakEven) => breakEvenText(question, breakEven))),
    ...advice(question),
  ];
  return renderTerminal(blocks, terminal);
}

function callsTable({ load, callsPerSecond }: Question, calls: readonly ForecastCall[]): Table {
  const known =
    (textOf: (call: ForecastCall) => string) =>
    (call: ForecastCall): string =>
      call.certainty === 'unknown' ? UNKNOWN : textOf(call);
  return tableOf(calls, [
    { title: 'Crosses', of: ({ mechanism }) => `${mechanism.what} ${mechanism.direction}` },
    { title: 'Way', of: ({ mechanism }) => sideAndVariantOf(mechanism) },
    { title: '>Per call', of: known(({ seconds }) => formatDuration(seconds)) },
    { title: '>95% interval', of: known(({ low, high }) => `${formatDuration(low)}–${formatDuration(high)}`) },
    ...(load.what === 'rows'
      ? [{ title: '>Per row', of: known(({ seconds }) => formatDuration(seconds / load.rows)) }]
      : []),
    ...(callsPerSecond === undefined
      ? []
      : [{ title: '>Of one core', of: known(({ shareOfCore }) => formatPercent(shareOfCore)) }]),
    { title: 'How sure', of: certaintyText },
  ]);
}

function certaintyText({ certainty, doubts }: ForecastCall): string {
  const word = certainty === 'unknown' ? "can't tell" : certainty;
  return certainty === 'sure' ? word : `${word}: ${doubts.join('; ')}`;
}

function crossoverText(question: Question, crossover: ForecastCrossover, most: number): string {
  const { direction, way, other, by, rows } = crossover;
  const subject = `${question.load.what} ${direction}`;
  const [name, rival] = [sideAndVariantOf(way), sideAndVariantOf(other)];
  const range = rangeText(crossover);
  if (by === 'work' && way.batch !== undefined) {
    // The work itself takes as long there as here.
    if (rows === undefined)
      return `${subject}: carrying by ${name} always takes longer than the work here, up to ${sizeText(question, most)}.`;
    return `${subject}: below ${sizeText(question, rows)} per call${range}, ${name} never pays: carrying takes longer than the work here.`;
  }
  if (rows === undefined) return `${subject}: ${name} never beats ${rival}, up to ${sizeText(question, most)}.`;
  if (by === 'crossing')
    return `${subject}: from ${sizeText(question, rows)} per call${range} on, ${name} is cheaper than ${rival}.`;
  if (rows === 1) return `${subject}: ${name} beats ${rival} from 1 row up${range}.`;
  return `${subject}: below ${sizeText(question, rows)} per call${range}, ${name} never pays. From there on it beats ${rival}.`;
}

function rangeText({ rows, earliest, latest }: ForecastCrossover): string {
  if (earliest === rows && latest === rows) return '';
  const until = latest === undefined ? 'unknown' : formatRows(latest);
  return ` (${formatRows(earliest ?? rows!)}–${until})`;
}

function sizeText({ load }: Question, size: number): string {
  const unit = load.what === 'rows' ? 'row' : load.what === 'text' ? 'character' : 'byte';
  return `${formatRows(size)} ${unit}${size === 1 ? '' : 's'}`;
}

function breakEvenText({ load }: Question, { way, seconds }: BreakEven): string {
  const { rows, what } = load;
  const saving = what === 'rows' ? `${formatDuration(seconds / rows)} per row` : `${formatDuration(seconds)} per call`;
  const subject = `${what} ${way.direction}: ${sideAndVariantOf(way)}`;
  // Also a time that reads as 0.
  if (Number.parseFloat(saving) <= 0) return `${subject} pays even if its work takes as long as JavaScript's.`;
  return `${subject} pays if its work takes ${saving} less than JavaScript's.`;
}

/** The advice on what else could be asked, if the question leaves it out. */
function advice({ jsWork }: Question): Block[] {
  if (jsWork !== undefined) return [];
  return [
    paragraph(
      'With --js-work and --native-work, the times of your own work on a row, it says from how many rows on native code or another thread pays.',
    ),
  ];
}
