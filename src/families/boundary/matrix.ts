import type { CallLane, CallMatrix, CallWorkload } from '../in-process.js';
import { familyMatrix } from '../matrix.js';
import type { Crossing } from '../../records/record.js';

/** The rows of a workload. Each row has an integer `id`, further doubles, and a text if it has characters. */
export interface RowShape {
  readonly description: string;
  /** The numbers of a row, the id among them. */
  readonly numbers: number;
  /** The length of the text of a row; 0: it has none. */
  readonly characters: number;
}

type SizesByShape = Readonly<Record<string, readonly number[]>>;

/** Workloads that differ in size alone: bytes, characters, or rows of a shape. */
interface Ladder {
  readonly what: Crossing['what'];
  readonly direction: Crossing['direction'];
  /** The weight of a call of any size. */
  readonly weight: number;
  /** How many bytes, characters or rows weigh one more. */
  readonly perWeight: number;
  /** The shape of the rows of `sizes`. */
  readonly shape?: string;
  readonly sizes: readonly number[];
  /** The sizes that a usual run measures; absent: none. */
  readonly usual?: readonly number[];
  /** Rows of other shapes, by which the costs of a row, a number, a text and a byte are told apart. */
  readonly others?: SizesByShape;
  /** Sizes that are measured and not fitted, so that predictions are compared with them. */
  readonly heldOut: readonly number[] | SizesByShape;
}

/** A lane as the file has it. */
type LaneEntry = Omit<CallLane, 'workloads'> & {
  readonly workloads?: readonly string[];
  /** The ladders whose workloads it has, all of them. */
  readonly ladders?: readonly string[];
};

interface MatrixFile extends Omit<CallMatrix, 'lanes'> {
  readonly shortCharacters: number;
  readonly longCharacters: number;
  readonly mostBytes: number;
  readonly mostCharacters: number;
  readonly arrayLength: number;
  readonly rowShapes: Readonly<Record<string, RowShape>>;
  readonly ladders: Readonly<Record<string, Ladder>>;
  readonly lanes: readonly LaneEntry[];
}

/** The family `boundary` of `bench/matrix.json`, with a workload for each rung of its ladders. */
export type BoundaryMatrix = Omit<MatrixFile, 'lanes' | 'ladders'> & CallMatrix;

export const BOUNDARY_MATRIX: BoundaryMatrix = withLadders(familyMatrix<MatrixFile>('boundary'));

/** The rows of a workload such as `rows_in.1000` or `rows_out.wide.10`: their shape and their number. */
export function rowsOf(workload: string): { readonly shape: RowShape; readonly count: number } {
  const [, ...words] = workload.split('.');
  const shape = BOUNDARY_MATRIX.rowShapes[words.length > 1 ? words[0]! : USUAL_SHAPE]!;
  return { shape, count: Number(words.at(-1)) };
}

/** The shape of rows whose workload names none. */
const USUAL_SHAPE = 'named';

function withLadders({ ladders, lanes, workloads, ...others }: MatrixFile): BoundaryMatrix {
  const rungs = Object.entries(ladders).map(
    ([name, ladder]) => [name, rungsOf(name, ladder, others.rowShapes)] as const,
  );
  const byLadder = new Map(rungs);
  return {
    ...others,
    workloads: Object.assign({}, workloads, ...byLadder.values()) as CallMatrix['workloads'],
    lanes: lanes.map(({ ladders: names = [], ...lane }) => ({
      ...lane,
      workloads: [...(lane.workloads ?? []), ...names.flatMap((name) => Object.keys(byLadder.get(name)!))],
    })),
  };
}

/** The workloads of a ladder, by their names. */
function rungsOf(name: string, ladder: Ladder, shapes: MatrixFile['rowShapes']): Record<string, CallWorkload> {
  const { weight, perWeight, shape: own = '', sizes, usual = [], others = {}, heldOut } = ladder;
  const held: SizesByShape = isList(heldOut) ? { [own]: heldOut } : heldOut;
  const rung = (shape: string, size: number, isHeldOut: boolean): [string, CallWorkload] => [
    [name, ...(shape === own ? [] : [shape]), size].join('.'),
    {
      description: descriptionOf(ladder, size, shapes[shape]),
      weight,
      sizeWeight: size / perWeight,
      crossing: { ...crossingOf(ladder, size, shapes[shape]), ...(isHeldOut && { isHeldOut }) },
      ...(!usual.includes(size) && { runs: 'named' }),
    },
  ];
  return Object.fromEntries([
    ...sizes.map((size) => rung(own, size, false)),
    ...Object.entries(others).flatMap(([shape, of]) => of.map((size) => rung(shape, size, false))),
    ...Object.entries(held).flatMap(([shape, of]) => of.map((size) => rung(shape, size, true))),
  ]);
}

function isList(sizes: Ladder['heldOut']): sizes is readonly number[] {
  return Array.isArray(sizes);
}

function descriptionOf({ what, direction }: Ladder, size: number, shape: RowShape | undefined): string {
  if (what === 'bytes') return `${size} bytes ${direction}`;
  if (what === 'text') return `a text of ${size} characters of one byte ${direction}`;
  return `${size} rows ${direction}, each ${shape!.description}`;
}

function crossingOf({ what, direction }: Ladder, size: number, shape: RowShape | undefined): Omit<Crossing, 'client'> {
  const nothing = { what, direction, rows: 0, numbers: 0, texts: 0, bytes: 0 };
  if (shape === undefined) return { ...nothing, texts: what === 'text' ? 1 : 0, bytes: size };
  const { numbers, characters } = shape;
  const texts = characters > 0 ? size : 0;
  return { ...nothing, rows: size, numbers: size * numbers, texts, bytes: size * characters };
}
