/** A column of numbers for each unknown, and a row for each equation. */
export type Columns = readonly (readonly number[])[];

/** The length of a column that is left after others are taken out of it, to its own, up to which it depends on them. */
const DEPENDENT = 1e-7;

/** A gradient that is so small, of columns of length 1 and a right side of length 1, counts as none. */
const NO_GRADIENT = 1e-10;

/** The solution of the equations `columns * x = rightSide` in the sense of least squares, each unknown 0 or more. */
export function nonNegativeLeastSquares(columns: Columns, rightSide: readonly number[]): number[] {
  const lengths = columns.map((column) => Math.hypot(...column) || 1);
  const unit = columns.map((column, index) => column.map((value) => value / lengths[index]!));
  const scale = Math.hypot(...rightSide) || 1;
  const right = rightSide.map((value) => value / scale);
  const products = unit.map((column) => unit.map((other) => dot(column, other)));
  const target = unit.map((column) => dot(column, right));
  return solveByActiveSet(products, target).map((value, index) => (value * scale) / lengths[index]!);
}

/**
 * The algorithm NNLS of Lawson and Hanson ("Solving Least Squares Problems", 1974, chapter 23). It works on the products of the
 * columns, as by Bro and de Jong ("A fast non-negativity-constrained least squares algorithm", Journal of Chemometrics 11, 1997).
 * Unknowns join one by one, the unknown with the steepest gradient first, and leave again if they would be negative.
 */
function solveByActiveSet(products: Columns, target: readonly number[]): number[] {
  const count = target.length;
  const solution = Array.from({ length: count }, () => 0);
  const passive = new Set<number>();
  // An unknown that was thrown out at once must not join again at once, or rounding keeps it going around.
  const barred = new Set<number>();
  for (let round = 0; round < 10 * (count + 1); round += 1) {
    const gradient = target.map((value, index) => value - dot(products[index]!, solution));
    const joining = gradient.reduce<number | undefined>((best, value, index) => {
      if (passive.has(index) || barred.has(index) || value <= NO_GRADIENT) return best;
      return best === undefined || value > gradient[best]! ? index : best;
    }, undefined);
    if (joining === undefined) return solution;
    passive.add(joining);
    const before = solution[joining]!;
    settle(products, target, passive, solution);
    if (solution[joining] === before) barred.add(joining);
    else barred.clear();
  }
  return solution;
}

/** Solves for the unknowns of `passive`, of which those leave that would be negative, until none would. */
function settle(products: Columns, target: readonly number[], passive: Set<number>, solution: number[]): void {
  while (passive.size > 0) {
    const members = [...passive];
    const wanted = solveSymmetric(
      members.map((row) => members.map((column) => products[row]![column]!)),
      members.map((row) => target[row]!),
    );
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

/** Solves equations with a symmetric positive matrix, by Cholesky's decomposition. */
export function solveSymmetric(matrix: Columns, rightSide: readonly number[]): number[] {
  const count = rightSide.length;
  const lower: number[][] = [];
  for (let row = 0; row < count; row += 1) {
    const current: number[] = [];
    for (let column = 0; column <= row; column += 1) {
      const other = column === row ? current : lower[column]!;
      let sum = matrix[row]![column]!;
      for (let place = 0; place < column; place += 1) sum -= current[place]! * other[place]!;
      // Rounding may leave nothing of a column that nearly depends on others.
      current.push(column === row ? Math.sqrt(Math.max(sum, Number.EPSILON)) : sum / other[column]!);
    }
    lower.push(current);
  }
  const solution = [...rightSide];
  for (let row = 0; row < count; row += 1) {
    for (let place = 0; place < row; place += 1) solution[row]! -= lower[row]![place]! * solution[place]!;
    solution[row]! /= lower[row]![row]!;
  }
  for (let row = count - 1; row >= 0; row -= 1) {
    for (let place = row + 1; place < count; place += 1) solution[row]! -= lower[place]![row]! * solution[place]!;
    solution[row]! /= lower[row]![row]!;
  }
  return solution;
}

/**
 * By how much of each of the columns a further one is made up, or `undefined` if it does not depend on them. A column of zeros is made
 * up of none. The columns must not depend on each other.
 */
export function dependenceOn(columns: Columns, further: readonly number[]): readonly number[] | undefined {
  const length = Math.hypot(...further);
  if (length === 0) return columns.map(() => 0);
  if (columns.length === 0) return undefined;
  const lengths = columns.map((column) => Math.hypot(...column));
  const unit = columns.map((column, index) => column.map((value) => value / lengths[index]!));
  const parts = solveSymmetric(
    unit.map((column) => unit.map((other) => dot(column, other))),
    unit.map((column) => dot(column, further)),
  );
  const left = further.map(
    (value, row) => value - parts.reduce((sum, part, index) => sum + part * unit[index]![row]!, 0),
  );
  return Math.hypot(...left) > DEPENDENT * length ? undefined : parts.map((part, index) => part / lengths[index]!);
}

export function dot(left: readonly number[], right: readonly number[]): number {
  let sum = 0;
  for (let place = 0; place < left.length; place += 1) sum += left[place]! * right[place]!;
  return sum;
}
