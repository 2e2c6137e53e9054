/** Turns: the processes of a group are alive together, and take one sample after the other, block by block. */
import os from 'node:os';

import { groupBy, placeAndWorkOf } from '../compare/cell-groups.js';
import { isFull } from '../errors.js';
import type { PlannedCell } from '../families/workload.js';
import type { Checksum, Sample } from '../records/record.js';
import { sumOf } from '../stats/sum.js';
import { type DrawIndex, seededDraws, shuffled } from '../stats/random.js';
import type { CellSampler } from './sampler.js';

/** A process that is to measure a cell in a round. */
export interface Turn {
  readonly planned: PlannedCell;
  /** The number of the process among the processes of its cell, from 1. */
  readonly fork: number;
}

/** The samples so far of a process that is alive. */
export interface Taken {
  readonly turn: Turn;
  readonly samples: readonly Sample[];
}

/** The measurements of a process in a round. */
export interface Measured extends Taken {
  readonly sampler: CellSampler;
  readonly checksum: Checksum;
}

/** The functions by which a round opens its processes, and tells what becomes of them. */
export interface TurnOptions {
  readonly signal: AbortSignal;
  /** Whether a cell can't be measured any more. It is then left out. */
  readonly isLost: (turn: Turn) => Promise<boolean>;
  readonly open: (turn: Turn) => Promise<CellSampler>;
  readonly onSample: (turn: Turn, number: number, sample: Sample) => void;
  /** Whether the rows of a process are checked one by one after its samples. */
  readonly verifies: (turn: Turn) => boolean;
  readonly onMeasured: (measured: Measured) => Promise<void>;
  readonly onFailure: (turn: Turn, error: unknown) => Promise<void>;
  /** The number of the next block of the run. */
  readonly nextBlock: () => number;
  /** The processes whose cells decide which of two close sides is the faster one. */
  readonly closest: (alive: readonly Taken[]) => ReadonlySet<Turn>;
  /** The seconds of the blocks that the closest processes take by themselves. 0: none. */
  readonly closeSeconds: number;
  /** The fewest of these blocks. */
  readonly fewestCloseBlocks: number;
  /** The connections that processes may hold open to the server of a cell together; absent: any number. */
  readonly mostConnections?: (turn: Turn) => number | undefined;
}

/** The most processes that are alive at once: each has threads, memory and open files. */
const MOST_ALIVE = 24;

/** The connections of a server that are left for what opens a cell, and asks whether the server still answers. */
const SPARE_CONNECTIONS = 4;

/** The most processes that open and warm up, or check their rows and close, at once: nothing is measured then. */
const MOST_TOGETHER = Math.min(4, os.availableParallelism());

/** The part of the memory that is free at the beginning of a round which its processes may use together. */
const MEMORY_SHARE = 0.6;

/** The most blocks of the cells that decide what is close. */
const MOST_CLOSE_BLOCKS = 40;

/** A process that is open and warm. */
interface Alive extends Taken {
  readonly sampler: CellSampler;
  readonly samples: Sample[];
  /** The wall time of its last turn. */
  turnSeconds: number;
}

/**
 * Has each process of a round measure its cell. Cells of one contest are alive together, as far as the memory goes: first the cells
 * that others are compared with. These stay while the others come and go.
 */
export async function takeTurns(round: readonly Turn[], options: TurnOptions): Promise<void> {
  const draw = seededDraws(round.reduce((seed, { fork }) => seed + fork, 1));
  for (const contest of groupBy(round, placeOf)) {
    if (options.signal.aborted) return;
    await new Contest(contest, options, draw).measure();
  }
}

/** The cells that a cell takes turns with, on any runtime. A process that no other can be alive with takes them alone. */
function placeOf({ planned: { cell, isExclusive }, fork }: Turn): string {
  if (isExclusive === true) return JSON.stringify([cell.id, fork]);
  // Engines in JavaScript alone are compared with cells of another engine of their group.
  return placeAndWorkOf({ ...cell, engine: '', runtime: undefined } as typeof cell);
}

class Contest {
  readonly #options: TurnOptions;
  readonly #draw: DrawIndex;
  /** The cells that others are compared with, and these others. */
  readonly #references: Turn[];
  readonly #challengers: Turn[];
  readonly #memory = MEMORY_SHARE * freeMemory();
  /** The number of processes that open, or close, at once: processes of one server would wait for each other there. */
  readonly #together: number;
  #alive: Alive[] = [];
  #opening = 0;

  constructor(contest: readonly Turn[], options: TurnOptions, draw: DrawIndex) {
    const isReference = ({ planned }: Turn): boolean => planned.cell.side === 'rust';
    this.#options = options;
    this.#draw = draw;
    this.#references = contest.filter(isReference);
    this.#challengers = contest.filter((turn) => !isReference(turn));
    this.#together = contest.some(({ planned }) => planned.usesServer === true) ? 1 : MOST_TOGETHER;
  }

  async measure(): Promise<void> {
    const { signal } = this.#options;
    try {
      const waiting = [...this.#references, ...this.#challengers];
      const staying = new Set(this.#references);
      while (waiting.length > 0 && !signal.aborted) {
        await this.#openSome(waiting);
        await this.#takeBlocks();
        await this.#takeCloseBlocks();
        // Without room for one more next to those that stay, all end.
        const isCrowded = this.#alive.every(({ turn }) => staying.has(turn));
        await this.#finish(({ turn }) => isCrowded || waiting.length === 0 || !staying.has(turn));
      }
    } finally {
      await Promise.all(this.#alive.map(({ sampler }) => sampler.abandon()));
    }
  }

  /** Opens as many as there is room for. At least one. */
  async #openSome(waiting: Turn[]): Promise<void> {
    const before = this.#alive.length;
    const unsure: Turn[] = [];
    const isFirst = (): boolean => this.#alive.length === before && this.#opening === 0;
    await together(this.#together, async () => {
      while (waiting.length > 0 && (isFirst() || this.#hasRoom(waiting[0]!)) && !this.#options.signal.aborted) {
        const turn = waiting.shift()!;
        if (await this.#open(turn, { unsure })) continue;
        // The server has no room for it next to the others.
        waiting.unshift(turn);
        return;
      }
    });
    for (const turn of unsure) {
      if (!this.#options.signal.aborted && !(await this.#open(turn))) waiting.unshift(turn);
    }
  }

  /**
   * Opens a cell. One that still gets faster, maybe since others have stopped opening at the same time, goes to `unsure`, if that
   * is given. Resolves to false if the server of the cell is full of processes that are alive.
   */
  async #open(turn: Turn, { unsure }: { readonly unsure?: Turn[] } = {}): Promise<boolean> {
    this.#opening += 1;
    try {
      if (await this.#options.isLost(turn)) return true;
      const sampler = await this.#options.open(turn);
      if (unsure !== undefined && this.#together > 1 && sampler.ready.noVerdict === 'still-warming-up') {
        await sampler.abandon();
        unsure.push(turn);
      } else {
        this.#alive.push({ turn, sampler, samples: [], turnSeconds: 0 });
      }
    } catch (error) {
      if (isFull(error) && this.#alive.length > 0) return false;
      await this.#options.onFailure(turn, error);
    } finally {
      this.#opening -= 1;
    }
    return true;
  }

  #hasRoom(next: Turn): boolean {
    if (this.#alive.length + this.#opening >= MOST_ALIVE) return false;
    // Processes of a server open one after the other.
    const held = sumOf([...this.#alive, { turn: next }].map(({ turn }) => turn.planned.connectionsHeld ?? 0));
    if (held + SPARE_CONNECTIONS > (this.#options.mostConnections?.(next) ?? Infinity)) return false;
    const used = this.#alive.map(({ sampler }) => sampler.ready.peakRssBytes ?? 0);
    const sum = used.reduce((total, bytes) => total + bytes, 0);
    return sum + (this.#opening + 1) * Math.max(0, ...used) <= this.#memory;
  }

  /** Has each process take its samples: one in each block, in random order. Those with fewer leave out blocks in between. */
  async #takeBlocks(): Promise<void> {
    const blocks = Math.max(0, ...this.#alive.map(({ sampler }) => sampler.ready.samples));
    for (let block = 0; block < blocks; block++) {
      const number = this.#options.nextBlock();
      for (const alive of shuffled(this.#alive, this.#draw)) {
        if (this.#options.signal.aborted) return;
        if (isIn(block, alive.sampler.ready.samples, blocks)) await this.#take(alive, number);
      }
    }
  }

  /**
   * Has the processes that decide a close contest take more samples, in blocks of their own. Such a block is short, so that less of
   * the drift of the machine is within it. No process has to open for it.
   */
  async #takeCloseBlocks(): Promise<void> {
    const { closest, closeSeconds, fewestCloseBlocks, signal, nextBlock } = this.#options;
    if (closeSeconds === 0) return;
    const turns = closest(this.#alive);
    const close = this.#alive.filter(({ turn }) => turns.has(turn));
    const blockSeconds = sumOf(close.map(({ turnSeconds }) => turnSeconds));
    const room = Math.floor(closeSeconds / blockSeconds);
    const blocks = Math.min(Math.max(room, fewestCloseBlocks), MOST_CLOSE_BLOCKS);
    for (let block = 0; block < blocks && close.length > 0; block++) {
      const number = nextBlock();
      for (const alive of shuffled(close, this.#draw)) {
        if (signal.aborted) return;
        if (this.#alive.includes(alive)) await this.#take(alive, number);
      }
    }
  }

  async #take(alive: Alive, block: number): Promise<void> {
    const { turn, sampler, samples } = alive;
    const startedAt = performance.now();
    try {
      const sample = { ...(await sampler.take()), block };
      alive.turnSeconds = (performance.now() - startedAt) / 1000;
      samples.push(sample);
      this.#options.onSample(turn, samples.length, sample);
    } catch (error) {
      await this.#drop(alive, error);
    }
  }

  async #finish(isMeant: (alive: Alive) => boolean): Promise<void> {
    const waiting = this.#alive.filter(isMeant);
    await together(this.#together, async () => {
      while (waiting.length > 0 && !this.#options.signal.aborted) await this.#finishOne(waiting.shift()!);
    });
  }

  async #finishOne(alive: Alive): Promise<void> {
    const { turn, sampler, samples } = alive;
    try {
      const checksum = await sampler.result(this.#options.verifies(turn));
      await sampler.close();
      this.#alive = this.#alive.filter((other) => other !== alive);
      await this.#options.onMeasured({ turn, sampler, samples, checksum });
    } catch (error) {
      await this.#drop(alive, error);
    }
  }

  async #drop(alive: Alive, error: unknown): Promise<void> {
    this.#alive = this.#alive.filter((other) => other !== alive);
    await alive.sampler.abandon();
    await this.#options.onFailure(alive.turn, error);
  }
}

/** Runs the same work `count` times at once. */
async function together(count: number, work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: count }, work));
}

/** Whether a process that takes part in `count` of all `blocks`, evenly, takes part in the block of this index. */
function isIn(block: number, count: number, blocks: number): boolean {
  return Math.floor(((block + 1) * count) / blocks) > Math.floor((block * count) / blocks);
}

/** The bytes of memory that can be used, also by the limit of a container if Node knows it. */
function freeMemory(): number {
  const available = (process as { availableMemory?: () => number }).availableMemory?.() ?? os.freemem();
  return Math.max(available, 0);
}
