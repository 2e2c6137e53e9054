import { median } from './quantile.js';

/** A sample in a block. It may share the block with samples of others. */
interface InBlock {
  readonly seconds: number;
  readonly block?: number;
}

/** The rounds after which the figures of cells hardly change any more. */
const ROUNDS = 10;

/**
 * The typical seconds of a sample of each cell, as if each had taken part in all blocks. A cell that took its samples while the
 * machine was slow is not slower for that. Computed by median polish: the model is that a time is the time of its cell multiplied
 * by a factor of its block (Tukey, "Exploratory Data Analysis", 1977). Of samples without blocks, it is the median. Each cell must
 * have a sample.
 */
export function typicalSeconds(cells: readonly (readonly InBlock[])[]): number[] {
  const ofCell = cells.map((samples) => median(samples.map(({ seconds }) => Math.log(seconds))));
  if (cells.some((samples) => samples.some(({ block }) => block === undefined))) return ofCell.map(Math.exp);
  for (let round = 0; round < ROUNDS; round += 1) {
    const ofBlock = blockEffects(cells, ofCell);
    cells.forEach((samples, index) => {
      ofCell[index] = median(samples.map(({ seconds, block }) => Math.log(seconds) - ofBlock.get(block!)!));
    });
  }
  return ofCell.map(Math.exp);
}

/** How much longer than the typical ones of their cells the samples of each block took, in the median, as logarithms. */
function blockEffects(cells: readonly (readonly InBlock[])[], ofCell: readonly number[]): ReadonlyMap<number, number> {
  const residues = new Map<number, number[]>();
  cells.forEach((samples, index) => {
    for (const { seconds, block } of samples) {
      const residue = Math.log(seconds) - ofCell[index]!;
      const others = residues.get(block!);
      if (others === undefined) residues.set(block!, [residue]);
      else others.push(residue);
    }
  });
  return new Map(Array.from(residues, ([block, values]) => [block, median(values)]));
}
