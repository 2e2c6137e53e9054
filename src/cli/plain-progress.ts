import type { RunRecord } from '../records/record.js';
import { formatDuration, formatPercent, formatRowRate } from '../report/format.js';
import type { RunListener } from '../runner/events.js';

/** One line at the start, and one for each finished cell. */
export function plainProgress(writeLine: (line: string) => void): RunListener {
  return (event) => {
    switch (event.type) {
      case 'run-started':
        writeLine(startLine(event));
        break;
      case 'record':
        writeLine(`[${event.doneCells}/${event.totalCells}] ${outcomeLine(event.record)}`);
        break;
      case 'warning':
        writeLine(`warning: ${event.message}`);
        break;
      default:
    }
  };
}

export function startLine(run: { totalCells: number; resumedCells: number; directory: string }): string {
  const done = run.resumedCells === 0 ? '' : `, ${run.resumedCells} of them done before`;
  return `${run.totalCells} cells${done}, into ${run.directory}`;
}

/** `insert.bulk/...  12.1 M rows/s  median 80.0 ms  spread 2%  7 samples`, or why there is no rate. */
export function outcomeLine(record: RunRecord): string {
  switch (record.outcome) {
    case 'completed': {
      const { rowsPerSecond, medianSeconds, spread } = record.summary;
      const samples = record.samples.length === 1 ? '1 sample' : `${record.samples.length} samples`;
      const times = `median ${formatDuration(medianSeconds)}  spread ${formatPercent(spread)}`;
      return `${record.id}  ${formatRowRate(rowsPerSecond)}  ${times}  ${samples}`;
    }
    case 'failed':
      return `${record.id}  FAILED  ${record.error.code}: ${record.error.message}`;
    case 'skipped':
      return `${record.id}  skipped: ${record.reason}`;
  }
}
