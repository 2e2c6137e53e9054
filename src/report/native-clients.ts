/**
 * Clients of the side `js` that are native addons themselves, by the beginning of their variants: who uses one does not stay in
 * JavaScript.
 */
const NATIVE_CLIENTS = ['@duckdb/node-api', '@valkey/valkey-glide'];

/** Whether the client of a cell is native code of others. */
export function isNativeClient({ variant }: { readonly variant: string }): boolean {
  return NATIVE_CLIENTS.some((name) => variant.startsWith(name));
}
