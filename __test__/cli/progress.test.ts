import { Writable } from 'node:stream';
import type { WriteStream } from 'node:tty';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { LiveProgress, PlainProgress, outcomeLine, startLine, TimeLeft } from '../../src/cli/progress.js';
import { formatClock } from '../../src/report/format.js';
import type { RunEvent, RunStarted } from '../../src/runner/events.js';
import type { Cell } from '../../src/records/record.js';
import { completed } from '../records/sample-run.js';
import { plannedCell } from '../runner/planned-cell.js';

const cellOf = (id: string): Cell => plannedCell(id).cell;

const started = (totalCells: number, forks = 0): RunEvent => ({
  type: 'run-started',
  directory: 'out',
  totalCells,
  resumedCells: 0,
  forks,
  seconds: forks * 3,
});

const opening = (id: string): RunEvent => ({ type: 'cell-opening', cell: cellOf(id), fork: 1 });

const sample = (id: string, number: number): RunEvent => ({
  type: 'sample',
  cell: cellOf(id),
  number,
  sample: { seconds: 1 },
  rowsPerSecond: 12_100_000,
});

const failed = (id: string, doneCells: number, totalCells: number): RunEvent => ({
  type: 'record',
  record: { ...cellOf(id), outcome: 'failed', error: { code: 'BB_ENGINE', message: 'it broke' } },
  doneCells,
  totalCells,
});

describe('TimeLeft', () => {
  it('guesses from the processes that have ended', () => {
    const left = new TimeLeft();
    left.note(started(10, 20), 100);
    left.note(opening('a'), 110);
    expect(left.seconds(115)).toBeUndefined();
    left.note(sample('a', 1), 116);
    left.note(opening('b'), 120);
    expect(left.seconds(120)).toBe(190);
    left.note(sample('b', 1), 121);
    left.note(opening('a'), 122);
    expect(left.seconds(122)).toBe(108);
    expect(left.seconds(125)).toBe(105);
  });

  it('counts processes that are alive together once they have taken their turns', () => {
    const left = new TimeLeft();
    left.note(started(10, 20), 100);
    for (const [at, id] of ['a', 'b', 'c', 'd'].entries()) left.note(opening(id), 100 + at);
    expect(left.seconds(104)).toBeUndefined();
    for (const id of ['b', 'a', 'd', 'c']) left.note(sample(id, 1), 130);
    left.note(opening('a'), 140);
    left.note(opening('b'), 141);
    expect(left.seconds(141)).toBe(159);
    left.note({ type: 'processes-changed', forks: 4 }, 141);
    expect(left.seconds(141)).toBe(199);
  });
});

describe('formatClock', () => {
  it.each([
    [0.4, '0 s'],
    [59.4, '59 s'],
    [59.6, '1 min 00 s'],
    [200, '3 min 20 s'],
    [3900, '1 h 05 min'],
  ])('%d -> %s', (seconds, text) => {
    expect(formatClock(seconds)).toBe(text);
  });
});

/** A terminal of 60 columns that obeys the display's control sequences, so that its visible text can be read back. */
class Screen extends Writable {
  readonly columns = 60;
  readonly lines: string[] = [''];

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    for (const character of chunk.toString()) {
      if (character === '\n') this.lines.push('');
      else this.lines[this.lines.length - 1] += character;
    }
    done();
  }

  moveCursor(_x: number, y: number): boolean {
    this.lines.length += y;
    return true;
  }

  cursorTo(): boolean {
    this.lines[this.lines.length - 1] = '';
    return true;
  }

  clearScreenDown(): boolean {
    return true;
  }
}

describe('PlainProgress', () => {
  it('names what a quick run leaves out', () => {
    const run = { ...(started(3) as RunStarted), full: { cells: 9, seconds: 80, leftOut: 'lanes row' } };
    expect(startLine(run)).toMatch(/^3 cells.*\n.* 9 cells, about 1 min 20 s\nLeft out here: lanes row$/);
  });

  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const skipped = (id: string, reason: string): RunEvent => ({
    type: 'record',
    record: { ...cellOf(id), outcome: 'skipped', reason },
    doneCells: 1,
    totalCells: 30,
  });

  it('says a reason once, and what is under way as long as nothing ends', () => {
    const screen = new Screen();
    const progress = new PlainProgress(screen);
    progress.show(started(30, 20));
    for (const id of ['x', 'y']) progress.show(skipped(id, 'no server'));
    progress.show(skipped('z', 'no client'));
    progress.show(opening('a'));
    vi.advanceTimersByTime(25_000);
    progress.show(sample('a', 1));
    progress.show(opening('b'));
    for (const id of ['c', 'd']) progress.show(failed(id, 2, 30));
    vi.advanceTimersByTime(35_000);
    progress.show({ type: 'run-finished', aborted: false, unmeasuredCells: 0 });
    vi.advanceTimersByTime(60_000);
    expect(screen.lines).toEqual([
      '30 cells, about 1 min 00 s, into out',
      '[1/30] x  skipped: no server',
      '[1/30] z  skipped: no client',
      '[1/30] now a',
      '[2/30] c  FAILED  BB_ENGINE: it broke',
      '[2/30] 1 of 20 processes, about 7 min 40 s left, now b',
      '[2/30] 1 of 20 processes, about 7 min 20 s left, now b',
      '',
    ]);
  });
});

describe('the line of a cell', () => {
  it('says why it gets no verdict', () => {
    const record = completed({ side: 'js', lane: 'row', variant: 'loop' }, [1]);
    expect(outcomeLine(record)).toMatch(/1 sample$/);
    expect(outcomeLine({ ...record, noVerdict: 'too-short' })).toMatch(/1 sample  no verdict: too short to measure$/);
  });
});

describe('LiveProgress', () => {
  it('redraws one region, keeps failures above it, and leaves nothing of itself', () => {
    const screen = new Screen();
    const progress = new LiveProgress(screen as unknown as WriteStream);
    progress.show(started(3, 15));
    progress.show(opening('a'.repeat(100)));
    expect(screen.lines).toEqual(['3 cells, about 45 s, into out', `[0/3] ${'a'.repeat(53)}`, '  preparing', '']);
    progress.show(sample('b', 2));
    progress.show(failed('c', 1, 3));
    expect(screen.lines).toEqual([
      '3 cells, about 45 s, into out',
      'c  FAILED  BB_ENGINE: it broke',
      '[0/3] b',
      '  sample 2  12.1 M rows/s',
      '',
    ]);
    progress.show({ type: 'run-finished', aborted: false, unmeasuredCells: 0 });
    expect(screen.lines).toEqual(['3 cells, about 45 s, into out', 'c  FAILED  BB_ENGINE: it broke', '']);
  });

  it('redraws the time that is left, also as long as nothing happens', () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const screen = new Screen();
    const progress = new LiveProgress(screen as unknown as WriteStream);
    progress.show(started(3, 15));
    for (const id of ['a', 'b']) {
      progress.show(opening(id));
      vi.advanceTimersByTime(1000);
      progress.show(sample(id, 1));
    }
    vi.advanceTimersByTime(19_000);
    expect(screen.lines.at(-2)).toBe('  sample 1  12.1 M rows/s  1 of 15 processes, about 0 s lef');
    progress.show({ type: 'run-finished', aborted: false, unmeasuredCells: 0 });
    vi.advanceTimersByTime(60_000);
    expect(screen.lines).toEqual(['3 cells, about 45 s, into out', '']);
  });
});
