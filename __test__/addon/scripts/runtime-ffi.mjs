// Calls each function by the runtime's own interface to foreign functions, or prints the code of the error that it has none.
import { runtimeFunctions } from '../../../dist/clients/runtime-ffi.js';

const long = 'ä'.repeat(20_000);

try {
  const { nothing, add, increment, readText, readBytes, sumTyped } = runtimeFunctions();
  nothing();
  const answers = [
    add(1.5, -2),
    String(increment(2n ** 53n)),
    // A later text must not show what is left of an earlier one.
    ...['abc', 'naïve ä', 'z', '', long, 'b'].map((text) => readText(text)),
    readBytes(Uint8Array.of(1, 2, 255)),
    readBytes(new Uint8Array(0)),
    readBytes(Uint8Array.of(9, 8, 7, 6).subarray(1, 3)),
    sumTyped(Float64Array.of(0.5, 1.5, 2)),
  ];
  console.log(JSON.stringify(answers));
} catch (thrown) {
  console.log(JSON.stringify(thrown.code ?? String(thrown)));
}
