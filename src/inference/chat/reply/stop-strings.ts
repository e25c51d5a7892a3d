// Ends a text at a stop string, and holds back any possible prefix of one. Works on text instead of tokens; the result
// does not depend on how the text is split.

export interface StopScanner {
  /**
   * Takes new text; returns the text that may be shown, and the stop string that ended the text, if any. Must not be
   * called after a stop string has ended the text. A stop string completed while `mayEnd` is false counts as ordinary
   * text.
   */
  push(
    text: string,
    options: { readonly mayEnd: boolean },
  ): { readonly text: string; readonly matched: string | null };
  /** Returns the held-back text; call when the text ends for another reason. */
  flush(): string;
}

export interface StopRule {
  /** Stop strings, each non-empty. */
  readonly stops: readonly string[];
  /** Cuts the text after the stop string instead of before it. */
  readonly includesStop: boolean;
}

/**
 * Returns a factory of scanners that share one rule. The stop string that is completed first wins; of those completed
 * together, the one listed first. Unless the stop string is shown too, the last (longest stop string - 1) characters
 * are held back.
 */
export function stopScanners({ stops, includesStop }: StopRule): () => StopScanner {
  const longest = stops.reduce((count, stop) => Math.max(count, characterCount(stop)), 1);
  const options = { includesStop, heldCountMax: includesStop ? 0 : longest - 1 };
  // A stop string with an unpaired surrogate is excluded: it must never match, although its UTF-16 units could.
  const automaton = new StopAutomaton(stops.filter((stop) => !/\p{Surrogate}/u.test(stop)));
  return () => createStopScanner(automaton, options);
}

function createStopScanner(
  automaton: StopAutomaton,
  { includesStop, heldCountMax }: { readonly includesStop: boolean; readonly heldCountMax: number },
): StopScanner {
  let state: StopState = automaton.start;
  let held = "";
  let heldCount = 0;
  return {
    push: (text, { mayEnd }) => {
      const all = held + text;
      for (let at = 0; at < text.length; at++) {
        state = automaton.advance(state, text.charCodeAt(at));
        if (state.completed === null || !mayEnd) continue;
        const matched = state.completed;
        const end = held.length + at + 1;
        held = "";
        return { text: all.slice(0, includesStop ? end : end - matched.length), matched };
      }
      const count = heldCount + characterCount(text);
      heldCount = Math.min(count, heldCountMax);
      const cut = lengthOf(all, count - heldCount);
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

function characterCount(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) if (!isLowSurrogate(text, at)) count += 1;
  return count;
}

/**
 * Returns the length of the first `characters` characters, in UTF-16 units. Never splits a surrogate pair, since its
 * halves cannot be sent separately.
 */
function lengthOf(text: string, characters: number): number {
  let length = 0;
  for (let left = characters; left > 0; left--) length += isLowSurrogate(text, length + 1) ? 2 : 1;
  return length;
}

function isLowSurrogate(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00;
}

// Searches texts for many stop strings simultaneously with the automaton of Aho and Corasick (Commun. ACM 18(6),
// 1975): the cost per UTF-16 unit does not depend on the number of stop strings. Since stop strings may have millions
// of characters, states are built lazily, and discarded when there are too many.

/** State of scanning one text. */
interface StopState {
  /** The stop string that is complete at this position; if several are, the one listed first. */
  readonly completed: string | null;
}

/** State of the automaton: the longest prefix of any stop string with which the text ends. */
class Prefix implements StopState {
  /** Range of the sorted stop strings that begin with this prefix; `end` is exclusive. */
  readonly first: number;
  readonly end: number;
  /** Length of the prefix in UTF-16 units. */
  readonly length: number;
  /** The longest shorter prefix with which this prefix ends; null for the empty prefix. */
  shorter: Prefix | null = null;
  readonly longer = new Map<number, Prefix>();
  /** Index of `completed` in the caller's list. */
  place = Infinity;
  completed: string | null = null;

  constructor(first: number, end: number, length: number) {
    this.first = first;
    this.end = end;
    this.length = length;
  }
}

/** Maximum number of cached prefixes, not counting the current states of texts. */
const keptCountMax = 1 << 16;

export class StopAutomaton {
  /**
   * Stop strings sorted by UTF-16 units, so that those with a common prefix are adjacent; equal ones keep their order
   * in the list.
   */
  readonly #sorted: readonly { readonly text: string; readonly place: number }[];
  readonly #start: Prefix;
  readonly #keptCountMax: number;
  /** Cached prefixes that lead to longer ones; a prefix occurs once for each longer one. */
  #kept: Prefix[] = [];

  /** @param stops non-empty strings */
  constructor(stops: readonly string[], options = { keptCountMax }) {
    this.#keptCountMax = options.keptCountMax;
    this.#sorted = stops
      .map((text, place) => ({ text, place }))
      .sort((one, other) =>
        one.text < other.text ? -1 : one.text > other.text ? 1 : one.place - other.place,
      );
    this.#start = new Prefix(0, stops.length, 0);
  }

  /** The state at the start of a text. */
  get start(): StopState {
    return this.#start;
  }

  /**
   * Returns the state after one more UTF-16 unit.
   *
   * @param state of this automaton
   */
  advance(state: StopState, unit: number): StopState {
    // The cast is safe: this automaton creates only prefixes as states.
    let prefix: Prefix | null = state as Prefix;
    if (this.#kept.length >= this.#keptCountMax) this.#forget();
    for (; prefix !== null; prefix = prefix.shorter) {
      const longer = prefix.longer.get(unit) ?? this.#grow(prefix, unit);
      if (longer !== null) return longer;
    }
    return this.#start;
  }

  /**
   * Creates the prefix that is longer by this unit, and the shorter prefixes with which it ends; null if no stop
   * string begins with it.
   */
  #grow(from: Prefix, unit: number): Prefix | null {
    const made: Prefix[] = [];
    let shorter: Prefix | null = null;
    for (let before: Prefix | null = from; before !== null; before = before.shorter) {
      const known = before.longer.get(unit);
      if (known !== undefined) {
        shorter = known;
        break;
      }
      const prefix = this.#longer(before, unit);
      if (prefix !== null) made.push(prefix);
      else if (made.length === 0) return null;
    }
    shorter ??= this.#start;
    for (const prefix of made.reverse()) {
      prefix.shorter = shorter;
      this.#complete(prefix, shorter);
      shorter = prefix;
    }
    return shorter;
  }

  /** Creates the longer prefix, without the shorter prefixes with which it ends. */
  #longer(before: Prefix, unit: number): Prefix | null {
    const first = this.#firstFrom(before, unit);
    const end = this.#firstFrom(before, unit + 1);
    if (first === end) return null;
    const longer = new Prefix(first, end, before.length + 1);
    before.longer.set(unit, longer);
    this.#kept.push(before);
    return longer;
  }

  /**
   * Clears the cache. A text keeps its current state, which refers to its shorter prefixes; later states are created
   * again.
   */
  #forget(): void {
    for (const { longer } of this.#kept) longer.clear();
    this.#kept = [];
  }

  #complete(prefix: Prefix, shorter: Prefix): void {
    // The first stop string of the range is the shortest and, among equal ones, the first of the list.
    const { text, place } = this.#sorted[prefix.first];
    const isWhole = text.length === prefix.length && place < shorter.place;
    prefix.place = isWhole ? place : shorter.place;
    prefix.completed = isWhole ? text : shorter.completed;
  }

  /** Returns the index, within the prefix's range, of the first stop string whose next unit is at least `unit`. */
  #firstFrom({ first, end, length }: Prefix, unit: number): number {
    let low = first;
    let high = end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const { text } = this.#sorted[middle];
      // A stop string without a next unit sorts before all others.
      if (length < text.length && text.charCodeAt(length) >= unit) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
