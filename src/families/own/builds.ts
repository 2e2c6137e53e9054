/** A user's workload by two builds of an addon. */
import type { AddonBuild, Family, PlannedCell } from '../workload.js';

/** The words for the two builds, which end ids and variants. */
export const BUILDS = ['old', 'new'] as const;

/**
 * The workload with two cells for each way: one whose process loads the old build of an addon, and its rival with the
 * new one. Ways that use no addon are there as well: their differences show the machine, and not the builds.
 */
export function ofBuilds(
  family: Family,
  [before, after]: readonly [before: string, after: string],
  place: Omit<AddonBuild, 'file'>,
): Family {
  return {
    ...family,
    plan: (options) =>
      family.plan(options).flatMap((planned) => {
        if (planned.cell.side === 'rust') return [];
        // Neither has a counterpart but the other build.
        const alone = { ...planned };
        delete (alone as { rustLane?: string }).rustLane;
        delete (alone as { rival?: string }).rival;
        const byBuild = (name: (typeof BUILDS)[number], file: string): PlannedCell => {
          const { id, variant } = alone.cell;
          const build: AddonBuild = { ...place, file };
          return { ...alone, build, cell: { ...alone.cell, id: `${id}/${name}`, variant: `${variant} (${name})` } };
        };
        const [old, renewed] = [byBuild('old', before), byBuild('new', after)];
        return [old, { ...renewed, rival: old.cell.id }];
      }),
  };
}
