/** Rust's clients next to the load tool of the server's own project: their rates over the tool's, and which fall behind it. */
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

/** The measurements of one load tool: a row for each, a column for each client. */
export function ceilingTable(measurements) {
  const [first] = measurements;
  const clients = clientsOf(first);
  const rows = measurements.map((measurement) => {
    const { workload, threads, batch, tool, rates } = measurement;
    const over = clients.map((client) => overTool(measurement, client));
    return [
      workload,
      String(threads),
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
      `Operations a second of ${first.tool}, and each client's over them; medians of ${rounds} rounds, in each of which all took their turn. ` +
        `${first.tool} does less: it leaves the values unread that our cells add up.`,
      ...(isAnyBehind ? [`▾ Surely below ${formatPercent(FAIR)} of ${first.tool}.`] : []),
    ],
  };
}

/** For each client of each load tool, the measurements at which it is surely behind the tool. */
export function ceilingFindings(measurements) {
  return groupBy(measurements, ({ tool }) => tool).flatMap((ofTool) =>
    clientsOf(ofTool[0]).map((client) => {
      const behind = ofTool.filter((each) => isBehind(overTool(each, client)));
      const below = `surely below ${formatPercent(FAIR)} of ${ofTool[0].tool}`;
      if (behind.length === 0) return `${client}: nowhere ${below}.`;
      const which = behind.map(({ workload, threads, batch }) => `${workload} (${threads} × ${batch})`).join(', ');
      return `${client}: ${below} in ${behind.length} of ${ofTool.length}: ${which}.`;
    }),
  );
}

function clientsOf({ tool, rates }) {
  return Object.keys(rates).filter((name) => name !== tool);
}

function isBehind({ high }) {
  return high < FAIR;
}
