import { builtExample, outputOf } from './frame.mjs';
// The share of gRPC in a scan over gRPC, and the share of one machine's network: the same rows read in place, copied in
// memory, sent over bare loopback sockets from as many processes, and over gRPC. Prints millions of rows per second,
// the median of the rounds, and the ratio to bare sockets.
//
//   node bench/lab/hybrid-ceiling.mjs [ROWS] [ROUNDS]

const PACKAGE = 'boundary-bench-server';

const ceiling = builtExample(PACKAGE, 'scan_ceiling', ['--bin', PACKAGE]);
outputOf(ceiling, process.argv.slice(2), { output: 'inherit' });
