// Finds the name that a misspelled name probably stands for.

/**
 * Returns the name closest to `typed`, by the number of wrong, missing, extra and swapped letters; null if no name is
 * close enough.
 */
export function closestName(typed: string, names: Iterable<string>): string | null {
  const wanted = typed.slice(0, lengthMax).toLowerCase();
  let best: string | null = null;
  // The shorter the name, the fewer mistakes are allowed.
  let bestDistance = Math.min(3, Math.floor(wanted.length / 3)) + 1;
  for (const name of names) {
    const distance = distanceBetween(wanted, name.slice(0, lengthMax).toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [name, distance];
  }
  return best;
}

/** Maximum number of characters of a name that are compared, from its beginning. */
const lengthMax = 64;

/** Returns the Damerau-Levenshtein distance, in which only adjacent letters can be swapped. */
function distanceBetween(one: string, other: string): number {
  let [before, row]: [number[], number[]] = [
    [],
    Array.from({ length: other.length + 1 }, (_, index) => index),
  ];
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const isSame = one[i - 1] === other[j - 1];
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      next[j] = Math.min(
        row[j] + 1,
        next[j - 1] + 1,
        row[j - 1] + (isSame ? 0 : 1),
        isSwapped ? before[j - 2] + 1 : Infinity,
      );
    }
    [before, row] = [row, next];
  }
  return row[other.length];
}
