// The clauses of an object's properties while these are written, in their order: which are fulfilled by what is written
// and left out so far, and whether the rest still can be. Whether they can is searched, by steps that are counted.
import type { StepBudget } from "../../../regex/limits.ts";
import type { Clause, Declared } from "../shapes.ts";

interface IndexedPresence {
  readonly index: number;
  readonly isThere: boolean;
}

/** A property's index to whether it is there. */
type Decided = ReadonlyMap<number, boolean>;

export class Together {
  readonly #clauses: readonly (readonly IndexedPresence[])[];
  readonly #budget: StepBudget;

  /** @param clauses whose names are all declared */
  constructor(declared: readonly Declared[], clauses: readonly Clause[], budget: StepBudget) {
    const indexes = new Map(declared.map(({ name }, index) => [name, index]));
    this.#clauses = clauses.map((clause) =>
      clause.map(({ name, isThere }) => ({ index: indexes.get(name) ?? -1, isThere })),
    );
    this.#budget = budget;
  }

  /** The clauses that nothing has fulfilled before the first property: all. */
  get all(): readonly number[] {
    return [...this.#clauses.keys()];
  }

  /**
   * Those of the open clauses that stay open when, of the properties from `position` on, the one at `written` is written
   * and those before it are left out.
   */
  stillOpen(open: readonly number[], position: number, written: number): readonly number[] {
    return open.filter(
      (clause) =>
        !this.#clauses[clause].some(
          ({ index, isThere }) => index >= position && index <= written && isThere === (index === written),
        ),
    );
  }

  /** Whether the open clauses hold where no property from `position` on is written. */
  holdAtEnd(open: readonly number[], position: number): boolean {
    return open.every((clause) =>
      this.#clauses[clause].some(({ index, isThere }) => index >= position && !isThere),
    );
  }

  /** Whether the clauses hold of an object with the properties of these indexes. */
  hold(isThere: (index: number) => boolean): boolean {
    return this.#clauses.every((clause) => clause.some((one) => isThere(one.index) === one.isThere));
  }

  /**
   * Whether the open clauses can be fulfilled by the properties from `position` on.
   *
   * @param presence of a property that must be there, or must not; null for one that may be either
   */
  canHold(open: readonly number[], position: number, presence: (index: number) => boolean | null): boolean {
    if (open.length === 0) return true;
    const decided = new Map<number, boolean>();
    const clauses = open.map((clause) => this.#clauses[clause].filter(({ index }) => index >= position));
    for (const { index } of clauses.flat()) {
      const known = presence(index);
      if (known !== null) decided.set(index, known);
    }
    return this.#isPossible(clauses, decided);
  }

  #isPossible(clauses: readonly (readonly IndexedPresence[])[], before: Decided): boolean {
    const decided = new Map(before);
    let left = clauses;
    for (let count = -1; count !== decided.size;) {
      count = decided.size;
      this.#budget.spend(1 + (left.length >>> 3));
      left = left.filter((clause) => !isHeld(clause, decided));
      for (const clause of left) {
        if (isHeld(clause, decided)) continue;
        const [free, ...more] = clause.filter(({ index }) => !decided.has(index));
        if (free === undefined) return false;
        if (more.length === 0) decided.set(free.index, free.isThere);
      }
    }
    const free = left[0]?.find(({ index }) => !decided.has(index));
    if (free === undefined) return true;
    return [free.isThere, !free.isThere].some((isThere) =>
      this.#isPossible(left, new Map(decided).set(free.index, isThere)),
    );
  }
}

const isHeld = (clause: readonly IndexedPresence[], decided: Decided): boolean =>
  clause.some(({ index, isThere }) => decided.get(index) === isThere);
