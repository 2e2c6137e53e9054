/** Whether a text is well-formed Unicode: without lone surrogates, which UTF-8 can't hold. */
export function isWellFormed(text: string): boolean {
  // The method exists in every supported version of Node, but only in later libraries of TypeScript than ours.
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}
