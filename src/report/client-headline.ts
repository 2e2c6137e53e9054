/** The lines about a client of the user's, which a summary begins with: its factors to the ways that it competes with. */
import { completedOf, contestOf } from '../compare/cell-groups.js';
import { isNodeSide } from '../compare/comparisons.js';
import { judgeOf } from '../compare/judge.js';
import { clientName } from '../records/client-name.js';
import type { CompletedRecord, Run } from '../records/record.js';
import { isOpen } from './factor.js';
import { formatFactor } from './format.js';
import { batchText, variantOf } from './labels.js';
import { workloadText } from './workload-answers.js';

/**
 * `get, 32 connections: my-client 1.2.0: 2.0× ioredis, 1.3× @redis/client, 0.60× KvClient`, one line per contest. A factor without a verdict has
 * a question mark. None in a run without `--client`.
 */
export function clientHeadlines(run: Run): string[] {
  const given = run.context.config['client'];
  if (typeof given !== 'string') return [];
  const name = clientName(given);
  const completed = completedOf(run.records);
  const judge = judgeOf(run);
  const subject = [name, run.context.versions[name] ?? []].flat().join(' ');
  return completed.flatMap((own) => {
    if (own.variant !== name) return [];
    const factors = completed
      .filter((rival) => rival.variant !== name && isNodeSide(rival.side) && isSameWork(own, rival))
      .flatMap((rival) => {
        const judged = judge(own, rival);
        if (judged === undefined) return [];
        const mark = isOpen(judged) ? '?' : '';
        return { ratio: judged.ratio, text: `${formatFactor(judged.ratio)}${mark} ${variantOf(rival)}` };
      })
      .toSorted((a, b) => b.ratio - a.ratio);
    if (factors.length === 0) return [];
    return `${workloadText(own)}${batchText(own)}: ${subject}: ${factors.map(({ text }) => text).join(', ')}`;
  });
}

function isSameWork(own: CompletedRecord, rival: CompletedRecord): boolean {
  return contestOf(own) === contestOf(rival) && own.lane === rival.lane && own.batch === rival.batch;
}
