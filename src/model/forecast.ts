/**
 * The answers of `boundary-bench predict`: the time of a call by each mechanism, and from which size on one is cheaper
 * than another.
 */
import type { CostModel, Crossing, MechanismCosts } from '../records/record.js';
import { type Load, sizePieceOf } from './pieces.js';
import { type Prediction, predictCall } from './predict.js';

/** A question to the model. */
export interface Question {
  readonly load: Load;
  readonly directions: readonly Crossing['direction'][];
  /** The lanes that are asked for; absent: all. */
  readonly lanes?: ReadonlySet<string>;
  readonly callsPerSecond?: number;
  /** The seconds of the caller's own work on a row (or on a text or bytes as a whole), in JavaScript and in native code. */
  readonly jsWork?: number;
  readonly nativeWork?: number;
}

/** The prediction of a call, with what follows from the rate of calls. */
export interface ForecastCall extends Prediction {
  /** The part of one core's time that the calls take; absent without a rate. */
  readonly shareOfCore?: number;
}

/** A sentence's content about two ways: from which number of rows on the first is cheaper than the second. */
export interface ForecastCrossover extends Crossover {
  readonly direction: Crossing['direction'];
  readonly way: MechanismCosts;
  readonly other: MechanismCosts;
  /** The reason for the comparison: the crossing alone, or the crossing with the work on either side. */
  readonly by: 'crossing' | 'work';
}

/** The saving from which on native code pays: its work on a call must take this much less time than JavaScript's. */
export interface BreakEven {
  readonly way: MechanismCosts;
  /** The seconds of a call by which the crossing takes longer than staying in JavaScript. */
  readonly seconds: number;
}

export interface Forecast {
  readonly calls: readonly ForecastCall[];
  readonly crossovers: readonly ForecastCrossover[];
  readonly breakEvens: readonly BreakEven[];
  /** The largest number of rows, bytes or characters that crossovers are looked for at. */
  readonly most: number;
}

/** The answer of a model. */
export function forecastOf(model: CostModel, question: Question): Forecast {
  const { load, directions, lanes, callsPerSecond } = question;
  const asked = model.mechanisms.filter(
    ({ what, direction, lane }) =>
      what === load.what && directions.includes(direction) && (lanes === undefined || lanes.has(lane)),
  );
  const calls = asked.map((mechanism): ForecastCall => {
    const prediction = predictCall(mechanism, load);
    return {
      ...prediction,
      ...(callsPerSecond === undefined ? {} : { shareOfCore: prediction.seconds * callsPerSecond }),
    };
  });
  const piece = sizePieceOf(load.what);
  const most = Math.min(...asked.map((mechanism) => mechanism.most[piece]), Number.MAX_SAFE_INTEGER);
  return {
    calls,
    most,
    crossovers: directions.flatMap((direction) => {
      const ways = asked.filter((mechanism) => mechanism.direction === direction);
      return [...byCrossing(direction, ways, load, most), ...byWork(direction, ways, question, most)];
    }),
    breakEvens: directions.flatMap((direction) =>
      breakEvensOf(calls.filter((call) => call.mechanism.direction === direction)),
    ),
  };
}

/** A load of the same shape and another size. */
export function scaled(load: Load, size: number): Load {
  const now = load.what === 'rows' ? load.rows : load.bytes;
  const by = (amount: number): number => (amount * size) / now;
  if (load.what !== 'rows') return { ...load, bytes: size };
  return { ...load, rows: size, numbers: by(load.numbers), texts: by(load.texts), bytes: by(load.bytes) };
}

/** Whether nothing crosses: the work stays in Rust, or in JavaScript of the calling thread. */
function isFloor({ client }: MechanismCosts): boolean {
  return client === undefined;
}

/** The floor in JavaScript: of the same lane if there is one. */
function floorOf(way: MechanismCosts, ways: readonly MechanismCosts[]): MechanismCosts | undefined {
  const floors = ways.filter((other) => isFloor(other) && other.side === 'js');
  return floors.find(({ lane }) => lane === way.lane) ?? floors[0];
}

/** Whether the other side is another thread or process of JavaScript. */
function isElsewhere(mechanism: MechanismCosts): boolean {
  return mechanism.side === 'js' && mechanism.batch !== undefined;
}

/** The crossovers of the cheapest way by size: it changes from one to the next as calls become larger. */
function byCrossing(
  direction: Crossing['direction'],
  ways: readonly MechanismCosts[],
  load: Load,
  most: number,
): ForecastCrossover[] {
  const crossing = ways.filter((way) => !isFloor(way) && !isElsewhere(way));
  const costOf =
    (way: MechanismCosts): CostOfRows =>
    (size) =>
      predictCall(way, scaled(load, size));
  const cheapestAt = (size: number): MechanismCosts | undefined =>
    crossing.reduce<MechanismCosts | undefined>((best, way) => {
      return best === undefined || costOf(way)(size).seconds < costOf(best)(size).seconds ? way : best;
    }, undefined);
  const found: ForecastCrossover[] = [];
  let [size, current] = [1, cheapestAt(1)];
  while (current !== undefined && found.length < crossing.length) {
    const from = current;
    const next = crossing
      .filter((way) => way !== from)
      .map((way) => ({ way, ...crossoverOf(costOf(way), costOf(from), most) }))
      .filter(({ rows }) => rows !== undefined && rows > size)
      .toSorted((a, b) => a.rows! - b.rows!)[0];
    if (next === undefined) break;
    found.push({ direction, other: from, by: 'crossing', ...next });
    [size, current] = [next.rows!, next.way];
  }
  return found;
}

/** The crossovers of each way over JavaScript, with the work of the caller on either side. */
function byWork(
  direction: Crossing['direction'],
  ways: readonly MechanismCosts[],
  { load, jsWork, nativeWork }: Question,
  most: number,
): ForecastCrossover[] {
  if (jsWork === undefined) return [];
  const withWork =
    (way: MechanismCosts, seconds: number): CostOfRows =>
    (size) => {
      const { seconds: crossing, low, high } = predictCall(way, scaled(load, size));
      const work = seconds * (load.what === 'rows' ? size : 1);
      return { seconds: crossing + work, low: low + work, high: high + work };
    };
  return ways
    .filter((way) => !isFloor(way) && (isElsewhere(way) || nativeWork !== undefined))
    .flatMap((way): ForecastCrossover[] => {
      const other = floorOf(way, ways);
      if (other === undefined) return [];
      // Another thread or process does the work meanwhile: what is compared is the carrying alone with the work here.
      const work = isElsewhere(way) ? 0 : nativeWork!;
      const crossover = crossoverOf(withWork(way, work), withWork(other, jsWork), most);
      return [{ direction, way, other, by: 'work', ...crossover }];
    });
}

function breakEvensOf(calls: readonly ForecastCall[]): BreakEven[] {
  const ways = calls.map(({ mechanism }) => mechanism);
  return calls
    .filter(({ mechanism, certainty }) => !isFloor(mechanism) && !isElsewhere(mechanism) && certainty !== 'unknown')
    .flatMap(({ mechanism, seconds }) => {
      const floor = floorOf(mechanism, ways);
      const stays = calls.find((call) => call.mechanism === floor);
      return stays === undefined ? [] : [{ way: mechanism, seconds: Math.max(0, seconds - stays.seconds) }];
    });
}

/** From which number of rows on one way is cheaper than another. */

/** The seconds of a call by its number of rows, with the ends of their interval. */
export type CostOfRows = (rows: number) => { readonly seconds: number; readonly low: number; readonly high: number };

/** From how many rows on a way is cheaper: at the earliest and the latest by the intervals of both. */
export interface Crossover {
  /** The first number of rows from which on it is cheaper; `undefined`: it never is. */
  readonly rows: number | undefined;
  /** The first number of rows from which on it may be cheaper, and the first from which on it surely is; `undefined`: never. */
  readonly earliest: number | undefined;
  readonly latest: number | undefined;
}

/** The crossover of `way` over `other` from 1 to `most` rows. */
export function crossoverOf(way: CostOfRows, other: CostOfRows, most: number): Crossover {
  return {
    rows: firstOf((rows) => way(rows).seconds < other(rows).seconds, most),
    earliest: firstOf((rows) => way(rows).low < other(rows).high, most),
    latest: firstOf((rows) => way(rows).high < other(rows).low, most),
  };
}

/** The steps of a decade at which is looked whether a way is cheaper. */
const STEPS = 24;

/**
 * The least number of rows from which on, up to `most`, a condition holds at each step. It is found exactly, by halving
 * between steps.
 */
function firstOf(holds: (rows: number) => boolean, most: number): number | undefined {
  const steps: number[] = [];
  for (let exponent = 0; 10 ** (exponent / STEPS) < most; exponent += 1) {
    const rows = Math.round(10 ** (exponent / STEPS));
    if (rows !== steps.at(-1)) steps.push(rows);
  }
  steps.push(most);
  const last = steps.findLastIndex((rows) => !holds(rows));
  if (last === steps.length - 1) return undefined;
  let [no, yes] = [steps[last] ?? 0, steps[last + 1]!];
  while (yes - no > 1) {
    const middle = Math.floor((no + yes) / 2);
    if (holds(middle)) yes = middle;
    else no = middle;
  }
  return yes;
}
