/** A column of numbers for each unknown, and a row for each equation. */
export type Columns = readonly (readonly number[])[];

/** The length of a column that is left after others are taken out of it, to its own, up to which it depends on them. */
const DEPENDENT = 1e-7;

/** A gradient that is so small, of columns of length 1 and a right side of length 1, counts as none. */
const NO_GRADIENT = 1e-10;

/** The solution of the equations `columns * x = rightSide` in the sense of least squares, each unknown 0 or more. */
export function nonNegativeLeastSquares(columns: Columns, rightSide: readonly number[]): number[] {
  const lengths = columns.map((column) => Math.hypot(...column) || 1);
  const scale = Math.hypot(...rightSide) || 1;
  const unit = columns.map((column, index) => column.map((value) => value / lengths[index]!));
  const solution = solveByActiveSet(
    unit,
    rightSide.map((value) => value / scale),
  );
  return solution.map((value, index) => (value * scale) / lengths[index]!);
}

/**
 * The algorithm NNLS of Lawson and Hanson ("Solving Least Squares Problems", 1974, chapter 23), for columns of length 1
 * or 0. Unknowns join one by one, the unknown with the steepest gradient first, and leave again if they would be
 * negative. None joins whose column depends on the columns of those that have joined.
 */
function solveByActiveSet(columns: Columns, rightSide: readonly number[]): number[] {
  const count = columns.length;
  const solution = columns.map(() => 0);
  const passive = new Set<number>();
  // An unknown that was thrown out at once must not join again at once, or rounding keeps it going around.
  const barred = new Set<number>();
  for (let round = 0; round < 10 * (count + 1); round += 1) {
    const left = rightSide.map((value, row) =>
      solution.reduce((sum, each, index) => sum - each * columns[index]![row]!, value),
    );
    const gradient = columns.map((column) => dot(column, left));
    const joining = gradient.reduce<number | undefined>((best, value, index) => {
      if (passive.has(index) || barred.has(index) || value <= NO_GRADIENT) return best;
      return best === undefined || value > gradient[best]! ? index : best;
    }, undefined);
    if (joining === undefined) return solution;
    const before = solution[joining]!;
    const joined = [...passive].map((index) => columns[index]!);
    if (lengthLeft(joined, columns[joining]!) > DEPENDENT) {
      passive.add(joining);
      settle(columns, rightSide, passive, solution);
    }
    if (solution[joining] === before) barred.add(joining);
    else barred.clear();
  }
  return solution;
}

/** Solves for the unknowns of `passive`, of which those leave that would be negative, until none would. */
function settle(columns: Columns, rightSide: readonly number[], passive: Set<number>, solution: number[]): void {
  while (passive.size > 0) {
    const members = [...passive];
    const wanted = leastSquares(
      members.map((index) => columns[index]!),
      rightSide,
    ).solution;
    const falling = members.filter((_, place) => wanted[place]! <= 0);
    if (falling.length === 0) {
      members.forEach((member, place) => (solution[member] = wanted[place]!));
      return;
    }
    // As far towards the wanted solution as no unknown becomes negative.
    const step = Math.min(
      ...falling.map((member) => {
        const from = solution[member]!;
        const to = wanted[members.indexOf(member)]!;
        return from === to ? 0 : from / (from - to);
      }),
    );
    members.forEach((member, place) => {
      const moved = solution[member]! + step * (wanted[place]! - solution[member]!);
      const leaves = falling.includes(member) && moved <= Number.EPSILON;
      solution[member] = leaves ? 0 : moved;
      if (leaves) passive.delete(member);
    });
  }
}

/**
 * The solution of the equations in the sense of least squares, and the part of the right side that it leaves. The columns must not depend
 * on each other. By the modified method of Gram and Schmidt, whose errors grow with the condition of the columns and not with its square
 * (Björck, "Solving linear least squares problems by Gram-Schmidt orthogonalization", BIT 7, 1967).
 */
function leastSquares(columns: Columns, rightSide: readonly number[]): { solution: number[]; left: number[] } {
  const left = [...rightSide];
  const rest = columns.map((column) => [...column]);
  const upper: number[][] = [];
  const solution: number[] = [];
  for (const [index, column] of rest.entries()) {
    const length = lengthOf(column);
    const direction = column.map((value) => value / length);
    const takeOut = (from: number[]): number => {
      const part = dot(direction, from);
      for (let row = 0; row < from.length; row += 1) from[row]! -= part * direction[row]!;
      return part;
    };
    upper.push([length, ...rest.slice(index + 1).map(takeOut)]);
    solution.push(takeOut(left));
  }
  for (let row = columns.length - 1; row >= 0; row -= 1) {
    for (let place = row + 1; place < columns.length; place += 1)
      solution[row]! -= upper[row]![place - row]! * solution[place]!;
    solution[row]! /= upper[row]![0]!;
  }
  return { solution, left };
}

/** The length of the part of a column that others do not make up. */
function lengthLeft(columns: Columns, further: readonly number[]): number {
  return lengthOf(leastSquares(columns, further).left);
}

/**
 * By how much of each of the columns a further one is made up, or `undefined` if it does not depend on them. A column
 * of zeros is made up of none. The columns must not depend on each other.
 */
export function dependenceOn(columns: Columns, further: readonly number[]): readonly number[] | undefined {
  const length = Math.hypot(...further);
  if (length === 0) return columns.map(() => 0);
  if (columns.length === 0) return undefined;
  const { solution, left } = leastSquares(columns, further);
  return Math.hypot(...left) > DEPENDENT * length ? undefined : solution;
}

/** Faster than `Math.hypot`, for columns whose squares neither overflow nor vanish. */
function lengthOf(column: readonly number[]): number {
  return Math.sqrt(dot(column, column));
}

export function dot(left: readonly number[], right: readonly number[]): number {
  let sum = 0;
  for (let place = 0; place < left.length; place += 1) sum += left[place]! * right[place]!;
  return sum;
}
