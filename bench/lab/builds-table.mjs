/** The table of bench/lab/builds.mjs. */
import { tableBlock, tableOf } from '../../dist/report/document.js';
import { groupBy } from '../../dist/compare/cell-groups.js';
import { median } from '../../dist/stats/quantile.js';

export function buildsTable(results) {
  const groups = groupBy(results, ({ machine, kind }) => `${machine} ${kind}`);
  const spread = (group, pick) => `${pick(...group.map(({ ratio }) => ratio)).toFixed(2)}×`;
  return tableBlock(
    tableOf(groups, [
      { title: 'Machine', of: ([{ machine }]) => machine },
      { title: 'New build', of: ([{ kind }]) => (kind === 'same' ? 'the same' : 'does its work twice') },
      {
        title: '>Called a regression',
        of: (group) => `${group.filter(({ regressed }) => regressed).length} of ${group.length}`,
      },
      { title: '>New / old', of: (group) => `${spread(group, Math.min)} to ${spread(group, Math.max)}` },
      { title: '>Seconds', of: (group) => median(group.map(({ seconds }) => seconds)).toFixed(0) },
    ]),
  );
}
