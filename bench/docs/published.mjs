/**
 * The committed runs, by their kinds: the arguments of `bench/benchmark.mjs`, or a script of bench/lab with its own arguments. A run of
 * several parts becomes one file per part, with the arguments of bench/lab/compact-run.mjs.
 */
import { MAIN } from './runs.mjs';

const words = (text) => text.split(' ');

export const PUBLISHED = {
  [MAIN]: { arguments: words('10000000') },
  memory: { arguments: words('10000000 --engine memory,apache-arrow,flechette') },
  method: { script: 'bench/lab/method.mjs', arguments: words('--runs 3') },
  ladder: { script: 'bench/lab/ladder.mjs' },
  alone: { script: 'bench/lab/alone.mjs' },
  workers: {
    arguments: words(
      '10000000 --workload insert.bulk,query.full_scan --lane columns,columnar,cursor --engine embedded,memory --workers 1,2,4',
    ),
  },
  boundary: {
    arguments: words('--family boundary,codec --decide-within 240'),
    parts: [
      { kind: 'boundary', compact: ['--family', 'boundary'] },
      { kind: 'codec', compact: ['--family', 'codec'] },
    ],
  },
  model: {
    arguments: words('--family boundary --workload bytes_*,text_in.*,text_out.*,rows_* --decide-within 240'),
    parts: [{ kind: 'model', compact: ['--model'] }],
  },
  runtimes: {
    arguments: words(
      '--family boundary --workload nothing,numbers,text_in.short,bytes_in.4096,callback --lane call,view --runtime node@22,node@26,bun,deno --decide-within 240',
    ),
  },
  kv: { arguments: words('--family kv --peers --decide-within 240') },
  sql: { arguments: words('--family sql --peers --decide-within 240') },
  rest: { arguments: words('--family rest --peers --decide-within 240') },
  'all-cores': {
    arguments: words(
      '--family kv,sql --workload get,set,select_pk,oltp_point_select --lane call,batch --side rust,napi --engine redis,mysql --connections 32 --batch 1,64 --all --decide-within 240',
    ),
  },
  callers: {
    arguments: words(
      '--family kv,sql --workload get,select_pk --lane call --side napi,js --engine redis,mysql --peers --connections 1,8 --decide-within 240',
    ),
  },
  processes: {
    arguments: words(
      '--family kv,sql --workload get,oltp_point_select --lane call --side rust,napi --engine redis,mysql --connections 32 --batch 1 --processes 2 --decide-within 240',
    ),
  },
  'redis-cluster': {
    arguments: words(
      '--family kv --engine redis-cluster --workload get,mget,mset --connections 32 --batch 1,64 --decide-within 240',
    ),
  },
  builds: { script: 'bench/lab/builds.mjs' },
  own: { script: 'bench/lab/own-packages.mjs' },
  peers: { script: 'bench/lab/peers.mjs' },
  mitata: { script: 'bench/lab/mitata.mjs' },
  ceiling: { script: 'bench/lab/ceiling.mjs' },
  'offered-load': { script: 'bench/lab/offered-load.mjs' },
  hybrid: { arguments: words('--family hybrid --decide-within 240') },
  'hybrid-crossover': { script: 'bench/lab/hybrid-crossover.mjs', compact: true },
  ingest: { arguments: words('--family ingest --decide-within 240') },
  flight: { arguments: words('--engine flight --decide-within 240') },
  mysql: { arguments: words('--engine mysql --decide-within 240') },
  hyper: { arguments: words('4000000 --engine hyper --transport tcp,ipc --decide-within 240') },
  'hyper-grpc': { arguments: words('--engine hyper --transport grpc-* --decide-within 240') },
  sail: {
    arguments: words(
      '100000000 --engine sail --engine-uri sail=sail:?workers=4 --workload query.full_scan,query.filtered,query.aggregation --lane columnar',
    ),
  },
};
