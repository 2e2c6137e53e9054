/**
 * The program of a fork: a fresh process that measures one cell for the process of the run, which tells it the cell and gets its
 * samples over the channel of messages.
 */
import { exposeCollector } from './collect-garbage.js';
import { sentError } from './errors.js';
import { familyIn } from './families/family-in.js';
import { loadNativeBuild, nativeResources } from './native-build.js';
import type { ForkAbort, ForkReport, ForkResult, ForkTask } from './runner/fork-message.js';
import { GarbageBetween } from './runner/garbage-collection.js';
import { measureFork } from './runner/measure-fork.js';

const aborting = new AbortController();

// A terminal sends Ctrl-C to all processes of a run, of which the first decides what becomes of the others.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => {});
// Without the process of the run, nobody waits for the samples.
process.once('disconnect', () => process.exit());
process.once('message', (task: ForkTask) => {
  process.on('message', ({ type }: ForkAbort) => type === 'abort' && aborting.abort());
  void answer(task);
});

async function answer(task: ForkTask): Promise<void> {
  let report: ForkReport;
  try {
    report = { type: 'done', ...(await measure(task)) };
  } catch (thrown) {
    report = { type: 'failed', error: sentError(thrown) };
  }
  // What the cell has left open must not keep the process.
  process.send?.(report, () => process.exit());
}

async function measure({ module, family: name, options, planned, policy, ...task }: ForkTask): Promise<ForkResult> {
  await loadNativeBuild();
  const collect = task.leaveGarbage ? undefined : exposeCollector();
  const family = await familyIn(module, name);
  const open = await family.open(options, [planned]);
  try {
    return await measureFork(open, planned, policy, {
      resources: nativeResources,
      garbage: collect && new GarbageBetween(collect),
      signal: aborting.signal,
      onStep: (step) => process.send?.(step satisfies ForkReport),
      verify: task.verify,
    });
  } finally {
    await open.close();
  }
}
