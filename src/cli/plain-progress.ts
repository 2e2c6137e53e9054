import { isRequestWork } from '../compare/cell-groups.js';
import type { RunRecord } from '../records/record.js';
import { formatClock, formatCountedRate, formatDuration, formatPercent, formatShortRate } from '../report/format.js';
import { noVerdictReason } from '../report/marks.js';
import { reasonOf } from '../report/results-table.js';
import type { RunEvent, RunStarted } from '../runner/events.js';
import { rateOf } from '../stats/summary.js';
import { TimeLeft } from './time-left.js';

/** The time after which progress says again what is under way and how long it will take, in milliseconds. */
export const STATUS_MS = 20_000;

/** Progress as lines: one at the start, one per finished cell, and from time to time one with the time left. */
export class PlainProgress {
  readonly #stream: NodeJS.WritableStream;
  readonly #timeLeft = new TimeLeft();
  readonly #reasons = new Reasons();
  #subject = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream;
  }

  show(event: RunEvent): void {
    this.#timeLeft.note(event, now());
    switch (event.type) {
      case 'run-started':
        this.say(startLine(event));
        // Rarely enough that it does not matter to a cell that this process measures itself.
        this.#timer = setInterval(() => this.#sayStatus(), STATUS_MS).unref();
        break;
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
        if (this.#reasons.isNew(event.record)) {
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
      case 'warning':
        this.say(`warning: ${event.message}`);
        break;
      case 'run-finished':
        clearInterval(this.#timer);
        break;
      default:
    }
  }

  #sayStatus(): void {
    const { done, total } = this.#timeLeft;
    const time = this.#timeLeft.text(now());
    this.say(`[${done}/${total}] ${time === '' ? '' : `${time}, `}now ${this.#subject}`);
  }

  say(line: string): void {
    this.#stream.write(`${line}\n`);
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
