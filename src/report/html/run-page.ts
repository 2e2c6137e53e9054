/** `run.html`: the report of a run as one page. */
import { completedOf, groupBy, isRequestWork, recordsById } from '../../compare/cell-groups.js';
import { noiseFloorsOf } from '../../compare/comparisons.js';
import { judgeOf, marginOf } from '../../compare/judge.js';
import { commitText, type Run } from '../../records/record.js';
import { adviceOf } from '../advice.js';
import { attributionTexts, CPU_DISAGREES, CPU_DISAGREES_NOTE, RUST_FACTOR_NOTE } from '../factor.js';
import { clientLines, hostLines } from '../host-block.js';
import { compactNote, isCompact } from '../compact.js';
import { crossingTable, isCrossing, otherCrossingLines } from '../crossing-lines.js';
import { CROSSING_NOTE, type CrossingShareOf, crossingShareOf } from '../resource-tables.js';
import { formatClock } from '../format.js';
import { paragraph, tableBlock } from '../document.js';
import { headToHeadTable } from '../head-to-head.js';
import { requestHeadToHeadTable } from '../request-tables.js';
import { startText } from '../history-report.js';
import { notesOf } from '../marks.js';
import { warmUpText, noisePlot, profileFigure, stripPlot } from './sample-plots.js';
import { disturbanceText, verdictsText, noiseText } from '../trust.js';
import { answerTable } from './answer-table.js';
import { blocksMarkup } from './blocks.js';
import { type Canvas, loadCanvas } from './canvas.js';
import { type ComparedContest, type Contest, comparedContest, contestsOf, namesOf } from './contests.js';
import { type Markup, markup } from './markup.js';
import { modelFigures } from './model-figures.js';
import { type Figure, type Section, figures, legend, listOf, pageText, sideLegend } from './page.js';
import { ratioPlot } from './ratio-plot.js';
import { anchorsOf, recordsTable, unfinishedList } from './records-table.js';
import { requestFigures } from './request-figures.js';
import { sizeFigures } from './size-figures.js';
import { CUT, garbageOf, hasCutBars, hasParts, partsOf, timePlot } from './time-plot.js';

/** The text of `run.html`. `command` is the command that measures the run again, if it is known. */
export async function renderRunHtml(run: Run, command?: string): Promise<string> {
  const canvas = await loadCanvas();
  const contests = contestsOf(run);
  const anchorOf = anchorsOf(run.records);
  const { context } = run;
  const commit = context.git === undefined ? '' : `, commit ${commitText(context.git)}`;
  const { cpu, logicalCores } = context.host;
  const host = `${cpu}, ${logicalCores} logical cores, Node.js ${context.versions['node'] ?? ''}`;
  const lead = markup`<p>${howText(run, command)}</p><p class="quiet">${startText(context)} UTC, ${host}${commit}</p>`;
  return pageText('Boundary Bench', lead, [
    answerSection(run),
    ...figuresSection('sizes', 'Time by size', sizeFigures(canvas, run), 'no verdict'),
    ...lanesSection(canvas, run, contests, anchorOf),
    ...timeSection(canvas, contests, crossingShareOf(run)),
    ...figuresSection('requests', 'Requests: batches, connections, load', requestFigures(canvas, run)),
    ...(run.model === undefined
      ? []
      : figuresSection(
          'model',
          'The cost model next to the measurements',
          modelFigures(canvas, run.model, run.records),
          'fitted',
        )),
    ...trustSection(canvas, run, contests),
    ...profilesSection(run),
    { id: 'all', title: 'All records', content: markup`${recordsTable(run.records, anchorOf)}${clientsNote(run)}` },
    { id: 'unfinished', title: 'Failed and skipped', content: unfinishedList(run.records) },
    { id: 'host', title: 'Hardware and software', content: hostContent(run) },
  ]);
}

/** The command of a run, and how long it took. */
function howText({ context, records }: Run, command: string | undefined): Markup {
  const cells = records.filter(({ outcome }) => outcome === 'completed').length;
  const time = context.seconds === undefined ? '' : ` in ${formatClock(context.seconds)}`;
  return markup`${command && markup`<code>${command}</code>: `}${cells} ${cells === 1 ? 'cell' : 'cells'}${time}`;
}

function hostContent(run: Run): Markup {
  const note = isCompact(run) ? markup`<p>${compactNote(run)}</p>` : undefined;
  return markup`${listOf(hostLines(run.context))}${note}`;
}

/** The line of the versions of other clients, below a table. */
function clientsNote({ records, context }: Run): Markup[] {
  return clientLines(completedOf(records), context).map((line) => markup`<p class="quiet">${line}</p>`);
}

/** The links to the files of profiled cells. */
function profilesSection({ profiles = [] }: Run): Section[] {
  if (profiles.length === 0) return [];
  const links = profiles.map(({ id, flameGraph, cpuProfile }) => {
    const more = cpuProfile === undefined ? undefined : markup`, ${fileLink(cpuProfile, 'CPU profile')}`;
    return markup`<li>${fileLink(flameGraph, id)}${more}</li>`;
  });
  const note =
    'The calls of a cell and their time, in a process that was not measured. Developer tools of Chrome and of editors open a CPU profile.';
  return [{ id: 'profiles', title: 'Profiles', content: markup`<p class="quiet">${note}</p><ul>${links}</ul>` }];
}

/** A link to a file beside the page. A path from a run that leads elsewhere, or has a scheme, is no link. */
function fileLink(path: string, text: string): Markup {
  const parts = path.split('/');
  const isBeside = parts.every((part) => part !== '' && part !== '..' && !/\p{Cs}/u.test(part));
  return isBeside ? markup`<a href="${parts.map(encodeURIComponent).join('/')}">${text}</a>` : markup`${text}`;
}

/** The part of the page that has the answer. */
export function answerSection(run: Run): Section {
  const advices = adviceOf(run);
  const advice = advices.map(({ engine, lines }) =>
    advices.length === 1 ? listOf(lines, 'answer') : markup`<h3>${engine}</h3>${listOf(lines, 'answer')}`,
  );
  const completed = completedOf(run.records);
  const parts = [...otherCrossingLines(completed), ...attributionTexts(completed, judgeOf(run))];
  const crossing = tableBlock(crossingTable(completed));
  const isEmpty = advices.length === 0 && !completed.some(isCrossing);
  const none = isEmpty ? markup`<p>This run compares no sides.</p>` : undefined;
  const tables = [
    answerTable(run),
    clientsNote(run),
    crossing.length === 0 ? undefined : blocksMarkup(crossing),
    parts.length === 0 ? undefined : listOf(parts, 'answer'),
  ];
  // The sentences come first, so that a screen shows them without a scroll.
  return { id: 'answer', title: 'The answer', content: markup`${advice}${tables}${none}` };
}

function lanesSection(
  canvas: Canvas,
  run: Run,
  contests: readonly Contest[],
  anchorOf: (id: string) => string | undefined,
): Section[] {
  const hrefOf = (id: string): string | undefined => {
    const anchor = anchorOf(id);
    return anchor === undefined ? undefined : `#${anchor}`;
  };
  const compared = contests
    .map((contest) => comparedContest(run, contest, hrefOf))
    .filter(({ rows }) => rows.length > 1);
  if (compared.length === 0) return [];
  const engines = groupBy(compared, ({ engine }) => engine).map((ofEngine) => ({
    engine: ofEngine[0]!.engine,
    all: ofEngine.map((contest) => laneFigure(canvas, contest)),
  }));
  const byEngine = engines.map(
    ({ engine, all }) => markup`${engines.length === 1 ? undefined : markup`<h3>${engine}</h3>`}${figures(all)}`,
  );
  const marks = notesOf(compared.flatMap(({ rows }) => rows.map(({ marks }) => marks)));
  const disagrees = compared.some(({ rows }) => rows.some(({ marks }) => marks.includes(CPU_DISAGREES)));
  if (disagrees) marks.push(CPU_DISAGREES_NOTE);
  const notes = [RUST_FACTOR_NOTE, 'A bar is the 95% interval. A name leads to its record.', ...marks];
  const content = markup`${sideLegend(
    engines.flatMap(({ all }) => all),
    'inconclusive, or the server was the limit of both',
  )}<p class="quiet">${notes.join(' ')}</p>${byEngine}${cpuFactors(run)}`;
  return [{ id: 'lanes', title: 'Lane by lane', content }];
}

/** The factors of wall time and of CPU time side by side, engine by engine. Nothing if no CPU time is known. */
function cpuFactors(run: Run): Markup | undefined {
  const known = run.comparisons.filter(({ cpu }) => cpu !== undefined);
  if (known.length === 0) return undefined;
  const [requests, rows] = [known.filter(isRequestWork), known.filter((each) => !isRequestWork(each))];
  const [recordOf, margin] = [recordsById(run.records), marginOf(run)];
  const tables = groupBy(rows, ({ engine }) => engine).map((ofEngine) => headToHeadTable(ofEngine, recordOf, margin));
  const requestTables = groupBy(requests, ({ engine }) => engine).map((ofEngine) =>
    requestHeadToHeadTable(ofEngine, recordOf, margin),
  );
  const blocks = [...tables, ...requestTables].flatMap(({ table, notes }) => [
    ...tableBlock(table),
    ...notes.map(paragraph),
  ]);
  return markup`
<details class="print"><summary>Wall time and CPU time side by side</summary>
${blocksMarkup(blocks)}${clientsNote(run)}</details>`;
}

/** The dot plot of a contest. */
export function laneFigure(canvas: Canvas, { title, reference, rows }: ComparedContest): Figure {
  const isRust = reference.side === 'rust';
  const to = rows.find(({ isReference }) => isReference === true)!.name;
  const picture = ratioPlot(canvas, {
    label: `${title}: the ${isRust ? 'Rust factor' : 'factor'} of each lane`,
    axis: `← faster    time relative to ${isRust ? "Rust's best" : 'the fastest'}    slower →`,
    reference: isRust ? 'var(--rust)' : 'var(--ink)',
    rows,
  });
  return { title, note: `1 is ${to}`, picture };
}

function timeSection(canvas: Canvas, contests: readonly Contest[], shareOf: CrossingShareOf): Section[] {
  const told = contests
    .map((contest) => ({ ...contest, records: contest.records.filter(hasParts) }))
    .filter(({ records }) => records.length > 0);
  if (told.length === 0) return [];
  const all = told.map(({ title, records }): Figure => {
    return { title, picture: timePlot(canvas, records, namesOf(records), `${title}: where the time goes`, shareOf) };
  });
  const entries = partsOf(told.flatMap(({ records }) => records)).map(({ name, color }) => {
    return { name, symbol: bar(color) };
  });
  const hasGarbage = told.some(({ records }) => records.some((record) => garbageOf(record) > 0));
  const shares = told.flatMap(({ records }) => records).flatMap((record) => shareOf(record) ?? []);
  const marks = [
    ...(hasGarbage ? [{ name: 'of which collecting garbage', symbol: bar('var(--bad)') }] : []),
    ...(shares.length === 0 ? [] : [{ name: 'crossing and JavaScript', symbol: bar('var(--napi)') }]),
    { name: 'elapsed', symbol: markup`<path d="M5 0V10" stroke="currentColor" stroke-width="3"/>` },
    ...(told.some(({ records }) => hasCutBars(records))
      ? [{ name: 'longer than the scale', symbol: markup`<text y="9" fill="currentColor">${CUT}</text>` }]
      : []),
  ];
  const note =
    'Medians of the samples, per row, operation or call. CPU time counts all cores, so it may exceed the ' +
    'elapsed time. If it is less, the cell waited. Crossing and the work of the engine within one thread were ' +
    'not measured apart.';
  const estimate =
    shares.length === 0
      ? undefined
      : markup`<p class="quiet">${CROSSING_NOTE} The thin bar below the others shows it, hollow if it is inconclusive.</p>`;
  const content = markup`${legend([...entries, ...marks])}<p class="quiet">${note}</p>${estimate}${figures(all)}`;
  return [{ id: 'time', title: 'Where the time goes', content }];
}

function bar(color: string): Markup {
  return markup`<path d="M0 1H10V9H0Z" fill="${color}"/>`;
}

function figuresSection(id: string, title: string, all: readonly Figure[], hollow?: string): Section[] {
  return all.length === 0 ? [] : [{ id, title, content: markup`${sideLegend(all, hollow)}${figures(all)}` }];
}

/** The times of samples by their index within a process, folded below the sentence about warm-up. */
function profileOfSamples(canvas: Canvas, contests: readonly Contest[]): Markup | undefined {
  const text = warmUpText(contests.flatMap(({ records }) => records));
  if (text === undefined) return undefined;
  const all = contests.flatMap(({ title, records }) => profileFigure(canvas, title, records, namesOf(records)));
  return markup`
<p>${text}</p>
<details class="print"><summary>Samples by their index within a process: ${all.length === 1 ? '1 picture' : `${all.length} pictures`}</summary>
<p class="quiet">A dot is the median over the processes of a cell, relative to the fastest index. A line that falls from left to right is warm-up.</p>
${figures(all)}</details>`;
}

function trustSection(canvas: Canvas, run: Run, contests: readonly Contest[]): Section[] {
  if (contests.length === 0) return [];
  const margin = marginOf(run);
  const measured = run.comparisons.filter(({ kind }) => kind === 'noise-floor');
  const noise = measured.length > 0 ? measured : noiseFloorsOf(run.records, margin);
  const text = noiseText(noise);
  const panel =
    text === undefined
      ? markup`<p>No cell was measured in enough processes to compare it with itself.</p>`
      : markup`<p>${text}</p>${figures([{ title: 'Each cell compared with itself', picture: noisePlot(canvas, noise, margin) }])}`;
  const strips = contests.map(({ title, records }): Figure => {
    return { title, picture: stripPlot(canvas, records, namesOf(records), `${title}: the samples by process`) };
  });
  const sentences = [verdictsText(run), disturbanceText(contests.flatMap(({ records }) => records))];
  const content = markup`${sentences.map((sentence) => (sentence === undefined ? undefined : markup`<p>${sentence}</p>`))}${panel}
<details class="print"><summary>Samples by process: ${strips.length === 1 ? '1 picture' : `${strips.length} pictures`}</summary>
<p class="quiet">A dot is a sample, a line of dots a process, × the median of the process.</p>
${figures(strips)}</details>${profileOfSamples(canvas, contests)}`;
  return [{ id: 'trust', title: 'How far to trust this run', content }];
}
