// Ends a text at a stop string, and shows nothing that might turn out to be the beginning of one. Knows no tokens; fed
// with one token's text at a time, its answer does not depend on how tokens arrive.

export interface StopScanner {
  /**
   * Takes new text; returns what may be shown, and the stop string that ended the text, if one did. Not to be called after
   * that. A stop string that is completed where `mayEnd` is false is text like any other.
   */
  push(
    text: string,
    options: { readonly mayEnd: boolean },
  ): { readonly text: string; readonly matched: string | null };
  /** What was held back, when the text ends for another reason. */
  flush(): string;
}

export interface StopRule {
  /** None of them empty. */
  readonly stops: readonly string[];
  /** Cuts the text after the stop string instead of before it. */
  readonly includesStop: boolean;
}

/**
 * Makes scanners for any number of texts that one rule ends. The stop string that is completed first wins, then the one that
 * is listed first. Unless the stop string is shown too, the last (longest stop string - 1) characters are held back.
 */
export function stopScanners({ stops, includesStop }: StopRule): () => StopScanner {
  // Half a character is in no text, though in the units of one.
  const patterns = stops.filter((stop) => !/\p{Surrogate}/u.test(stop)).map((stop) => new StopPattern(stop));
  const longest = stops.reduce((count, stop) => Math.max(count, characterCount(stop)), 1);
  return () => createStopScanner(patterns, { includesStop, heldCount: includesStop ? 0 : longest - 1 });
}

function createStopScanner(
  patterns: readonly StopPattern[],
  options: { readonly includesStop: boolean; readonly heldCount: number },
): StopScanner {
  /** How much of each stop string the text ends with, in UTF-16 units. */
  const begun = patterns.map(() => 0);
  let held = "";

  const advance = (unit: number): StopPattern | null => {
    let completed: StopPattern | null = null;
    for (let index = 0; index < patterns.length; index++) {
      const pattern = patterns[index];
      begun[index] = pattern.advance(begun[index], unit);
      if (begun[index] === pattern.text.length) completed ??= pattern;
    }
    return completed;
  };
  return {
    push: (text, { mayEnd }) => {
      const all = held + text;
      for (let at = 0; at < text.length; at++) {
        const completed = advance(text.charCodeAt(at));
        if (completed === null || !mayEnd) continue;
        const end = held.length + at + 1;
        held = "";
        const matched = completed.text;
        return { text: all.slice(0, options.includesStop ? end : end - matched.length), matched };
      }
      const cut = lastCharacters(all, options.heldCount);
      held = all.slice(cut);
      return { text: all.slice(0, cut), matched: null };
    },
    flush: () => {
      const rest = held;
      held = "";
      return rest;
    },
  };
}

/** Finds a text in others by Knuth, Morris and Pratt's algorithm (SIAM J. Comput. 6(2), 1977): no unit is looked at twice. */
class StopPattern {
  readonly text: string;
  /** Of each beginning of the text, the length of the longest shorter one that it ends with; as far as was needed. */
  readonly #borders: number[] = [0];

  constructor(text: string) {
    this.text = text;
  }

  /** How much of the text is there after one more unit, if `begun` of it was before. */
  advance(begun: number, unit: number): number {
    let length = begun;
    while (length > 0 && this.text.charCodeAt(length) !== unit) length = this.#border(length);
    return this.text.charCodeAt(length) === unit ? length + 1 : 0;
  }

  #border(length: number): number {
    for (let end = this.#borders.length; end < length; end++) {
      this.#borders.push(this.advance(this.#borders[end - 1], this.text.charCodeAt(end)));
    }
    return this.#borders[length - 1];
  }
}

function characterCount(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) if (!isLowSurrogate(text, at)) count += 1;
  return count;
}

/** Where the last so many characters begin; never between the halves of a surrogate pair, which cannot be sent alone. */
function lastCharacters(text: string, count: number): number {
  let cut = text.length;
  for (let left = count; left > 0 && cut > 0; left--) cut -= isLowSurrogate(text, cut - 1) ? 2 : 1;
  return Math.max(0, cut);
}

function isLowSurrogate(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00;
}
