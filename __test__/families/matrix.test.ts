import { readFileSync } from 'node:fs';

import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';

interface Part {
  workloads: Record<string, unknown>;
  lanes: { side: string; lane: string; rustLane?: string; workloads?: string[]; ladders?: string[] }[];
  ladders?: Record<string, unknown>;
  engines?: Record<string, unknown>;
}

interface SqlSteps {
  steps: Record<string, unknown>[];
}

function read(path: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'));
}

const matrix = read('bench/matrix.json') as { families: Record<string, Part & { soak?: Part }> };
const isValid = new Ajv2020({ strict: false }).compile(read('schema/matrix.schema.json') as object);
const parts = Object.entries(matrix.families).flatMap(([name, family]): [string, Part][] => [
  [name, family],
  ...(family.soak === undefined ? [] : ([[`${name}, soak`, family.soak]] as [string, Part][])),
]);

describe('bench/matrix.json', () => {
  it('is as its schema says, which refuses keys and words that nobody reads', () => {
    expect([isValid(matrix), isValid.errors]).toEqual([true, null]);
    const changed = structuredClone(matrix);
    Object.assign(changed.families['kv']!.lanes[0]!, { trasport: 'tcp' });
    expect(isValid(changed)).toBe(false);
    const other = structuredClone(matrix);
    other.families['sql']!.lanes[0]!.side = 'native';
    expect(isValid(other)).toBe(false);
    const guessed = structuredClone(matrix) as unknown as {
      families: { sql: { workloads: Record<string, SqlSteps> } };
    };
    delete guessed.families.sql.workloads['count']!.steps[0]!['answers'];
    expect(isValid(guessed), 'a step that does not say what it answers').toBe(false);
    const copied = structuredClone(matrix);
    Object.assign(copied.families['measurements']!.lanes[0]!, { engine: 'memory' });
    expect(isValid(copied), 'a lane of all engines that names one').toBe(false);
  });

  it.each(parts)(
    '%s: each lane names workloads that there are, and the lane of Rust that it is compared with',
    (_, part) => {
      const rust = part.lanes.filter(({ side }) => side === 'rust');
      for (const lane of part.lanes) {
        for (const kind of ['workloads', 'ladders'] as const) {
          for (const name of lane[kind] ?? []) {
            expect(Object.keys(part[kind] ?? {})).toContain(name);
            if (lane.rustLane === undefined) continue;
            const rustLanes = rust.filter((other) => other.lane === lane.rustLane);
            expect(rustLanes.some((other) => other[kind]?.includes(name) === true)).toBe(true);
          }
        }
        const isAlone = lane.side === 'rust' || lane.workloads?.includes('query.texts') === true;
        expect(lane.rustLane === undefined).toBe(isAlone);
      }
    },
  );
});
