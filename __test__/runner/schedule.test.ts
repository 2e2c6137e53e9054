import { describe, expect, it } from 'vitest';
import {
  type Contestant,
  type Ending,
  type SamplingPolicy,
  measureInterleaved,
  rotation,
  samplingPolicy,
} from '../../src/runner/schedule.js';

/** A cell whose executions take given times, on a clock that only executions advance; the last time repeats. */
class ScriptedCell implements Contestant {
  readonly executions: string[] = [];
  readonly endings: Ending[] = [];
  readonly name: string;
  readonly #times: number[];
  readonly #journal: string[];
  readonly #untimedSeconds: number;

  constructor(name: string, times: number[], journal: string[] = [], untimedSeconds = 0) {
    this.name = name;
    this.#times = times;
    this.#journal = journal;
    this.#untimedSeconds = untimedSeconds;
  }

  async execute(phase: 'warm-up' | 'sample') {
    this.executions.push(phase);
    if (phase === 'sample') this.#journal.push(this.name);
    const seconds = this.#times.length > 1 ? this.#times.shift()! : this.#times[0]!;
    return Number.isNaN(seconds) ? undefined : { seconds, elapsedSeconds: seconds + this.#untimedSeconds };
  }

  async finish(ending: Ending) {
    this.endings.push(ending);
    this.#journal.push(`${this.name} ${ending}`);
  }

  count(phase: 'warm-up' | 'sample'): number {
    return this.executions.filter((each) => each === phase).length;
  }
}

const policy: SamplingPolicy = samplingPolicy(undefined, 10);

describe('rotation', () => {
  it('goes forwards, backwards, forwards', () => {
    const turns = rotation(['A', 'B', 'C'], () => false);
    const order = Array.from({ length: 9 }, () => turns.next().value);
    expect(order.join('')).toBe('ABCCBAABC');
  });

  it('leaves out an item as soon as it is finished, in the middle of a turn too', () => {
    const finished = new Set<string>();
    const order: string[] = [];
    for (const item of rotation(['A', 'B', 'C'], (each) => finished.has(each))) {
      order.push(item);
      if (order.length === 2) finished.add('C');
      if (order.length === 5) finished.add('A').add('B');
    }
    expect(order.join('')).toBe('ABBAA');
  });

  it('is empty of nothing', () => {
    expect([...rotation([], () => false)]).toEqual([]);
  });
});

describe('measureInterleaved', () => {
  it('interleaves the samples A B C, C B A, and ends each cell by itself', async () => {
    const journal: string[] = [];
    await measureInterleaved(
      ['A', 'B', 'C'].map((name) => new ScriptedCell(name, [1], journal)),
      samplingPolicy(3, 10),
    );
    expect(journal.join(', ')).toBe('A, B, C, C, B, A, A, A enough, B, B enough, C, C enough');
  });

  it('ends a steady cell at the minimum and goes on with one that is not', async () => {
    const steady = new ScriptedCell('steady', [1]);
    // Two warm-ups, then five samples that spread, then samples that agree.
    const settling = new ScriptedCell('settling', [1, 1, 1, 2, 1, 2, 1, 1]);
    await measureInterleaved([steady, settling], samplingPolicy(undefined, 1000));
    expect(steady.count('sample')).toBe(5);
    expect(steady.endings).toEqual(['steady']);
    expect(settling.count('sample')).toBeGreaterThan(5);
    expect(settling.endings).toEqual(['steady']);
  });

  it('ends an unsteady cell when its budget is spent, untimed work included', async () => {
    const times = Array.from({ length: 400 }, (_, index) => (index % 2 === 0 ? 1 : 2));
    const cell = new ScriptedCell('cell', times, [], 8.5);
    await measureInterleaved([cell], samplingPolicy(undefined, 100));
    // The warm-up spends 9.5 + 10.5 + 9.5 of its 25; the samples 10.5 and 9.5 in turn, until 100 are spent.
    expect(cell.count('warm-up')).toBe(3);
    expect(cell.count('sample')).toBe(7);
    expect(cell.endings).toEqual(['budget']);
  });

  it('takes five samples however small the budget is', async () => {
    const cell = new ScriptedCell('cell', [1, 2, 3, 4, 5, 6]);
    await measureInterleaved([cell], samplingPolicy(undefined, 0));
    expect(cell.count('warm-up')).toBe(1);
    expect(cell.count('sample')).toBe(5);
  });

  it('takes exactly the samples that the user asks for', async () => {
    const wild = Array.from({ length: 50 }, (_, index) => index + 1);
    for (const samples of [1, 2, 12]) {
      const cell = new ScriptedCell('cell', [...wild]);
      await measureInterleaved([cell], samplingPolicy(samples, 0));
      expect(cell.count('sample')).toBe(samples);
      expect(cell.endings).toEqual(['enough']);
    }
  });

  it('takes no more than the maximum of a cell that never settles', async () => {
    const times = Array.from({ length: 400 }, (_, index) => (index % 2 === 0 ? 1e-6 : 2e-6));
    const cell = new ScriptedCell('cell', times);
    await measureInterleaved([cell], policy);
    expect(cell.count('sample')).toBe(policy.maximumSamples);
    expect(cell.endings).toEqual(['enough']);
  });

  it('warms up until two executions agree, but five times at most', async () => {
    const settling = new ScriptedCell('settling', [0.9, 0.5, 0.3, 0.29, 0.29]);
    const restless = new ScriptedCell('restless', [0.1, 0.2, 0.1, 0.2, 0.1, 0.2]);
    await measureInterleaved([settling, restless], policy);
    expect(settling.count('warm-up')).toBe(4);
    expect(restless.count('warm-up')).toBe(5);
  });

  it('drops a cell that fails, in its warm-up or in a sample, and finishes the others', async () => {
    const journal: string[] = [];
    const cells = [
      new ScriptedCell('early', [Number.NaN], journal),
      new ScriptedCell('late', [1, 1, 1, Number.NaN], journal),
      new ScriptedCell('sound', [1], journal),
    ];
    await measureInterleaved(cells, samplingPolicy(3, 1000));
    expect(cells.map(({ endings }) => endings)).toEqual([['failed'], ['failed'], ['enough']]);
    expect(journal.filter((entry) => entry === 'sound')).toHaveLength(3);
  });

  it('executes nothing more once the signal aborts, and tells no unfinished cell', async () => {
    const controller = new AbortController();
    const cells = ['A', 'B'].map((name) => new ScriptedCell(name, [1]));
    const second = cells[1]!;
    const execute = second.execute.bind(second);
    second.execute = async (phase) => {
      if (phase === 'sample') controller.abort();
      return execute(phase);
    };
    await measureInterleaved(cells, policy, controller.signal);
    expect(cells.map((cell) => cell.count('sample'))).toEqual([1, 1]);
    expect(cells.flatMap(({ endings }) => endings)).toEqual([]);
  });

  it('finishes the cells that have their minimum of samples when the signal aborts', async () => {
    const controller = new AbortController();
    // The cells never get steady: the spread of 1 and 2 is too wide.
    const cells = ['A', 'B'].map((name) => new ScriptedCell(name, [1, 1, 2, 1, 2, 1, 2, 1, 2]));
    const [first, second] = cells as [ScriptedCell, ScriptedCell];
    const execute = second.execute.bind(second);
    second.execute = async (phase) => {
      const execution = await execute(phase);
      if (first.count('sample') === policy.minimumSamples) controller.abort();
      return execution;
    };
    await measureInterleaved(cells, { ...policy, budgetSeconds: 1000 }, controller.signal);
    expect(first.endings).toEqual(['interrupted']);
    expect(second.endings).toEqual(second.count('sample') >= policy.minimumSamples ? ['interrupted'] : []);
  });
});
