// A parser of JavaScript: oxc-parser (Rust) and acorn, which make the same ESTree.
//
//   npm i boundary-bench oxc-parser acorn
//   npx boundary-bench run parse.bench.mjs
import { workload } from 'boundary-bench/bench';
import * as acorn from 'acorn';
import { parseSync } from 'oxc-parser';

const FUNCTION = (index) => `
export function sum${index}(values, { from = 0, to = values.length } = {}) {
  let sum = 0;
  for (let place = from; place < to; place += 1) {
    if (values[place] !== undefined) sum += values[place] * ${index};
  }
  return \`the sum of \${to - from} values is \${sum}\`;
}
`;

export default workload('parse', {
  sizes: [1, 10, 100, 1000],
  input: (functions) => Array.from({ length: functions }, (_, index) => FUNCTION(index)).join(''),
  ways: {
    js: (source) => acorn.parse(source, { ecmaVersion: 'latest', sourceType: 'module' }),
    napi: (source) => parseSync('sum.js', source, { preserveParens: false }).program,
  },
});
