// The share of gRPC in a scan over gRPC, and the share of one machine's network: the same rows read in place, copied in memory,
// sent over bare loopback sockets from as many processes, and over gRPC. Prints millions of rows per second, the median of the
// rounds, and the ratio to bare sockets.
//
//   node bench/lab/hybrid-ceiling.mjs [ROWS] [ROUNDS]
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const PACKAGE = 'boundary-bench-server';
const EXAMPLE = 'scan_ceiling';

run('cargo', ['build', '--release', '--locked', '-p', PACKAGE, '--bin', PACKAGE, '--example', EXAMPLE]);
const metadata = JSON.parse(run('cargo', ['metadata', '--no-deps', '--format-version', '1'], 'pipe'));
run(join(metadata.target_directory, 'release', 'examples', EXAMPLE), process.argv.slice(2));

function run(program, args, output = 'inherit') {
  const { status, stdout, error } = spawnSync(program, args, {
    encoding: 'utf8',
    stdio: ['ignore', output, 'inherit'],
  });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
  return stdout;
}
