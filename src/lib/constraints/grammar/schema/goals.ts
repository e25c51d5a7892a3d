// Goals: requirements on a value, as small integers. Each goal is a conjunction of schemas, some of them negated.
// Equal conjunctions have the same number and there are finitely many, so the compilation of recursive schemas
// terminates.
import type { SchemaDocument, SchemaPlace } from "./document.ts";
import { isObject } from "./document.ts";

export type Goal = number;

/** Goal that any value satisfies. */
export const anyValue: Goal = 0;
/** Goal that no value satisfies. */
export const noValue: Goal = 1;

/** A schema that a value must, or must not, satisfy. */
export interface Literal {
  readonly place: SchemaPlace;
  readonly isNegated: boolean;
}

export class Goals {
  readonly #document: SchemaDocument;
  /**
   * For each goal, the literals of its conjunction, as numbers: twice the index of the schema, plus one if it is
   * negated.
   */
  readonly #conjunctions: (readonly number[])[] = [[], []];
  readonly #known = new Map<string, Goal>([["", anyValue]]);

  constructor(document: SchemaDocument) {
    this.#document = document;
  }

  of(place: SchemaPlace, isNegated = false): Goal {
    const { schema, index } = place;
    if (schema === true || (isObject(schema) && Object.keys(schema).length === 0))
      return isNegated ? noValue : anyValue;
    if (schema === false) return isNegated ? anyValue : noValue;
    return this.#intern([index * 2 + (isNegated ? 1 : 0)]);
  }

  literals(goal: Goal): readonly Literal[] {
    return this.#conjunctions[goal].map((number) => ({
      place: this.#document.at(number >>> 1),
      isNegated: number % 2 === 1,
    }));
  }

  and(one: Goal, other: Goal): Goal {
    if (one === noValue || other === noValue) return noValue;
    if (one === anyValue || one === other) return other;
    if (other === anyValue) return one;
    const numbers = new Set([...this.#conjunctions[one], ...this.#conjunctions[other]]);
    for (const number of numbers) if (numbers.has(number ^ 1)) return noValue;
    return this.#intern([...numbers].sort((first, second) => first - second));
  }

  /** True if each value that satisfies `one` is known to satisfy `other`. */
  implies(one: Goal, other: Goal): boolean {
    if (one === other || one === noValue || other === anyValue) return true;
    return (
      other !== noValue &&
      this.#conjunctions[other].every((number) => this.#conjunctions[one].includes(number))
    );
  }

  /** Returns goals whose union is the complement of the given goal. */
  not(goal: Goal): readonly Goal[] {
    if (goal === noValue) return [anyValue];
    return this.#conjunctions[goal].map((number) => this.#intern([number ^ 1]));
  }

  #intern(numbers: readonly number[]): Goal {
    const key = numbers.join(",");
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    this.#conjunctions.push(numbers);
    this.#known.set(key, this.#conjunctions.length - 1);
    return this.#conjunctions.length - 1;
  }
}
