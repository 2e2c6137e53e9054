/** A stack of calls, the outermost first, and how often it was seen, in seconds. */
export interface Stack {
  readonly frames: readonly string[];
  readonly seconds: number;
}

/** A call of a flame graph: its part of the time, with the calls that it made. */
export interface Call {
  readonly name: string;
  seconds: number;
  readonly calls: Map<string, Call>;
}

/** The calls of all stacks as one tree. */
export function callTree(stacks: readonly Stack[]): Call {
  const root: Call = { name: 'all', seconds: 0, calls: new Map() };
  for (const { frames, seconds } of stacks) {
    root.seconds += seconds;
    let call = root;
    for (const name of frames) {
      let inner = call.calls.get(name);
      if (inner === undefined) {
        inner = { name, seconds: 0, calls: new Map() };
        call.calls.set(name, inner);
      }
      inner.seconds += seconds;
      call = inner;
    }
  }
  return root;
}
