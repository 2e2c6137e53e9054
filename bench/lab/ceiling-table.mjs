/** Rust's clients next to the load tool of the server's own project: their rates divided by the tool's, and the clients that fall behind it. */
import { ratioOfForks } from '../../dist/stats/ratio-interval.js';
import { median } from '../../dist/stats/quantile.js';
import { groupBy } from '../../dist/compare/cell-groups.js';
import { columns } from '../../dist/report/document.js';
import { formatFactorInterval, formatPercent, formatShortRate } from '../../dist/report/format.js';

/** The part of the load tool's rate that a fair ceiling reaches. */
const FAIR = 0.9;

const BEHIND = ' ▾';

/** A client's rate over the load tool's, with its 95% interval. A round gives each one rate, and rounds are resampled as processes are. */
export function overTool({ tool, rates }, client) {
  const secondsOf = (name) => rates[name].map((rate) => [1 / rate]);
  return ratioOfForks(secondsOf(tool), secondsOf(client));
}

/** The measurements of one load tool: one row per measurement, one column per client. */
export function ceilingTable(measurements) {
  const [first] = measurements;
  const clients = clientsOf(first);
  const rows = measurements.map((measurement) => {
    const { workload, connections, batch, tool, rates } = measurement;
    const over = clients.map((client) => overTool(measurement, client));
    return [
      workload,
      String(connections),
      String(batch),
      formatShortRate(median(rates[tool])),
      ...over.map((interval) => formatFactorInterval(interval) + (isBehind(interval) ? BEHIND : '')),
    ];
  });
  const isAnyBehind = measurements.some((each) => clients.some((client) => isBehind(overTool(each, client))));
  const rounds = first.rates[first.tool].length;
  return {
    table: {
      columns: columns('Workload', '>Connections', '>Batch', `>${first.tool}`, ...clients.map((name) => `>${name}`)),
      rows,
    },
    notes: [
      `Operations per second of ${first.tool}, and each client's rate divided by it. Medians of ${rounds} rounds, in which all took turns. ` +
        `${first.tool} does less: it does not read the values that our cells add up.`,
      ...(isAnyBehind ? [`▾ The whole interval is below ${formatPercent(FAIR)} of ${first.tool}.`] : []),
    ],
  };
}

/**
 * For each client of each load tool, the number of measurements in which it reaches the fair part of the tool's rate,
 * and the others with their factors.
 */
export function ceilingFindings(measurements) {
  return groupBy(measurements, ({ tool }) => tool).flatMap((ofTool) =>
    clientsOf(ofTool[0]).map((client) => {
      const all = ofTool.map((measurement) => ({ measurement, over: overTool(measurement, client) }));
      const behind = all.filter(({ over }) => isBehind(over));
      const open = all.filter(({ over }) => !isBehind(over) && over.low < FAIR);
      const clauses = [
        ...(behind.length === 0 ? [] : [`below it in ${behind.length}: ${behind.map(shown).join(', ')}`]),
        ...(open.length === 0 ? [] : [`inconclusive in ${open.length}: ${open.map(shown).join(', ')}`]),
      ];
      const fair = all.length - behind.length - open.length;
      const head = `at least ${formatPercent(FAIR)} of ${ofTool[0].tool} in ${fair} of ${all.length}`;
      return `${client}: ${[head, ...clauses].join('; ')}.`;
    }),
  );
}

function shown({ measurement: { workload, connections, batch }, over }) {
  return `${workload} (${connections} × ${batch}) ${formatFactorInterval(over)}`;
}

function clientsOf({ tool, rates }) {
  return Object.keys(rates).filter((name) => name !== tool);
}

function isBehind({ high }) {
  return high < FAIR;
}
