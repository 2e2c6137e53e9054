/**
 * The program of a fork: a fresh process that opens one cell and warms it up. It then takes a sample each time that the process of
 * the run sends an order over the channel of messages, and waits in between.
 */
import { exposeCollector } from './collect-garbage.js';
import { familyIn } from './families/family-in.js';
import { loadNativeBuild, nativeResources } from './native-build.js';
import { failedBy } from './protocol.js';
import type { ForkAnswer, ForkOpening, ForkOrder, ForkTask } from './runner/fork-message.js';
import { GarbageBetween } from './runner/garbage-collection.js';
import { type ProfiledSampler, openSampler } from './runner/sampler.js';
import { requireBuild, swapBuild } from './runner/swap-build.js';

const aborting = new AbortController();

/** Whether the last answer was given. */
let isOver = false;

// A terminal sends Ctrl-C to all processes of a run, of which the first decides what becomes of the others.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => {});
// Without the process of the run, nobody waits for the samples.
process.once('disconnect', () => process.exit());
process.once('message', (task: ForkOpening) => {
  const opened = open(task);
  let work: Promise<unknown> = opened;
  process.on('message', (order: ForkOrder) => {
    if (order.type === 'abort') aborting.abort();
    work = work.then(async () => {
      const cell = await opened;
      if (cell !== undefined) await obey(cell, order);
    });
  });
});

/** A cell with the family that it belongs to. */
interface Opened {
  readonly sampler: ProfiledSampler;
  close(): Promise<void>;
}

/** Opens the cell, and answers that it is ready. `undefined` if it failed. A failure ends the process. */
async function open(task: ForkTask): Promise<Opened | undefined> {
  try {
    const opened = await openTask(task);
    answer({ type: 'ready', ready: opened.sampler.ready });
    return opened;
  } catch (thrown) {
    fail(thrown);
    return undefined;
  }
}

async function openTask({ module, family: name, options, planned, policy, leaveGarbage }: ForkTask): Promise<Opened> {
  await loadNativeBuild();
  if (planned.build !== undefined) swapBuild(planned.build);
  const collect = leaveGarbage ? undefined : exposeCollector();
  const family = await familyIn(module, name, planned.cell.workload);
  const open = await family.open(options, [planned]);
  try {
    const sampler = await openSampler(open, planned, policy, {
      resources: nativeResources,
      garbage: collect && new GarbageBetween(collect),
      signal: aborting.signal,
      onStep: answer,
    });
    // The machine alone makes ways in JavaScript differ, whether or not their file loads the addon.
    if (planned.build !== undefined && planned.cell.side !== 'js') requireBuild(planned.build);
    return { sampler, close: () => open.close() };
  } catch (thrown) {
    await Promise.allSettled([open.close()]);
    throw thrown;
  }
}

async function obey({ sampler, close }: Opened, order: ForkOrder): Promise<void> {
  // An order that follows the last answer, such as an abort, finds nothing to do.
  if (isOver) return;
  let isClosing = false;
  try {
    aborting.signal.throwIfAborted();
    if (order.type === 'sample') return answer({ type: 'sample', sample: await sampler.take() });
    if (order.type === 'profile') return answer(await profiled(sampler, order.byV8));
    if (order.type === 'result') return answer({ type: 'result', result: await sampler.result(order.verify) });
    isClosing = true;
    await sampler.close();
    await close();
    // Handles that the cell has left open must not keep the process alive.
    process.exit();
  } catch (thrown) {
    // Of several errors the first is the more useful one.
    if (!isClosing) await sampler.abandon();
    await Promise.allSettled([close()]);
    fail(thrown);
  }
}

async function profiled(sampler: ProfiledSampler, byV8: boolean): Promise<ForkAnswer> {
  const stop = byV8 ? await (await import('./profile/v8-profile.js')).startV8Profile() : undefined;
  const timed = await sampler.exercise();
  return { type: 'profiled', timed, ...(stop && { profile: await stop() }) };
}

function answer(message: ForkAnswer): void {
  process.send?.(message);
}

/** Gives the last answer, and ends. */
function fail(thrown: unknown): void {
  isOver = true;
  process.send?.(failedBy(thrown), () => process.exit());
}
