/** The functions of the addon: by napi-rs as everyone uses it, by Node-API called by hand, and by the calling convention of C. */
import { crossing } from '../../crossing-addon.js';
import type { ForeignFunctions } from '../../clients/foreign-functions.js';
import { type BoundaryFunctions, plainFunctions } from './functions.js';

const { eventLoop, napiRs } = crossing;

/** The functions by napi-rs. */
export function napiRsFunctions(): BoundaryFunctions {
  const { BoundaryCounter, ...functions } = napiRs;
  return {
    ...functions,
    sumArray: (values) => napiRs.sumArray(values as number[]),
    makeCounter: () => new BoundaryCounter(),
    addTo: (counter, number) => (counter as InstanceType<typeof BoundaryCounter>).add(number),
  };
}

/** The functions by Node-API called by hand. Functions that it lacks are JavaScript's, and no lane of the matrix has them. */
export function nodeApiFunctions(): BoundaryFunctions {
  return { ...plainFunctions(), ...(crossing.boundaryByHand() as Partial<BoundaryFunctions>), calls: napiRs.calls };
}

/** The functions by C's calling convention. Functions that it lacks are JavaScript's, and no lane of the matrix has them. */
export function byC(functions: ForeignFunctions): BoundaryFunctions {
  return { ...plainFunctions(), ...functions, calls: napiRs.calls };
}

/** The next number, by a function of JavaScript that a thread of tokio's calls. */
function nextByThread(): (value: number) => Promise<number> {
  const caller = new napiRs.ThreadCaller((value) => value + 1);
  return (value) => caller.call(value);
}

/** The addition whose result is a promise, by the lane: of tokio, of libuv's pool, of the event loop's own tasks, or the next number. */
export function asyncAddition(lane: string): (left: number, right: number) => Promise<number> {
  switch (lane) {
    case 'call-async':
      return (left, right) => napiRs.addAsync(left, right);
    case 'call-blocking':
      return (left, right) => napiRs.addBlocking(left, right);
    case 'call-loop':
      return (left, right) => eventLoop.add(left, right);
    default:
      return nextByThread();
  }
}
