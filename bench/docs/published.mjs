/**
 * The committed runs, by their kinds, with the question that each answers: the arguments of `bench/benchmark.mjs`, or a script of bench/lab
 * with its own arguments. A run of several parts becomes one file per part, with the arguments of bench/lab/compact-run.mjs.
 */
import { MAIN } from './runs.mjs';

const words = (text) => text.split(/\s+/);

/** @type {Record<string, { question: string; arguments?: string[]; script?: string; parts?: any[]; compact?: boolean }>} */
export const PUBLISHED = {
  [MAIN]: { question: 'Rows in bulk on DuckDB: Rust, the addon, or another client?', arguments: words('10000000') },
  memory: {
    question: 'The same without a database behind the boundary?',
    arguments: words('10000000 --engine memory,apache-arrow,flechette'),
  },
  method: {
    question: 'Does a run find ratios that are known?',
    script: 'bench/lab/method.mjs',
    arguments: words('--runs 3'),
  },
  ladder: { question: 'What does each layer between a row and the engine add?', script: 'bench/lab/ladder.mjs' },
  alone: { question: 'Do processes that wait disturb the process whose turn it is?', script: 'bench/lab/alone.mjs' },
  workers: {
    question: 'How do several workers scale?',
    arguments: words(`10000000 --workload insert.bulk,query.full_scan --lane columns,columnar,cursor
      --engine embedded,memory --workers 1,2,4`),
  },
  boundary: {
    question: 'What does one call cost, by what is passed and by which mechanism?',
    arguments: words('--family boundary --decide-within 240'),
  },
  codec: {
    question: 'Work on values in process: from which size on does Rust pay?',
    arguments: words('--family codec --decide-within 240'),
  },
  model: {
    question: 'What will a call of mine cost?',
    arguments: words('--family boundary --workload bytes_*,text_in.*,text_out.*,rows_* --decide-within 240'),
    parts: [{ kind: 'model', compact: ['--model'] }],
  },
  runtimes: {
    question: 'What does the same call cost on Node.js 22 and 26, Bun and Deno?',
    arguments: words(`--family boundary --workload nothing,numbers,text_in.short,bytes_in.4096,callback --lane call,view
      --runtime node@22,node@26,bun,deno --decide-within 240`),
  },
  kv: {
    question: 'Redis: which client, one at a time and in batches?',
    arguments: words('--family kv --peers --decide-within 240'),
  },
  sql: {
    question: 'MySQL: which client, by statement and transaction?',
    arguments: words('--family sql --peers --decide-within 240'),
  },
  'sql-statements': {
    question: 'MySQL: the other statements of the guides?',
    arguments: words(
      '--family sql --workload set_names,select_1,insert_autocommit,select_pk_literal,update_range,update_where,delete_where,oltp_read_only,oltp_write_only --decide-within 240',
    ),
  },
  rest: {
    question: 'HTTP: which client, one at a time, pipelined and in batches?',
    arguments: words('--family rest --peers --decide-within 240'),
  },
  'rest-columns': {
    question: 'HTTP: rows of many columns, and binary ones?',
    arguments: words(
      '--family rest --workload pkread.many_columns,pkread.binary,batchpkread.many_columns,batchpkread.binary --decide-within 240',
    ),
  },
  'all-cores': {
    question: 'What do clients reach with all cores?',
    arguments: words(`--family kv,sql --workload get,set,select_pk,oltp_point_select --lane call,batch --side rust,napi
      --engine redis,mysql --connections 32 --batch 1,64 --all --decide-within 240`),
  },
  callers: {
    question: 'One caller or eight: does one connection for all callers pay?',
    arguments: words(`--family kv,sql --workload get,select_pk --lane call --side napi,js --engine redis,mysql --peers
      --connections 1,8 --decide-within 240`),
  },
  processes: {
    question: 'What do two processes of one client reach?',
    arguments: words(`--family kv,sql --workload get,oltp_point_select --lane call --side rust,napi --engine redis,mysql
      --connections 32 --batch 1 --processes 2 --decide-within 240`),
  },
  'redis-cluster': {
    question: 'Redis Cluster: which client?',
    arguments: words(
      '--family kv --engine redis-cluster --workload get,mget,mset --connections 32 --batch 1,64 --decide-within 240',
    ),
  },
  builds: { question: 'Does `compare --builds` find a slower build?', script: 'bench/lab/builds.mjs' },
  own: { question: 'Hash, parse, get: does the native package of npm win?', script: 'bench/lab/own-packages.mjs' },
  peers: { question: 'Which documented way of each other client is its fastest?', script: 'bench/lab/peers.mjs' },
  mitata: { question: 'Do other harnesses agree?', script: 'bench/lab/mitata.mjs' },
  ceiling: {
    question: 'How close are our clients in Rust to the load tool of the server?',
    script: 'bench/lab/ceiling.mjs',
  },
  'offered-load': {
    question: 'Which load does each client keep, and at which latency?',
    script: 'bench/lab/offered-load.mjs',
  },
  hybrid: {
    question: 'Shards: in the process, behind gRPC, or partly each?',
    arguments: words('--family hybrid --decide-within 240'),
  },
  'hybrid-crossover': {
    question: 'At which network delay does batching win?',
    script: 'bench/lab/hybrid-crossover.mjs',
    compact: true,
  },
  ingest: {
    question: 'Time series as lines or as MessagePack?',
    arguments: words('--family ingest --decide-within 240'),
  },
  flight: {
    question: 'Arrow Flight SQL: Rust, the addon, or another client?',
    arguments: words('--engine flight --decide-within 240'),
  },
  mysql: { question: 'Rows in bulk over the MySQL wire?', arguments: words('--engine mysql --decide-within 240') },
  hyper: {
    question: 'Rows in bulk on Hyper?',
    arguments: words('4000000 --engine hyper --transport tcp,ipc --decide-within 240'),
  },
  'hyper-sweep': {
    question: 'Hyper: how much should be sent at once?',
    script: 'bench/lab/hyper-sweep.mjs',
    compact: true,
  },
  'hyper-grpc': {
    question: 'Hyper over gRPC?',
    arguments: words('--engine hyper --transport grpc-* --decide-within 240'),
  },
  sail: {
    question: 'Sail, distributed: what crosses?',
    arguments: words(`100000000 --engine sail --engine-uri sail=sail:?workers=4
      --workload query.full_scan,query.filtered,query.aggregation --lane columnar`),
  },
};

/** The question that the runs of a kind answer. */
export function questionOf(kind) {
  const parts = Object.values(PUBLISHED).flatMap(({ parts = [] }) => parts);
  return parts.find((part) => part.kind === kind)?.question ?? PUBLISHED[kind].question;
}
