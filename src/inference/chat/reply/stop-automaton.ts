// Finds many texts in others at once, by the automaton of Aho and Corasick (Commun. ACM 18(6), 1975): a unit of a text costs
// the same whether one stop string is looked for or a thousand. It is made as far as texts lead into it, and made again where
// they led far: stop strings may have millions of characters.

/** How far a text has come. */
export interface StopState {
  /** The stop string that ends here; of several the one that is listed first. */
  readonly completed: string | null;
}

/** A prefix of stop strings: the longest that the text ends with. */
class Prefix implements StopState {
  /** The stop strings that begin so are those of the sorted list from `first` up to `end`. */
  readonly first: number;
  readonly end: number;
  /** In UTF-16 units. */
  readonly length: number;
  /** The longest shorter prefix that this one ends with; null for the empty one. */
  shorter: Prefix | null = null;
  readonly longer = new Map<number, Prefix>();
  /** The place of `completed` in the list as it was given. */
  place = Infinity;
  completed: string | null = null;

  constructor(first: number, end: number, length: number) {
    this.first = first;
    this.end = end;
    this.length = length;
  }
}

/** So many prefixes are kept, beside those that texts stand at. */
const keptCountMax = 1 << 16;

export class StopAutomaton {
  /** By their units, equal ones in the order of the list: what begins alike stands together. */
  readonly #sorted: readonly { readonly text: string; readonly place: number }[];
  readonly #start: Prefix;
  readonly #keptCountMax: number;
  /** Whatever leads to a longer one, once for each. */
  #kept: Prefix[] = [];

  /** @param stops none of them empty */
  constructor(stops: readonly string[], options = { keptCountMax }) {
    this.#keptCountMax = options.keptCountMax;
    this.#sorted = stops
      .map((text, place) => ({ text, place }))
      .sort((one, other) =>
        one.text < other.text ? -1 : one.text > other.text ? 1 : one.place - other.place,
      );
    this.#start = new Prefix(0, stops.length, 0);
  }

  /** Where every text begins. */
  get start(): StopState {
    return this.#start;
  }

  /**
   * Where the text is after one more UTF-16 unit.
   *
   * @param state of this automaton
   */
  advance(state: StopState, unit: number): StopState {
    // Every state of this automaton came from here.
    let prefix: Prefix | null = state as Prefix;
    if (this.#kept.length >= this.#keptCountMax) this.#forget();
    for (; prefix !== null; prefix = prefix.shorter) {
      const longer = prefix.longer.get(unit) ?? this.#grow(prefix, unit);
      if (longer !== null) return longer;
    }
    return this.#start;
  }

  /** Makes the prefix that is one unit longer, and those that it ends with; null where no stop string begins so. */
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

  /** Without what it ends with. */
  #longer(before: Prefix, unit: number): Prefix | null {
    const first = this.#firstFrom(before, unit);
    const end = this.#firstFrom(before, unit + 1);
    if (first === end) return null;
    const longer = new Prefix(first, end, before.length + 1);
    before.longer.set(unit, longer);
    this.#kept.push(before);
    return longer;
  }

  /** A text goes on from where it stands, which knows what it ends with, and makes the rest again. */
  #forget(): void {
    for (const { longer } of this.#kept) longer.clear();
    this.#kept = [];
  }

  #complete(prefix: Prefix, shorter: Prefix): void {
    // The shortest of what begins alike, and of equal ones the first of the list.
    const { text, place } = this.#sorted[prefix.first];
    const isWhole = text.length === prefix.length && place < shorter.place;
    prefix.place = isWhole ? place : shorter.place;
    prefix.completed = isWhole ? text : shorter.completed;
  }

  /** The first stop string of the prefix whose next unit is at least this one. */
  #firstFrom({ first, end, length }: Prefix, unit: number): number {
    let low = first;
    let high = end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const { text } = this.#sorted[middle];
      // One that has no next unit comes before all others.
      if (length < text.length && text.charCodeAt(length) >= unit) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
