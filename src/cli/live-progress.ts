import type { WriteStream } from 'node:tty';
import { formatCountedRate } from '../report/format.js';
import type { RunEvent } from '../runner/events.js';
import { Reasons, STATUS_MS, outcomeLine, startLine } from './plain-progress.js';
import { TimeLeft } from './time-left.js';

const REDRAW_MS = 100;

/**
 * One region on a terminal that shows the current work, redrawn on the run's events, between samples. A timer would fire in the middle of
 * timed work, so one redraws it only after a long time without events. Failures and warnings stay above it.
 */
export class LiveProgress {
  readonly #stream: WriteStream;
  readonly #timeLeft = new TimeLeft();
  readonly #reasons = new Reasons();
  #region: readonly string[] = [];
  #drawnLines = 0;
  #drawnAt = Number.NEGATIVE_INFINITY;
  #subject = '';
  #state = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(stream: WriteStream) {
    this.#stream = stream;
  }

  show(event: RunEvent): void {
    this.#timeLeft.note(event, performance.now() / 1000);
    switch (event.type) {
      case 'run-started':
        this.say(startLine(event));
        this.#timer = setInterval(() => this.#drawAgain(), STATUS_MS).unref();
        break;
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
        if (event.record.outcome === 'failed' && this.#reasons.isNew(event.record)) this.say(outcomeLine(event.record));
        break;
      case 'warning':
        this.say(`warning: ${event.message}`);
        break;
      case 'run-finished':
        clearInterval(this.#timer);
        this.#erase();
        break;
    }
  }

  say(line: string): void {
    this.#erase();
    this.#stream.write(`${line}\n`);
    this.#paint();
  }

  #drawAgain(): void {
    if (this.#subject !== '') this.#draw(this.#subject, this.#state);
  }

  #draw(subject: string, state: string): void {
    [this.#subject, this.#state] = [subject, state];
    const { done, total } = this.#timeLeft;
    const time = this.#timeLeft.text(performance.now() / 1000);
    this.#region = [`[${done}/${total}] ${subject}`, `  ${state}${time === '' ? '' : `  ${time}`}`];
    if (performance.now() - this.#drawnAt < REDRAW_MS) return;
    this.#erase();
    this.#paint();
  }

  #paint(): void {
    if (this.#region.length === 0) return;
    // Cut to one line, since a line that wraps takes two and could not be erased as one.
    const width = Math.max(20, (this.#stream.columns || 80) - 1);
    this.#stream.write(this.#region.map((line) => `${[...line].slice(0, width).join('')}\n`).join(''));
    this.#drawnLines = this.#region.length;
    this.#drawnAt = performance.now();
  }

  #erase(): void {
    if (this.#drawnLines === 0) return;
    this.#stream.moveCursor(0, -this.#drawnLines);
    this.#stream.cursorTo(0);
    this.#stream.clearScreenDown();
    this.#drawnLines = 0;
  }
}
