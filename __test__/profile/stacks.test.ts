import { describe, expect, it } from 'vitest';

import { lastNames, stacksOfPerf } from '../../src/profile/perf.js';
import { callTree } from '../../src/profile/stacks.js';
import { stacksOfV8 } from '../../src/profile/v8-profile.js';
import { flameGraphText } from '../../src/report/html/flame-graph.js';

const frame = (functionName: string, url = '', lineNumber = -1) => ({
  functionName,
  scriptId: '0',
  url,
  lineNumber,
  columnNumber: 0,
});

describe('a profile of V8', () => {
  const profile = {
    startTime: 1000,
    endTime: 2000,
    nodes: [
      { id: 1, callFrame: frame('(root)'), children: [2, 4] },
      { id: 2, callFrame: frame('outer', 'file:///home/a/work.mjs', 4), children: [3] },
      { id: 3, callFrame: frame('', 'file:///home/a/work.mjs', 9) },
      { id: 4, callFrame: frame('(idle)') },
    ],
    samples: [2, 3, 4, 3],
    timeDeltas: [100, 200, 300, 150],
  };

  it('becomes stacks of timed work, each for the time until the next sample', () => {
    // Samples at 1100, 1300, 1600 and 1750 us.
    expect(stacksOfV8({ profile, startedAt: 1000 }, [{ from: 1000, to: 1500 }])).toEqual([
      { frames: ['outer work.mjs:5'], seconds: 200e-6 },
      { frames: ['outer work.mjs:5', '(anonymous) work.mjs:10'], seconds: 300e-6 },
    ]);
    expect(stacksOfV8({ profile, startedAt: 1000 }, [])).toEqual([]);
  });
});

describe('what perf prints', () => {
  // By `perf script -F time,period,ip,sym` of perf 6.1, shortened.
  const text = `   100.000100:     500000 
\t    7f00aa levenshtein::distance::h0123456789abcdef
\t    7f00bb JS:*measure file:///home/a/work.mjs:3:1
\t    7f00cc main

   100.000700:     500000 
\t    7f00cc main

`;

  it('becomes stacks from the outermost call on, with names of Rust and of JavaScript', () => {
    expect(stacksOfPerf(text, [{ from: 100.0e6, to: 100.0005e6 }])).toEqual([
      { frames: ['main', 'measure work.mjs:3:1', 'levenshtein::distance'], seconds: 500e-6 },
    ]);
    expect(stacksOfPerf(text, [{ from: 0, to: 1e9 }])).toHaveLength(2);
    expect(stacksOfPerf('', [{ from: 0, to: 1e9 }])).toEqual([]);
  });
});

it('the last name of each memory is kept', () => {
  const lines = ['100 10 old', '120 8 stays', '0x200 4 c', '108 10 new', '', '110 4 newest'];
  expect(lastNames(lines)).toEqual(['110 4 newest', '0x200 4 c', '120 8 stays', '100 10 old']);
  expect(lastNames(['100 10 a', '110 10 b', '100 10 c'])).toEqual(['100 10 c', '110 10 b']);
});

describe('a flame graph', () => {
  const stacks = [
    { frames: ['main', 'a'], seconds: 3 },
    { frames: ['main', 'b'], seconds: 1 },
    { frames: ['main', 'a'], seconds: 2 },
  ];

  it('adds up equal stacks', () => {
    const main = callTree(stacks).calls.get('main')!;
    expect([main.seconds, main.calls.get('a')?.seconds, main.calls.get('b')?.seconds]).toEqual([6, 5, 1]);
  });

  it('is a picture that names each call and its part, and is refused without any', async () => {
    const svg = await flameGraphText('sum/<js> & more', stacks);
    expect(svg).toMatch(/^<svg /);
    expect(svg).toContain('83% of the time');
    expect(svg).toContain('sum/&lt;js> &amp; more');
    await expect(flameGraphText('none', [])).rejects.toMatchObject({ code: 'BB_PROFILE' });
  });
});
