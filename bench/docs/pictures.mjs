/** The pictures of the pages, by the names of their files in docs/pictures, made of the committed runs. */
import { loadCanvas } from '../../dist/report/html/canvas.js';
import { comparedContest, contestsOf } from '../../dist/report/html/contests.js';
import { modelFigures } from '../../dist/report/html/model-figures.js';
import { pictureText } from '../../dist/report/html/picture.js';
import { loadFigure, requestFigures } from '../../dist/report/html/request-figures.js';
import { laneFigure } from '../../dist/report/html/run-page.js';
import { sideBars } from '../../dist/report/html/side-bars.js';
import { workloadAnswersOf } from '../../dist/report/workload-answers.js';
import { MAIN, newestRun, newestText } from './runs.mjs';

const canvas = await loadCanvas();

/** The figures of the model that show how well it fits, and its use. */
const MODEL_FIGURES = new Set([
  'rows in: predicted and measured',
  'rows in: a call by its size',
  'bytes in: a call by its size',
]);

const PICTURES = {
  main: () => ({
    title: 'The best of Rust, of the addon and of the other clients by workload, in rows or queries per second',
    figures: workloadAnswersOf(newestRun(MAIN))
      .filter(({ best }) => Object.keys(best).length === 3)
      .map((answer) => sideBars(canvas, answer)),
    columns: 2,
  }),
  lanes: () => ({
    title: 'Each lane of each side beside the best of Rust on the embedded engine',
    figures: lanes(MAIN, ({ engine, workers }) => engine === 'embedded' && workers === 1),
    columns: 2,
    hollow: 'inconclusive',
  }),
  memory: () => ({
    title: 'Each lane of each side beside the best of Rust on bare memory',
    figures: lanes('memory', ({ engine, workers }) => engine === 'memory' && workers === 1),
    columns: 2,
    hollow: 'inconclusive',
  }),
  crossing: () => ({
    title: 'What a call costs by what is passed, beside a function of Rust that is called from Rust',
    figures: lanes('boundary', ({ workload }) =>
      ['numbers', 'text_in.short', 'record_in', 'bytes_in.4096'].includes(workload),
    ),
    columns: 2,
    hollow: 'inconclusive',
  }),
  requests: () => ({
    title: 'Throughput of the clients of keys and values, by the batch and by the connections',
    figures: requestFigures(canvas, newestRun('kv')).filter(({ title }) => title.startsWith('get on ')),
    columns: 2,
  }),
  'offered-load': () => {
    const { steps } = JSON.parse(newestText('offered-load'));
    const workloads = [...new Set(steps.map(({ family, workload }) => `${family} ${workload}`))];
    const figures = workloads.flatMap((place) =>
      loadFigure(
        canvas,
        place,
        steps
          .filter(({ family, workload }) => `${family} ${workload}` === place)
          .map(({ side, variant, offered, latency: { p50, p99 } }) => ({ side, name: variant, offered, p50, p99 })),
      ),
    );
    return { title: 'Latency of each client against the load that it was offered', figures, columns: 2 };
  },
  model: () => ({
    title: 'The time of a call by the cost model, beside the measured time and by its size',
    figures: modelFigures(canvas, newestRun('model').model, []).filter(({ title }) => MODEL_FIGURES.has(title)),
    columns: 2,
    hollow: 'fitted',
  }),
};

/** The names of the files with their texts. */
export function pictureFiles() {
  return Object.entries(PICTURES).map(([name, pictureOf]) => [`${name}.svg`, pictureText(pictureOf())]);
}

/** The figures of the contests whose cells are asked for. */
function lanes(kind, isAsked) {
  const run = newestRun(kind);
  return contestsOf(run)
    .filter(({ records }) => records.every(isAsked))
    .map((contest) =>
      laneFigure(
        canvas,
        comparedContest(run, contest, () => undefined),
      ),
    );
}
