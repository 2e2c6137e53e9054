/** The other clients from npm of the side `js`, by the packages in their variants: native addons of others, or JavaScript. */
const NATIVE = /@duckdb\/node-|@valkey\/valkey-glide|hyperdb-api-node|nodejs-polars/;
const JAVASCRIPT =
  /ioredis|@redis\/client|mysql2|mariadb|undici|@grpc\/grpc-js|apache-arrow|flechette|msgpackr|sorted-btree|sql-parser|sql-ast-parser|JavaScript|DataView/;

type Client = { readonly side: string; readonly variant: string };

/** Whether the client of a cell is known to be native code of others. */
export function isNativeClient({ side, variant }: Client): boolean {
  return side === 'js' && NATIVE.test(variant);
}

/** Whether who takes the client of a cell stays in JavaScript. A client of the user's may be anything. */
export function isJavaScriptClient(cell: Client): boolean {
  return cell.side === 'js' && !isNativeClient(cell) && JAVASCRIPT.test(cell.variant);
}
