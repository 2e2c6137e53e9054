/** The origin of a committed file. */
export interface Provenance {
  readonly commit: string;
  /** The command that measures it again. */
  readonly command: string;
}

/** The paths of the method that changed since a commit, or why that can't be told. */
export type Changes = { readonly changed: readonly string[] } | { readonly unknown: string };

interface Sources {
  readonly changesOf?: (commit: string) => Changes;
  readonly provenance?: (name: string) => Provenance;
}

export const METHOD_PATHS: readonly string[];
export function changedSince(
  commit: string,
  options?: {
    readonly kind?: string;
    readonly root?: string;
    readonly harmless?: readonly { readonly commit: string; readonly kinds?: readonly string[] }[];
  },
): Changes;
export function staleRuns(shown: readonly string[], sources?: Sources): string[];
export function whyUnknown(shown: readonly string[]): string | undefined;
export function requireOneCommit(name: string, text: string, files: readonly string[], sources?: Sources): void;
