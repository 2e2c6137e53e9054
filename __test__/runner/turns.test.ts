import { availableParallelism } from 'node:os';
import { setTimeout } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import type { PlannedCell } from '../../src/families/workload.js';
import type { Sample } from '../../src/records/record.js';
import type { CellSampler } from '../../src/runner/sampler.js';
import { type Measured, type Turn, takeTurns } from '../../src/runner/turns.js';
import { plannedCell as planned } from './planned-cell.js';

const turnsOf = (...cells: PlannedCell[]): Turn[] => cells.map((each) => ({ planned: each, fork: 1 }));

interface Trial {
  readonly log: string[];
  readonly measured: Measured[];
  readonly failed: string[];
  /** The most cells that were opening at once. */
  readonly mostOpening: number;
}

/** Takes the turns of cells that take `samples` samples and use `memory`; those in `broken` fail at their second sample. */
async function trial(
  turns: readonly Turn[],
  {
    samples = 4,
    memory = 0,
    broken = [] as readonly string[],
    few = {} as Readonly<Record<string, number>>,
    /** Cells that still get faster when they are opened together with others. */
    restless = [] as readonly string[],
    /** Cells that decide what is close, the seconds of their own blocks, and the milliseconds of a turn. */
    close = [] as readonly string[],
    closeSeconds = 0,
    turnMs = 0,
    /** The most cells that the server takes, and the number of connections that it tells as its limit. */
    places = Infinity,
    mostConnections = Infinity,
  } = {},
): Promise<Trial> {
  const [log, failed]: [string[], string[]] = [[], []];
  const measured: Measured[] = [];
  let [block, opening, mostOpening, alive] = [0, 0, 0, 0];
  await takeTurns(turns, {
    signal: new AbortController().signal,
    isLost: async ({ planned: { cell } }) => cell.id === 'lost',
    open: async ({ planned: { cell } }): Promise<CellSampler> => {
      log.push(`open ${cell.id}`);
      if (alive === places) throw new Error('ER_CON_COUNT_ERROR: Too many connections');
      alive += 1;
      opening += 1;
      await setTimeout(5);
      const isBeside = opening > 1;
      mostOpening = Math.max(mostOpening, opening);
      opening -= 1;
      let taken = 0;
      const isRestless = isBeside && restless.includes(cell.id);
      return {
        ready: {
          samples: few[cell.id] ?? samples,
          peakRssBytes: memory,
          ...(isRestless && { noVerdict: 'still-warming-up' }),
        },
        take: async () => {
          taken += 1;
          log.push(`take ${cell.id}`);
          if (turnMs > 0) await setTimeout(turnMs);
          if (taken === 2 && broken.includes(cell.id)) throw new Error('broken');
          return { seconds: 1 };
        },
        result: async (verify) => {
          log.push(`result ${cell.id} ${verify}`);
          return { rows: 1, sums: {} };
        },
        close: async () => void (log.push(`close ${cell.id}`), (alive -= 1)),
        abandon: async () => void (log.push(`abandon ${cell.id}`), (alive -= 1)),
      };
    },
    onSample: () => {},
    verifies: ({ fork }) => fork === 1,
    onMeasured: async (each) => void measured.push(each),
    onFailure: async ({ planned: { cell } }) => void failed.push(cell.id),
    nextBlock: () => (block += 1),
    closest: (alive) => new Set(alive.map(({ turn }) => turn).filter((turn) => close.includes(turn.planned.cell.id))),
    closeSeconds,
    fewestCloseBlocks: 4,
    mostConnections: () => mostConnections,
  });
  return { log, measured, failed, mostOpening };
}

const blocksOf = (samples: readonly Sample[]): (number | undefined)[] => samples.map((sample) => sample.block);

describe('the processes of a contest', () => {
  it('are all open before the first sample, and take one each in every block, in changing order', async () => {
    const { log, measured } = await trial(turnsOf(planned('a'), planned('b'), planned('rust', { side: 'rust' })), {
      samples: 10,
    });
    expect(log.slice(0, 3)).toEqual(['open rust', 'open a', 'open b']);
    expect(log[3]).toMatch(/^take/);
    const taken = log.filter((entry) => entry.startsWith('take'));
    const blocks = Array.from({ length: 10 }, (_, index) => taken.slice(3 * index, 3 * index + 3));
    for (const block of blocks) expect(block.toSorted()).toEqual(['take a', 'take b', 'take rust']);
    expect(new Set(blocks.map((block) => block.join())).size).toBeGreaterThan(2);
    for (const { samples } of measured) expect(blocksOf(samples)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(log.slice(-6).every((entry) => /^(result|close)/.test(entry))).toBe(true);
  });

  const several = ['a', 'b', 'c', 'd', 'e'];

  it('open some at a time, but the cells of a server one after the other', async () => {
    const own = await trial(turnsOf(...several.map((name) => planned(name))));
    expect(own.mostOpening).toBe(Math.min(4, availableParallelism()));
    const served = await trial(turnsOf(...several.map((name) => planned(name, {}, { usesServer: true }))));
    expect(served.mostOpening).toBe(1);
  });

  it('are no more at once than their server has connections for, by its limit or by its refusal', async () => {
    const cells = [planned('rust', { side: 'rust' }), ...several.map((name) => planned(name))];
    const turns = turnsOf(...cells.map((cell) => ({ ...cell, usesServer: true, connectionsHeld: 33 })));
    const told = await trial(turns, { mostConnections: 151, places: 4 });
    expect(told.log.slice(0, 5)).toEqual(['open rust', 'open a', 'open b', 'open c', expect.stringMatching(/^take/)]);
    const found = await trial(turns, { places: 2 });
    // Refused while others are there, and opened again after them.
    expect(found.log.slice(0, 4)).toEqual(['open rust', 'open a', 'open b', expect.stringMatching(/^take/)]);
    for (const { failed, measured } of [told, found]) {
      expect(failed).toEqual([]);
      expect(measured).toHaveLength(6);
    }
    // Without any other of ours, the refusal is the cell's failure.
    expect((await trial(turnsOf(cells[1]!), { places: 0 })).failed).toEqual(['a']);
  });

  it.runIf(availableParallelism() > 1)('open again alone if they still got faster while others opened', async () => {
    const { log, measured } = await trial(turnsOf(...several.map((name) => planned(name))), { restless: ['b'] });
    expect(log.filter((entry) => entry === 'open b')).toHaveLength(2);
    expect(log.filter((entry) => entry === 'abandon b')).toHaveLength(1);
    expect(measured).toHaveLength(several.length);
    expect(measured.every(({ sampler }) => sampler.ready.noVerdict === undefined)).toBe(true);
  });

  it('come and go next to the reference if there is no room for all', async () => {
    const challengers = ['a', 'b', 'c', 'd'].map((name) => planned(name));
    const { log, measured } = await trial(turnsOf(planned('rust', { side: 'rust' }), ...challengers), {
      samples: 2,
      memory: Number.MAX_SAFE_INTEGER / 8,
    });
    expect(log.filter((entry) => entry === 'open rust')).toHaveLength(1);
    expect(measured.map(({ turn }) => turn.planned.cell.id).toSorted()).toEqual(['a', 'b', 'c', 'd', 'rust']);
  });

  it('that are to take fewer samples than others leave out blocks', async () => {
    const { measured } = await trial(turnsOf(planned('a'), planned('slow')), { samples: 6, few: { slow: 2 } });
    const slow = measured.find(({ turn }) => turn.planned.cell.id === 'slow');
    expect(blocksOf(slow!.samples)).toEqual([3, 6]);
  });

  it('take more samples if they decide a close comparison, in blocks of their own', async () => {
    const cells = turnsOf(planned('rust', { side: 'rust' }), planned('a'), planned('b'));
    const close = ['rust', 'a'];
    const { log, measured } = await trial(cells, { samples: 2, close, closeSeconds: 0.4, turnMs: 20 });
    const [rust, a, b] = ['rust', 'a', 'b'].map(
      (name) => measured.find(({ turn }) => turn.planned.cell.id === name)!.samples,
    );
    expect(blocksOf(b!)).toEqual([1, 2]);
    expect(blocksOf(a!).slice(0, 3)).toEqual([1, 2, 3]);
    expect(blocksOf(rust!)).toEqual(blocksOf(a!));
    // As many as there is time for: fewer if a turn takes longer than its work.
    expect(a!.length).toBeGreaterThanOrEqual(2 + 4);
    expect(a!.length).toBeLessThanOrEqual(2 + 10);
    expect(log.filter((entry) => entry.startsWith('open'))).toHaveLength(3);
  });

  it('take at least four samples if they are close, and at most forty', async () => {
    const cells = turnsOf(planned('rust', { side: 'rust' }), planned('a'));
    const close = ['rust', 'a'];
    const blocks = async (closeSeconds: number): Promise<number> => {
      const { measured } = await trial(cells, { samples: 2, close, closeSeconds });
      return measured[0]!.samples.length - 2;
    };
    expect(await blocks(Number.MIN_VALUE)).toBe(4);
    expect(await blocks(1e6)).toBe(40);
    expect(await blocks(0)).toBe(0);
  });

  it('continue if one process fails, or one cell has lost its server', async () => {
    const turns = turnsOf(planned('a'), planned('b'), planned('lost'));
    const { log, measured, failed } = await trial(turns, { broken: ['b'] });
    expect(failed).toEqual(['b']);
    expect(measured.map(({ turn }) => turn.planned.cell.id)).toEqual(['a']);
    expect(log.filter((entry) => entry === 'abandon b')).toHaveLength(1);
    expect(log).not.toContain('open lost');
  });
});

describe('cells that have nothing to do with each other', () => {
  it.each([
    ['other contests', planned('a', { workers: 1 }), planned('b', { workers: 2 })],
    [
      'cells that nothing can be alive with',
      planned('a', {}, { isExclusive: true }),
      planned('b', {}, { isExclusive: true }),
    ],
  ])('are measured one after the other: %s', async (_, first, second) => {
    const { log } = await trial(turnsOf(first, second), { samples: 1 });
    expect(log).toEqual([
      'open a',
      'take a',
      'result a true',
      'close a',
      'open b',
      'take b',
      'result b true',
      'close b',
    ]);
  });
});
