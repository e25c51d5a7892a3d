// Ends a text at a stop string, and holds back the end of the text if it may be the beginning of a stop string. Works
// on text, not on tokens; the result does not depend on how the text is split.

export interface StopScanner {
  /**
   * Takes new text. Returns the text that may be shown, and the stop string that ended the text (null if none did).
   * Must not be called after a stop string has ended the text.
   *
   * @param mayEnd if false, a stop string that is completed here counts as ordinary text
   */
  push(
    text: string,
    options: { readonly mayEnd: boolean },
  ): { readonly text: string; readonly matched: string | null };
  /** Returns the text that was held back. Must be called when the text ends without a stop string. */
  flush(): string;
}

export interface StopRule {
  /** Stop strings, each non-empty. */
  readonly stops: readonly string[];
  /** True if the stop string itself is part of the text; false if the text is cut before it. */
  readonly includesStop: boolean;
}

/**
 * Returns a factory of scanners with the same rule. The stop string that is completed first ends the text; if several
 * are completed together, the first in the list counts. If stop strings are not shown, scanners hold back one character
 * less than the longest stop string has.
 */
export function stopScanners({ stops, includesStop }: StopRule): () => StopScanner {
  const longest = stops.reduce((count, stop) => Math.max(count, characterCount(stop)), 1);
  const options = { includesStop, heldCountMax: includesStop ? 0 : longest - 1 };
  // Leaves out stop strings with an unpaired surrogate. They must never match, but their UTF-16 units could match half
  // of a surrogate pair.
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
 * Returns the length of the first `characters` characters in UTF-16 units. Never splits a surrogate pair, because its
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

// Searches texts for many stop strings at the same time, with the automaton of Aho and Corasick (Communications of the
// ACM, 1975). Its cost per UTF-16 unit does not depend on the number of stop strings. Because stop strings may have
// millions of characters, states are created only when needed, and discarded when there are too many.

/** State of a scan after some characters of its text. */
interface StopState {
  /**
   * Stop string that is complete at this position; if several are complete, the one that comes first in the caller's
   * list.
   */
  readonly completed: string | null;
}

/** State of the automaton: the longest end of the text so far that is the beginning of some stop string. */
class Prefix implements StopState {
  /**
   * Range of the sorted stop strings that begin with this prefix: index of the first one, and index after the last one.
   */
  readonly first: number;
  readonly end: number;
  /** Length of the prefix in UTF-16 units. */
  readonly length: number;
  /** The state for the longest proper suffix of this prefix that begins some stop string; null for the empty prefix. */
  shorter: Prefix | null = null;
  readonly longer = new Map<number, Prefix>();
  /** Index of `completed` in the caller's list; Infinity if no stop string is complete. */
  place = Infinity;
  completed: string | null = null;

  constructor(first: number, end: number, length: number) {
    this.first = first;
    this.end = end;
    this.length = length;
  }
}

/** Maximum number of cached prefixes. The current states of texts do not count. */
const keptCountMax = 1 << 16;

export class StopAutomaton {
  /**
   * Stop strings sorted by UTF-16 units, so that those with a common prefix are adjacent. Equal stop strings are in
   * the order of the caller's list.
   */
  readonly #sorted: readonly { readonly text: string; readonly place: number }[];
  readonly #start: Prefix;
  readonly #keptCountMax: number;
  /** Cached prefixes that lead to longer ones. A prefix occurs here once for each longer prefix. */
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
   * @param state a state that this automaton created
   */
  advance(state: StopState, unit: number): StopState {
    // Safe cast: this automaton creates only prefixes as states.
    let prefix: Prefix | null = state as Prefix;
    if (this.#kept.length >= this.#keptCountMax) this.#forget();
    for (; prefix !== null; prefix = prefix.shorter) {
      const longer = prefix.longer.get(unit) ?? this.#grow(prefix, unit);
      if (longer !== null) return longer;
    }
    return this.#start;
  }

  /**
   * Creates the prefix that is longer by one UTF-16 unit, and the shorter prefixes with which it ends. Returns null if
   * no stop string begins with it.
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

  /** Creates the prefix that is longer by one UTF-16 unit, without the shorter prefixes with which it ends. */
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
   * Clears the cache. Each text keeps its current state and the shorter prefixes to which it refers; later states are
   * created again.
   */
  #forget(): void {
    for (const { longer } of this.#kept) longer.clear();
    this.#kept = [];
  }

  #complete(prefix: Prefix, shorter: Prefix): void {
    // The first stop string in the range is the shortest one. Among equal ones, it is the first in the caller's list.
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
      // A stop string that ends at this position sorts before all longer ones.
      if (length < text.length && text.charCodeAt(length) >= unit) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
