// Tracks the clauses of an object while its properties are written in order: which clauses are satisfied so far, and
// whether the remaining properties can satisfy the open ones. The check of open clauses is a search, whose steps count
// towards the budget.
import type { StepBudget } from "../../../regex/limits.ts";
import type { Clause, Declared } from "../shapes.ts";

interface IndexedPresence {
  readonly index: number;
  readonly isThere: boolean;
}

/** Decisions so far, by the property's index: true if the property is present, false if it is absent. */
type Decided = ReadonlyMap<number, boolean>;

export class PropertyClauses {
  readonly #clauses: readonly (readonly IndexedPresence[])[];
  readonly #budget: StepBudget;

  /** @param clauses clauses about declared properties only */
  constructor(declared: readonly Declared[], clauses: readonly Clause[], budget: StepBudget) {
    const indexes = new Map(declared.map(({ name }, index) => [name, index]));
    this.#clauses = clauses.map((clause) =>
      clause.map(({ name, isThere }) => ({ index: indexes.get(name) ?? -1, isThere })),
    );
    this.#budget = budget;
  }

  /** Indexes of all clauses. Before the first property, all of them are open. */
  get all(): readonly number[] {
    return [...this.#clauses.keys()];
  }

  /**
   * Returns the open clauses that remain open after the property at `written`, if the properties from `position` up to
   * it are left out.
   */
  stillOpen(open: readonly number[], position: number, written: number): readonly number[] {
    return open.filter(
      (clause) =>
        !this.#clauses[clause].some(
          ({ index, isThere }) => index >= position && index <= written && isThere === (index === written),
        ),
    );
  }

  /** True if the open clauses hold for an object without the properties from `position` on. */
  holdAtEnd(open: readonly number[], position: number): boolean {
    return open.every((clause) =>
      this.#clauses[clause].some(({ index, isThere }) => index >= position && !isThere),
    );
  }

  /**
   * True if all clauses hold for an object with the given properties.
   *
   * @param isThere returns true if the object has the property with this index
   */
  hold(isThere: (index: number) => boolean): boolean {
    return this.#clauses.every((clause) => clause.some((one) => isThere(one.index) === one.isThere));
  }

  /**
   * True if the properties from `position` on can satisfy the open clauses.
   *
   * @param presence returns true if a property must be present, false if it must be absent, and null if it may be
   * either
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
