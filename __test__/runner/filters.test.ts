import { describe, expect, it } from 'vitest';
import { filterCells } from '../../src/runner/filters.js';
import { planRun } from '../../src/runner/plan.js';
import type { RunRequest } from '../../src/runner/run-config.js';
import { REQUEST_OPTIONS, type RequestValues } from '../../src/families/requests/options.js';
import type { Family, PlannedCell } from '../../src/families/workload.js';
import { errorWith } from '../error-with.js';
import { sumFamily } from './sum-family.mjs';

const family = sumFamily();
const planned = family.plan({ rows: 10, workers: 2, engines: {} });
const idsOf = (cells: readonly { cell: { id: string } }[]): string[] => cells.map(({ cell }) => cell.id);

function planOf(request: RunRequest) {
  return planRun([family], request).plans;
}

describe('filterCells', () => {
  it('lets everything through without filters', () => {
    expect(filterCells(planned, {})).toEqual(planned);
    expect(filterCells(planned, { lane: [] })).toEqual(planned);
  });

  it('takes any word of a list, and every list', () => {
    expect(idsOf(filterCells(planned, { workload: ['sum.typed'], lane: ['backwards', 'sideways'] }))).toEqual([
      'sums/sum.typed/backwards/js/arrays/w1',
      'sums/sum.typed/backwards/js/arrays/w2',
      'sums/sum.typed/sideways/js/arrays/w1',
    ]);
  });

  it('takes * for any characters, and nothing else for a pattern', () => {
    expect(filterCells(planned, { workload: ['sum.*'] })).toEqual(planned);
    expect(filterCells(planned, { workload: ['*typed'] })).toHaveLength(5);
    expect(() => filterCells(planned, { workload: ['sumX*'] })).toThrow('unknown workload');
  });

  it('names what is close to an unknown word, and lists what there is', () => {
    expect(() => filterCells(planned, { lane: ['fowards'] })).toThrow(
      expect.objectContaining({
        code: 'BB_FILTER_UNKNOWN',
        message: "unknown lane 'fowards'; did you mean forwards?",
        hint: 'Known: forwards, backwards, sideways.',
      }),
    );
    expect(() => filterCells(planned, { lane: ['arrow-ipc'] })).toThrow(/^unknown lane 'arrow-ipc'$/);
    expect(() => filterCells(planned, { lane: ['forwards', 'nope*'] })).toThrow('nope*');
  });

  it('says so when each word is known but no cell has all of them', () => {
    expect(() => filterCells(planned, { workload: ['sum.boxed'], lane: ['sideways'] })).toThrow(
      errorWith('BB_FILTER_EMPTY', /^no cell matches --workload sum\.boxed --lane sideways$/),
    );
  });
});

describe('a dimension that not every cell has', () => {
  const over = planned.map((each, index) =>
    index % 2 === 0 ? each : { ...each, cell: { ...each.cell, transport: index === 1 ? 'tcp' : 'ipc' } },
  );

  it('lets only those cells through that have it', () => {
    expect(filterCells(over, { transport: ['tcp'] }).map(({ cell }) => cell.transport)).toEqual(['tcp']);
    expect(filterCells(over, { transport: ['*'] })).toHaveLength(Math.floor(planned.length / 2));
    expect(filterCells(over, {})).toHaveLength(planned.length);
  });

  it('says what there is of it', () => {
    expect(() => filterCells(over, { transport: ['udp'] })).toThrow("unknown transport 'udp'");
    expect(() => filterCells(planned, { transport: ['tcp'] })).toThrow(
      expect.objectContaining({ code: 'BB_FILTER_UNKNOWN', hint: 'No cell here has a transport.' }),
    );
  });
});

describe('the cells of a usual run', () => {
  const ofEngine = (engine: string, others: object = {}): PlannedCell[] =>
    planned.slice(0, 2).map((each, index) => {
      return { ...each, cell: { ...each.cell, id: `${engine}${index}`, engine }, ...(index === 1 && others) };
    });
  const cells = [
    ...ofEngine('arrays', { askedBy: ['lane'] }),
    ...ofEngine('maps', { isQuick: true }),
    ...ofEngine('sets', { askedBy: ['engine'] }),
    ...ofEngine('trees', { askedBy: ['engine', 'all'] }),
  ];
  const names = (request: RunRequest): string[] =>
    planRun([{ ...family, plan: () => cells }], request).plans.flatMap((plan) => idsOf(plan.cells));

  it('are those that need not be asked for', () => {
    expect(names({})).toEqual(['arrays0', 'maps0', 'maps1', 'sets0', 'trees0']);
    expect(names({ all: true })).toEqual(idsOf(cells));
  });

  it('are more if more is named', () => {
    expect(names({ filters: { engine: ['s*', 'a*'] } })).toEqual(['arrays0', 'sets0', 'sets1']);
    expect(names({ filters: { lane: ['*'], engine: ['arrays'] } })).toEqual(['arrays0', 'arrays1']);
    expect(names({ engines: { sets: 'sets:' } })).toContain('sets1');
  });

  it('are the quick ones in a quick run, if there are any', () => {
    expect(names({ quick: true })).toEqual(['maps1']);
    expect(names({ quick: true, filters: { engine: ['sets'] } })).toEqual(['sets0', 'sets1']);
  });

  it('are never without an engine whose URI is given', () => {
    const engines = { sets: 'sets:' };
    expect(names({ quick: true, engines })).toEqual(['maps1', 'sets0', 'sets1']);
    expect(names({ quick: true, filters: { engine: ['maps', 'sets'] } })).toEqual(['maps1', 'sets0', 'sets1']);
    expect(() => names({ filters: { engine: ['maps'] }, engines })).toThrow(
      expect.objectContaining({
        code: 'BB_USAGE',
        message: 'the engine sets has a URI, and nothing is measured on it here',
        hint: 'Name it, as by --engine sets, or leave its URI out.',
      }),
    );
  });
});

describe('planRun', () => {
  it('plans every number of workers, and each cell once', () => {
    const [plan] = planOf({ workers: [4, 2], filters: { workload: ['sum.boxed'], lane: ['forwards'] } });
    expect(idsOf(plan!.cells)).toEqual([
      'sums/sum.boxed/forwards/js/arrays/w2',
      'sums/sum.boxed/forwards/js/arrays/w4',
    ]);
    expect(plan!.options.workers).toBe(4);
    const [all] = planOf({ workers: [1, 2, 3] });
    expect(new Set(idsOf(all!.cells)).size).toBe(all!.cells.length);
  });

  it("has the family's rows where the user names none", () => {
    expect(planOf({})[0]!.options.rows).toBe(1000);
    expect(planOf({ rows: 7 })[0]!.cells.every(({ cell }) => cell.rows === 7)).toBe(true);
  });

  it('refuses the URI of an engine there is not, and a family there is not', () => {
    expect(() => planOf({ engines: { array: 'array:' } })).toThrow("unknown engine 'array'; did you mean arrays?");
    expect(() => planOf({ filters: { family: ['sum'] } })).toThrow("unknown family 'sum'; did you mean sums?");
  });

  it.each([{ rows: 0 }, { rows: 1.5 }, { samples: -1 }, { workers: [0] }, { timeBudgetSeconds: Number.NaN }])(
    'refuses %o',
    (request) => {
      expect(() => planOf(request)).toThrow(errorWith('BB_INVALID_ARGUMENT'));
    },
  );

  describe('with a family that is measured only if it is named', () => {
    const requests: Family<RequestValues> = {
      ...family,
      name: 'requests',
      onlyIfNamed: true,
      hasOperations: true,
      options: REQUEST_OPTIONS,
      plan: ({ connections = [1], operations = 9 }) =>
        (connections === 'all' ? [1, 2] : connections).map((count) => ({
          cell: {
            ...planned[0]!.cell,
            id: `requests/t${count}`,
            family: 'requests',
            workload: 'echo',
            engine: 'loop',
            connections: count,
            rows: operations,
          },
          group: 'g',
        })),
    };
    const familiesOf = (request: RunRequest): string[] =>
      planRun([family, requests], request).plans.map((plan) => plan.family.name);

    it('measures it if its name, or something only it has, is given', () => {
      expect(familiesOf({})).toEqual(['sums']);
      expect(familiesOf({ filters: { workload: ['sum.*'] } })).toEqual(['sums']);
      expect(familiesOf({ filters: { family: ['requests'] } })).toEqual(['requests']);
      expect(familiesOf({ filters: { family: ['sums', 'requests'] } })).toEqual(['sums', 'requests']);
      expect(familiesOf({ filters: { workload: ['echo'] } })).toEqual(['requests']);
      expect(familiesOf({ filters: { workload: ['echo', 'sum.*'] } })).toEqual(['sums', 'requests']);
      expect(familiesOf({ engines: { loop: 'loop://here' }, filters: { engine: ['loop'] } })).toEqual(['requests']);
      expect(() => familiesOf({ engines: { loop: 'loop://here' } })).toThrow('nothing is measured on it here');
      expect(() => familiesOf({ filters: { workload: ['eco'] } })).toThrow('did you mean echo?');
      expect(planRun([requests], {}).plans.map((plan) => plan.family.name)).toEqual(['requests']);
    });

    it('gives it connections and operations, and no rows', () => {
      const { config, plans } = planRun([family, requests], {
        rows: 7,
        workers: [3],
        connections: [8, 4],
        operations: 5,
        filters: { family: ['requests'] },
      });
      expect(config).toMatchObject({ rows: {}, connections: [4, 8], operations: 5 });
      expect(plans[0]!.cells.map(({ cell }) => [cell.id, cell.rows])).toEqual([
        ['requests/t4', 5],
        ['requests/t8', 5],
      ]);
    });

    it.each([{ connections: [0] }, { batch: [1.5] }, { operations: 0 }, { rate: 0 }, { rate: Number.NaN }])(
      'refuses %o',
      (request) => {
        expect(() => familiesOf(request)).toThrow(errorWith('BB_INVALID_ARGUMENT'));
      },
    );
  });
});
