type Versions = Readonly<Record<string, string>>;

/** The software that two runs know in different versions, one phrase each: `node 20.19.0 and 22.1.0`. */
export function versionDifferences(before: Versions, after: Versions): string[] {
  return Object.entries(after)
    .filter(([name, version]) => before[name] !== undefined && before[name] !== version)
    .map(([name, version]) => `${name} ${before[name]} and ${version}`);
}
