import { expect, test } from 'vitest';
import { renderRunMarkdown, renderRunTerminal } from '../../src/report/run-report.js';
import { sampleRun } from '../records/sample-run.js';

test('a whole run as Markdown', () => {
  expect(renderRunMarkdown(sampleRun())).toMatchInlineSnapshot(`
    "# Boundary Bench

    ## Hardware / software

    - OS: Linux 6.8.0 (x86_64)
    - CPU: Example CPU @ 2.50GHz (1 physical / 2 logical cores)
    - CPU kind: family 25, model 17, stepping 1, 2500 MHz at the start
    - Stolen by other machines since the start: 1.5% of the CPU time
    - CPU governor: performance
    - Memory: 16.0 GiB
    - Limited to: 2 CPUs, 8.0 GiB
    - Rust: 1.94.0
    - Node.js: 20.19.0
    - V8: 11.3.244.8
    - boundary-bench: 0.1.0
    - duckdb: 1.5.6
    - Build: release, target CPU native, addon 0123456789ab
    - Commit: 89abcdef0123 with changes
    - Method: 5 processes per cell
    - Date: 2026-05-02T10:00:00.000Z

    ## Engine: embedded

    - insert.bulk on embedded: take RowInserter.addColumns (32.1 M rows/s), 1.4× (1.3–1.4) RowInserter.addRow; 25.6× the naive-row lane (measured at 1.00M rows), which takes 769 ns more per row; Rust would be no faster, at 1.01× (0.97–1.04); RowInserter.addColumns × 2 reaches 40.0 M rows/s.
    - query.aggregation on embedded: @duckdb/node-api columns (native) (30.3 queries/s) or executeQueryColumnar (30.3 queries/s), which are equally fast, at 1.00× (0.96–1.04).

    | Workload | Variant | Flavor | Rows | Time (s) | End to end (s) | Rows/s | MiB/s | Queries/s |
    | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
    | insert.bulk | rust · RowWriter | sync | 10.00M | 0.400 | 0.460 | 25.00 M/s | 572.3 | — |
    | insert.bulk | rust · column slices | sync | 10.00M | 0.310 | 0.356 | 32.26 M/s | 738.4 | — |
    | insert.bulk | rust · column slices × 2 | async | 10.00M | 0.200 | 0.215 | 50.01 M/s | 1144.5 | — |
    | insert.bulk | napi · each value crosses (naive) | async | 1.00M | 0.800 | 0.920 | 1.25 M/s | 28.6 | — |
    | insert.bulk | napi · RowInserter.addRow | async | 10.00M | 0.430 | 0.494 | 23.26 M/s | 532.3 | — |
    | insert.bulk | napi · RowInserter.addColumns | async | 10.00M | 0.312 | 0.359 | 32.05 M/s | 733.7 | — |
    | insert.bulk | napi · RowInserter.addColumns × 2 | async | 10.00M | 0.250 | 0.269 | 40.00 M/s | 915.6 | — |
    | query.aggregation | napi · executeQueryColumnar | async | 10 | 0.033 | 0.038 | — | — | 30.3/s |
    | query.aggregation | js · @duckdb/node-api columns (native) | async | 10 | 0.033 | 0.038 | — | — | 30.3/s |

    ### Rust vs Node.js

    | Workload | Lane | Rust | Node | Rust factor | CPU factor |
    | --- | --- | --- | --- | ---: | ---: |
    | insert.bulk | best: columns | sync column slices — 32.3 M/s | napi · RowInserter.addColumns — 32.1 M/s | equivalent 1.01× (0.97–1.04) | 1.01× (0.97–1.04) |
    | insert.bulk | naive-row (Rust: row) | sync RowWriter — 25.0 M/s | napi · each value crosses (naive) — 1.25 M/s | 20.0× (19.3–20.7) † | 20.0× (19.3–20.7) |
    | insert.bulk | staged-row (Rust: row) | sync RowWriter — 25.0 M/s | napi · RowInserter.addRow — 23.3 M/s | 1.07× (1.04–1.11) | 1.07× (1.04–1.11) |
    | insert.bulk | best: columns | async column slices × 2 — 50.0 M/s | napi · RowInserter.addColumns × 2 — 40.0 M/s | 1.3× (1.2–1.3) | 1.3× (1.2–1.3) |

    Rust factor: Rust's rate divided by the Node side's. Above 1, Rust is faster.

    CPU factor: the CPU time of the Node side's process, of all its threads, divided by Rust's CPU time for the same work. Above 1, Rust takes less.

    † The two were measured at different numbers of rows. Their rows per second are compared.

    ### Where the time went

    | Workload | Variant | Time (s) | Crossing and JavaScript | Encode (s) | Decode (s) | CPU user (s) | CPU sys (s) | Main thread (s) | GC (s) | Longest stall (ms) | Peak RSS |
    | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | insert.bulk | sync RowWriter | 0.400 | — | 0.040 | 0.020 | 0.300 | 0.100 | 0.200 | 0.050 | 6.0 | 260 MiB |
    | insert.bulk | sync column slices | 0.310 | — | 0.031 | 0.015 | 0.232 | 0.077 | 0.155 | 0.039 | 6.0 | 260 MiB |
    | insert.bulk | async column slices × 2 | 0.200 | — | 0.020 | 0.010 | 0.150 | 0.050 | 0.100 | 0.025 | 6.0 | 260 MiB |
    | insert.bulk | napi · each value crosses (naive) | 0.800 | — | 0.080 | 0.040 | 0.600 | 0.200 | 0.400 | 0.100 | 6.0 | 260 MiB |
    | insert.bulk | napi · RowInserter.addRow | 0.430 | 7.0% (3.5%–10%) | 0.043 | 0.022 | 0.323 | 0.107 | 0.215 | 0.054 | 6.0 | 260 MiB |
    | insert.bulk | napi · RowInserter.addColumns | 0.312 | — | 0.031 | 0.016 | 0.234 | 0.078 | 0.156 | 0.039 | 6.0 | 260 MiB |
    | insert.bulk | napi · RowInserter.addColumns × 2 | 0.250 | 20% (17%–23%) | 0.025 | 0.013 | 0.188 | 0.063 | 0.125 | 0.031 | 6.0 | 260 MiB |
    | query.aggregation | napi · executeQueryColumnar | 0.033 | — | 0.003 | 0.002 | 0.025 | 0.008 | 0.017 | 0.004 | 6.0 | 260 MiB |
    | query.aggregation | js · @duckdb/node-api columns (native) | 0.033 | — | 0.003 | 0.002 | 0.025 | 0.008 | 0.017 | 0.004 | 6.0 | 260 MiB |

    Crossing and JavaScript: the part of the addon's time beyond the time of its lane in Rust on the same engine, with its interval. It is the difference of two cells, and includes the time in which JavaScript makes the engine wait. Inconclusive: this run cannot tell whether there is such a part.

    ## Engine: memory

    - query.full_scan on memory: the only way from Node: executeQueryColumnar (83.3 M rows/s); Rust (sync column slices) would be 2.0× (1.9–2.1) that.

    | Workload | Variant | Flavor | Rows | Time (s) | End to end (s) | Rows/s | MiB/s |
    | --- | --- | --- | ---: | ---: | ---: | ---: | ---: |
    | query.full_scan | rust · column slices | sync | 10.00M | 0.060 | 0.069 | 166.68 M/s | 3815.1 |
    | query.full_scan | napi · executeQueryColumnar | async | 10.00M | 0.120 | 0.138 | 83.34 M/s | 1907.5 |

    ### Rust vs Node.js

    | Workload | Lane | Rust | Node | Rust factor | CPU factor |
    | --- | --- | --- | --- | ---: | ---: |
    | query.full_scan | best: columnar | sync column slices — 167 M/s | napi · executeQueryColumnar — 83.3 M/s | 2.0× (1.9–2.1) | 2.0× (1.9–2.1) |

    Rust factor: Rust's rate divided by the Node side's. Above 1, Rust is faster.

    CPU factor: the CPU time of the Node side's process, of all its threads, divided by Rust's CPU time for the same work. Above 1, Rust takes less.

    ### Where the time went

    | Workload | Variant | Time (s) | Crossing and JavaScript | Encode (s) | Decode (s) | CPU user (s) | CPU sys (s) | Main thread (s) | GC (s) | Longest stall (ms) | Peak RSS |
    | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | query.full_scan | sync column slices | 0.060 | — | 0.006 | 0.003 | 0.045 | 0.015 | 0.030 | 0.007 | 6.0 | 260 MiB |
    | query.full_scan | napi · executeQueryColumnar | 0.120 | 50% (48%–52%) | 0.012 | 0.006 | 0.090 | 0.030 | 0.060 | 0.015 | 6.0 | 260 MiB |

    Crossing and JavaScript: the part of the addon's time beyond the time of its lane in Rust on the same engine, with its interval. It is the difference of two cells, and includes the time in which JavaScript makes the engine wait. Inconclusive: this run cannot tell whether there is such a part.

    ## Engine: apache-arrow

    - query.full_scan on apache-arrow: the only way from Node: apache-arrow column loop (200 M rows/s); the addon's executeQueryColumnar on memory: no verdict, since one of the two is too short to measure, 0.42× (0.40–0.43); Rust on memory (sync column slices): no verdict, since one of the two is too short to measure, 0.83× (0.80–0.86).

    | Workload | Variant | Flavor | Rows | Time (s) | End to end (s) | Rows/s | MiB/s |
    | --- | --- | --- | ---: | ---: | ---: | ---: | ---: |
    | query.full_scan | js · apache-arrow column loop | sync | 10.00M | 0.050 △ | 0.058 | 200.02 M/s | 4578.1 |

    △ Too short to measure: the samples of the cell could not be made long enough, so it gets no verdict.

    ### Rust vs Node.js

    | Workload | Lane | Rust | Node | Rust factor | CPU factor |
    | --- | --- | --- | --- | ---: | ---: |
    | query.full_scan | columnar | sync column slices on memory — 167 M/s | js · apache-arrow column loop — 200 M/s | inconclusive 0.83× (0.80–0.86) △ | 0.83× (0.80–0.86) |

    Rust factor: Rust's rate divided by the Node side's. Above 1, Rust is faster.

    CPU factor: the CPU time of the Node side's process, of all its threads, divided by Rust's CPU time for the same work. Above 1, Rust takes less.

    △ Too short to measure: the samples of the cell could not be made long enough, so it gets no verdict.

    ### Where the time went

    | Workload | Variant | Time (s) | Encode (s) | Decode (s) | CPU user (s) | CPU sys (s) | Main thread (s) | GC (s) | Longest stall (ms) | Peak RSS |
    | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | query.full_scan | js · apache-arrow column loop | 0.050 | 0.005 | 0.003 | 0.038 | 0.013 | 0.025 | 0.006 | 6.0 | 260 MiB |

    ## Engine: redis

    - mget on redis, 4 connections, in batches: the only way from Node: client.mget, batch 110 (2.20 M/s, closed-loop p99 24.2 µs).

    | Benchmark | Throughput | Median | p99 (closed loop) | Batch | Connections | CPU an operation |
    | --- | ---: | ---: | ---: | ---: | ---: | ---: |
    | mget, napi · client.mget | 2.20 M/s | 820 ns (800 ns–840 ns) | 24.2 µs (20.0 µs–29.0 µs) | 110 | 4 | 455 ns |

    A thread is one connection with one request in flight. Throughput counts operations, latency requests.

    Latencies are of a closed loop: a connection sends its next request when the last one is answered, so a slow answer delays the requests after it, and their waiting is not in p99. An open loop (--rate) counts it.

    CPU time: of the process of the client, and after the + of the server, if it is local and its process is known.

    ### Where the time went

    | Workload | Variant | Connections | Batch | Time (s) | Encode (s) | Decode (s) | CPU user (s) | CPU sys (s) | Main thread (s) | GC (s) | Longest stall (ms) | Peak RSS |
    | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | mget | napi · client.mget | 4 | 110 | 0.050 | 0.005 | 0.003 | 0.038 | 0.013 | 0.025 | 0.006 | 6.0 | 260 MiB |

    ## Failed and skipped

    | Cell | Outcome | Why |
    | --- | --- | --- |
    | measurements/query.full_scan/objects/napi/embedded/w1 | failed | BB_CHECKSUM_MISMATCH: expected 10 \\| got 9 rows |
    | measurements/query.aggregation/row/rust/memory/w1 | skipped | memory has no SQL |

    ## How far to trust this run

    Verdicts: 8 comparisons, of which 8 are conclusive. The risk of each is 5.0%, so that up to 0.4 of them are expected to be false by chance.

    Disturbance: 65 samples of 65 processes. 4 more were thrown away and taken again because others used the CPU, and the hypervisor took 9.00 ms of those that stayed.

    A/A: 13 cells, each compared with itself, its odd processes with its even ones: 0.5% apart in the median, 0.5% at most; 0 of 13 (0%) look faster or slower than themselves.
    "
  `);
});

test('a terminal shows the same, without where the time went', () => {
  const run = sampleRun();
  const markdown = renderRunMarkdown(run).replaceAll(/^### Where the time went\n[^#]*/gm, '');
  const terminal = renderRunTerminal(run);
  expect(wordsOf(terminal)).toEqual(wordsOf(markdown));
  expect(terminal).toMatch(/^Boundary Bench\n=+\n\nHardware \/ software\n-+\n\n- OS: /);
  expect(terminal).toMatch(
    /^query\.full_scan  best: columnar  sync column slices — 167 M\/s  napi · .*2\.0× \(1\.9–2\.1\)$/m,
  );
});

/** The words of a report, in their order, without what makes them a table, a list or a heading. */
function wordsOf(text: string): string[] {
  const withoutRules = text.replaceAll(/^[-:=| ─]+$/gm, '');
  return withoutRules.split(/[\s|\\]+/).filter((word) => !/^(|#+|-)$/.test(word));
}
