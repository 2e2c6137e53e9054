export const PUBLISHED: Readonly<Record<string, { readonly arguments?: readonly string[]; readonly script?: string }>>;
