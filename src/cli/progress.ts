import type { WriteStream } from 'node:tty';
import type { RunEvent, RunStarted } from '../runner/events.js';
import { isRequestWork } from '../compare/cell-groups.js';
import type { RunRecord } from '../records/record.js';
import { formatClock, formatCountedRate, formatDuration, formatPercent, formatShortRate } from '../report/format.js';
import { noVerdictReason } from '../report/marks.js';
import { reasonOf } from '../report/results-table.js';
import { rateOf } from '../stats/summary.js';

/** Shows the progress of a run. */
export interface Progress {
  show(event: RunEvent): void;
  /** Prints a line that stays. */
  say(line: string): void;
}

/** Makes the progress for a stream: one region that is redrawn on a terminal, else one line per finished cell. */
export function progressOn(stream: NodeJS.WriteStream, options: { readonly quiet: boolean }): Progress {
  if (options.quiet) return { show: () => {}, say: () => {} };
  if (!stream.isTTY || process.env['TERM'] === 'dumb') return new PlainProgress(stream);
  return new LiveProgress(stream as WriteStream);
}

/** The time after which progress says again what is under way and how long it will take, in milliseconds. */
export const STATUS_MS = 20_000;

/** The parts that both kinds of progress show alike, and what they know of the run. */
abstract class ShownProgress<Stream extends NodeJS.WritableStream> implements Progress {
  protected readonly stream: Stream;
  protected readonly reasons = new Reasons();
  readonly #timeLeft = new TimeLeft();
  #timer: NodeJS.Timeout | undefined;

  constructor(stream: Stream) {
    this.stream = stream;
  }

  show(event: RunEvent): void {
    this.#timeLeft.note(event, now());
    switch (event.type) {
      case 'run-started':
        this.say(startLine(event));
        // Rarely enough that it does not matter to a cell that this process measures itself.
        this.#timer = setInterval(() => this.remind(), STATUS_MS).unref();
        break;
      case 'warning':
        this.say(`warning: ${event.message}`);
        break;
      case 'run-finished':
        clearInterval(this.#timer);
        break;
      default:
    }
    this.take(event);
  }

  /** The number of cells that are done, and the time that is left. The time is empty while it is not known. */
  protected left(): { readonly cells: string; readonly time: string } {
    const { done, total } = this.#timeLeft;
    return { cells: `[${done}/${total}]`, time: this.#timeLeft.text(now()) };
  }

  abstract say(line: string): void;

  /** Shows again what is under way. */
  protected abstract remind(): void;

  /** Shows an event in its own way. */
  protected abstract take(event: RunEvent): void;
}

/** Progress as lines: one at the start, one per finished cell, and from time to time one with the time left. */
export class PlainProgress extends ShownProgress<NodeJS.WritableStream> {
  #subject = '';

  protected take(event: RunEvent): void {
    switch (event.type) {
      case 'family-opening':
        this.#subject = `preparing ${event.family}`;
        break;
      case 'cell-opening':
        this.#subject = event.cell.id;
        break;
      case 'cell-profiling':
        this.#subject = `profiling ${event.cell.id}`;
        break;
      case 'record':
        if (this.reasons.isNew(event.record)) {
          this.say(`[${event.doneCells}/${event.totalCells}] ${outcomeLine(event.record)}`);
        }
        break;
      case 'processes-changed':
        if (event.forks > 0) {
          this.say(
            `${event.forks} more ${event.forks === 1 ? 'process' : 'processes'}, since comparisons are inconclusive`,
          );
        }
        break;
      default:
    }
  }

  protected remind(): void {
    const { cells, time } = this.left();
    this.say(`${cells} ${time === '' ? '' : `${time}, `}now ${this.#subject}`);
  }

  say(line: string): void {
    this.stream.write(`${line}\n`);
  }
}

/** The reasons that have been shown, since many cells may fail or be skipped for the same one. */
export class Reasons {
  readonly #shown = new Set<string>();

  /** Whether a record has a reason of its own to be shown. A measured cell always has. */
  isNew(record: RunRecord): boolean {
    if (record.outcome === 'completed') return true;
    const reason = reasonOf(record);
    if (this.#shown.has(reason)) return false;
    this.#shown.add(reason);
    return true;
  }
}

function now(): number {
  return performance.now() / 1000;
}

/**
 * The first line of a run: `87 cells, 12 of them done before, about 9 min, into results/today`. For a quick run, a
 * second line says how long the full run takes, and a third one what this run leaves out.
 */
export function startLine({ totalCells, resumedCells, seconds, directory, resolution, full }: RunStarted): string {
  const done = resumedCells === 0 ? '' : `, ${resumedCells} of them done before`;
  const time = seconds === 0 ? '' : `, about ${formatClock(Math.max(1, seconds))}`;
  const smallest =
    resolution === undefined
      ? ''
      : `\nOn this machine now, differences from about ${formatPercent(resolution)} can be told`;
  const line = `${totalCells} cells${done}${time}, into ${directory}${smallest}`;
  if (full === undefined) return line;
  const leftOut = full.leftOut === '' ? '' : `\nLeft out here: ${full.leftOut}`;
  return `${line}\nA rough first look. In full, without --quick: ${full.cells} cells, about ${formatClock(full.seconds)}${leftOut}`;
}

/**
 * The line of a finished cell: `ID 12.1 M rows/s median 80.0 ms spread 2% 7 samples`, `12.1 K/s` of operations, or the
 * reason why there is no rate.
 */
export function outcomeLine(record: RunRecord): string {
  switch (record.outcome) {
    case 'completed': {
      const { medianSeconds, spread } = record.summary;
      const samples = record.samples.length === 1 ? '1 sample' : `${record.samples.length} samples`;
      const times = `median ${formatDuration(medianSeconds)}  spread ${formatPercent(spread)}`;
      const rate = isRequestWork(record) ? formatShortRate(rateOf(record)) : formatCountedRate(record.summary);
      const doubt = record.noVerdict === undefined ? '' : `  no verdict: ${noVerdictReason(record.noVerdict)}`;
      return `${record.id}  ${rate}  ${times}  ${samples}${doubt}`;
    }
    case 'failed':
      return `${record.id}  FAILED  ${reasonOf(record)}`;
    case 'skipped':
      return `${record.id}  skipped: ${reasonOf(record)}`;
  }
}

const REDRAW_MS = 100;

/**
 * One region on a terminal that shows the current work, redrawn on the run's events, between samples. A timer would fire in the middle of
 * timed work, so one redraws it only after a long time without events. Failures and warnings stay above it.
 */
export class LiveProgress extends ShownProgress<WriteStream> {
  #region: readonly string[] = [];
  #drawnLines = 0;
  #drawnAt = Number.NEGATIVE_INFINITY;
  #subject = '';
  #state = '';

  protected take(event: RunEvent): void {
    switch (event.type) {
      case 'family-opening':
        this.#draw(event.family, 'preparing');
        break;
      case 'cell-opening':
        this.#draw(event.cell.id, 'preparing');
        break;
      case 'warm-up':
        this.#draw(event.cell.id, `warm-up ${event.execution}`);
        break;
      case 'sample':
        this.#draw(event.cell.id, `sample ${event.number}  ${formatCountedRate(event)}`);
        break;
      case 'cell-profiling':
        this.#draw(event.cell.id, 'profiling');
        break;
      case 'record':
        if (event.record.outcome === 'failed' && this.reasons.isNew(event.record)) this.say(outcomeLine(event.record));
        break;
      case 'run-finished':
        this.#erase();
        break;
      default:
    }
  }

  say(line: string): void {
    this.#erase();
    this.stream.write(`${line}\n`);
    this.#paint();
  }

  protected remind(): void {
    if (this.#subject !== '') this.#draw(this.#subject, this.#state);
  }

  #draw(subject: string, state: string): void {
    [this.#subject, this.#state] = [subject, state];
    const { cells, time } = this.left();
    this.#region = [`${cells} ${subject}`, `  ${state}${time === '' ? '' : `  ${time}`}`];
    if (performance.now() - this.#drawnAt < REDRAW_MS) return;
    this.#erase();
    this.#paint();
  }

  #paint(): void {
    if (this.#region.length === 0) return;
    // Cut to one line, since a line that wraps takes two and could not be erased as one.
    const width = Math.max(20, (this.stream.columns || 80) - 1);
    this.stream.write(this.#region.map((line) => `${[...line].slice(0, width).join('')}\n`).join(''));
    this.#drawnLines = this.#region.length;
    this.#drawnAt = performance.now();
  }

  #erase(): void {
    if (this.#drawnLines === 0) return;
    this.stream.moveCursor(0, -this.#drawnLines);
    this.stream.cursorTo(0);
    this.stream.clearScreenDown();
    this.#drawnLines = 0;
  }
}

/**
 * Estimates the time left in a run: the processes to come take as long as those that have ended, on average. Processes that are
 * alive together are opened one after the other and then take turns, so that those opened before the last samples count as ended.
 */
export class TimeLeft {
  done = 0;
  total = 0;
  #forks = 0;
  #opened = 0;
  #ended = 0;
  #hasSampled = false;
  #startedAt = 0;
  #endedAt = 0;

  /** Takes an event. `now` is in seconds, by any one clock. */
  note(event: RunEvent, now: number): void {
    switch (event.type) {
      case 'run-started':
        this.done = event.resumedCells;
        this.total = event.totalCells;
        this.#forks = event.forks;
        break;
      case 'processes-changed':
        this.#forks += event.forks;
        break;
      case 'cell-opening':
        if (this.#opened === 0) this.#startedAt = now;
        if (this.#hasSampled) {
          this.#ended = this.#opened;
          this.#endedAt = now;
          this.#hasSampled = false;
        }
        this.#opened += 1;
        break;
      case 'sample':
        this.#hasSampled = true;
        break;
      case 'record':
        this.done = event.doneCells;
        this.total = event.totalCells;
        break;
      default:
    }
  }

  /** The processes that have ended, and the time that is left: `31 of 72 processes, about 7 s left`. Empty while no process has ended. */
  text(now: number): string {
    const left = this.seconds(now);
    return left === undefined ? '' : `${this.#ended} of ${this.#forks} processes, about ${formatClock(left)} left`;
  }

  /** The seconds left. `undefined` while there is nothing to estimate from. */
  seconds(now: number): number | undefined {
    if (this.#ended < 1) return undefined;
    const each = (this.#endedAt - this.#startedAt) / this.#ended;
    return Math.max(0, each * (this.#forks - this.#ended) - (now - this.#endedAt));
  }
}
