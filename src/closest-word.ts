/** The suggestion of a known word for a misspelt one. */

/** A clause that suggests the closest known word, `; did you mean sizes?`. Empty if none is close. */
export function suggestion(word: string, known: readonly string[]): string {
  const closest = closestWord(word, known);
  return closest === undefined ? '' : `; did you mean ${closest}?`;
}

/** The known word that is the closest to another word. `undefined` if none is close. */
function closestWord(word: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((value) => ({ value, distance: editDistance(word.toLowerCase(), value.toLowerCase()) }))
    .toSorted((a, b) => a.distance - b.distance);
  const best = ranked[0];
  return best !== undefined && best.distance <= Math.max(1, Math.ceil(word.length / 3)) ? best.value : undefined;
}

/** The fewest letters to insert, delete or replace to make one word the other. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(replaced, previous[j]! + 1, current[j - 1]! + 1));
    }
    previous = current;
  }
  return previous[b.length]!;
}
