import type { RunRecord } from '../records/record.js';
import { formatCountedRate, formatDuration, formatPercent } from '../report/format.js';
import type { RunEvent } from '../runner/events.js';
import type { Progress } from './progress.js';
import { formatClock } from './time-left.js';

/** Progress as one line at the start, and one per finished cell. */
export class PlainProgress implements Progress {
  readonly #stream: NodeJS.WritableStream;

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream;
  }

  show(event: RunEvent): void {
    switch (event.type) {
      case 'run-started':
        this.say(startLine(event));
        break;
      case 'record':
        this.say(`[${event.doneCells}/${event.totalCells}] ${outcomeLine(event.record)}`);
        break;
      case 'warning':
        this.say(`warning: ${event.message}`);
        break;
      default:
    }
  }

  say(line: string): void {
    this.#stream.write(`${line}\n`);
  }
}

/** The first line of a run: `87 cells, 12 of them done before, about 9 min, into results/today`. */
export function startLine({ totalCells, resumedCells, seconds, directory }: RunStarted): string {
  const done = resumedCells === 0 ? '' : `, ${resumedCells} of them done before`;
  const time = seconds === 0 ? '' : `, about ${formatClock(Math.max(1, seconds))}`;
  return `${totalCells} cells${done}${time}, into ${directory}`;
}

type RunStarted = Extract<RunEvent, { readonly type: 'run-started' }>;

/** The line of a finished cell: `ID 12.1 M rows/s median 80.0 ms spread 2% 7 samples`, or the reason why there is no rate. */
export function outcomeLine(record: RunRecord): string {
  switch (record.outcome) {
    case 'completed': {
      const { medianSeconds, spread } = record.summary;
      const samples = record.samples.length === 1 ? '1 sample' : `${record.samples.length} samples`;
      const times = `median ${formatDuration(medianSeconds)}  spread ${formatPercent(spread)}`;
      return `${record.id}  ${formatCountedRate(record.summary)}  ${times}  ${samples}`;
    }
    case 'failed':
      return `${record.id}  FAILED  ${record.error.code}: ${record.error.message}`;
    case 'skipped':
      return `${record.id}  skipped: ${record.reason}`;
  }
}
