/** The environment variables of API keys, by the kind of server; used if the server's URL contains none. */
export const API_KEY_VARIABLES = { rest: 'REST_API_KEY', ingest: 'INGEST_API_KEY', shards: 'SHARDS_API_KEY' } as const;

/** The API key for requests to a kind of server. */
export function apiKeyOf(kind: string): string | undefined {
  return Object.hasOwn(API_KEY_VARIABLES, kind)
    ? process.env[API_KEY_VARIABLES[kind as keyof typeof API_KEY_VARIABLES]]
    : undefined;
}
