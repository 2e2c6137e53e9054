/** The tables of `bench/lab/hyper-sweep.mjs`. */
import { rateRatio } from '../../dist/compare/rate-ratio.js';
import { columns, paragraph, tableBlock } from '../../dist/report/document.js';
import { UNKNOWN, formatFactorInterval, formatRateOf } from '../../dist/report/format.js';
import { rateOf } from '../../dist/stats/summary.js';

/** The part of the best median rate that the knee of a sweep reaches. */
const KNEE = 0.95;

const SIDES = ['rust', 'napi'];

/** The sweeps, each with its name and with the completed records of each side, in the order of their settings. */
export function sweepsOf(records) {
  return [...new Set(records.map(({ workload }) => workload))].map((workload) => {
    const isOf = (side) => (record) =>
      record.workload === workload && record.side === side && record.outcome === 'completed';
    return [workload, SIDES.map((side) => records.filter(isOf(side)))];
  });
}

/** The table of one sweep and its knees. */
export function sweepBlocks(sides) {
  const labels = [...new Set(sides.flat().map(({ variant }) => variant))];
  const cells = (label) =>
    sides.flatMap((own) => {
      const record = own.find(({ variant }) => variant === label);
      if (record === undefined) return [UNKNOWN, UNKNOWN];
      return [formatRateOf(record), record === own[0] ? UNKNOWN : formatFactorInterval(rateRatio(record, own[0]))];
    });
  const knees = sides.flatMap((own, place) => (own.length === 0 ? [] : [`${SIDES[place]}: ${kneeOf(own).variant}`]));
  return [
    ...tableBlock({
      columns: columns('Setting', '>Rust', '>/ first (95%)', '>Node', '>/ first (95%)'),
      rows: labels.map((label) => [label, ...cells(label)]),
    }),
    paragraph(`Knee (95% of the best): ${knees.join('; ')}.`),
  ];
}

/** The knees of all sweeps of a run. */
export function kneeBlocks({ records }) {
  const cells = (own) => {
    if (own.length === 0) return [UNKNOWN, UNKNOWN, UNKNOWN];
    const [knee, first] = [kneeOf(own), own[0]];
    return [sizeOf(knee), formatRateOf(knee), knee === first ? UNKNOWN : formatFactorInterval(rateRatio(knee, first))];
  };
  return [
    ...tableBlock({
      columns: columns('Sweep', 'Rust: knee', '>Rate', '>/ first', 'Node: knee', '>Rate', '>/ first'),
      rows: sweepsOf(records).map(([workload, sides]) => [workload, ...sides.flatMap(cells)]),
    }),
    paragraph(
      'Knee: the first size whose median rate reaches 95% of the best. / first: the rate at the knee divided by the rate of the first size ' +
        'of the sweep, with its 95% interval.',
    ),
    paragraph('Measured by: node bench/lab/hyper-sweep.mjs'),
  ];
}

/** The first setting whose median rate reaches 95% of the best. */
function kneeOf(own) {
  const best = Math.max(...own.map(rateOf));
  return own.find((record) => rateOf(record) >= KNEE * best);
}

/** The size in the name of a setting: `4 MiB` of `Arrow IPC in, 4 MiB`. */
function sizeOf({ variant }) {
  return variant.slice(variant.indexOf(', ') + 2);
}
