// Computes the shapes of goals: reads the keywords of a goal's schemas one after the other, and intersects their
// shapes. Shapes are computed on demand and cached.
import { ConstraintRefusal, limitExceeded, readAt } from "../../regex/limits.ts";
import type { SchemaDocument, SchemaPlace } from "./document.ts";
import { complementShapes } from "./complement.ts";
import { FewValues } from "./few-values.ts";
import { Goals, noValue } from "./goals.ts";
import type { Goal } from "./goals.ts";
import { simplifyUnion } from "./alternatives.ts";
import { intersectShapes } from "./intersect.ts";
import type { Algebra } from "./alternatives.ts";
import { readKeywords } from "./keywords/read-keywords.ts";
import type { Keyword } from "./keywords/keyword.ts";
import { checkNegation, clearEvaluated, withUnevaluated } from "./keywords/unevaluated.ts";
import { allShapes } from "./shapes.ts";
import type { Shape } from "./shapes.ts";
import { Texts } from "./texts.ts";
import type { Compilation } from "../compilation.ts";

export class Meanings implements Algebra {
  readonly document: SchemaDocument;
  readonly compilation: Compilation;
  readonly goals: Goals;
  readonly texts: Texts;
  readonly fewValues: FewValues;
  readonly #ofGoals = new Map<Goal, readonly Shape[]>();
  readonly #keywords = new Map<SchemaPlace, readonly Keyword[]>();
  readonly #ofPlaces = new Map<SchemaPlace, readonly Shape[]>();
  readonly #besidePlaces = new Map<SchemaPlace, readonly Shape[]>();
  readonly #pending = new Set<SchemaPlace>();

  constructor(document: SchemaDocument, compilation: Compilation) {
    this.document = document;
    this.compilation = compilation;
    this.goals = new Goals(document);
    this.texts = new Texts(compilation);
    this.fewValues = new FewValues(this);
  }

  /** Returns the shapes of the values that satisfy the goal. */
  shapes(goal: Goal): readonly Shape[] {
    const known = this.#ofGoals.get(goal);
    if (known !== undefined) return known;
    const shapes = this.at(goal, () => {
      const forms = this.goals
        .literals(goal)
        .map(({ place, isNegated }) => (isNegated ? this.excluding(place) : this.satisfying(place)));
      return goal === noValue ? [] : this.intersection(forms);
    });
    this.#ofGoals.set(goal, shapes);
    return shapes;
  }

  /** Returns the shapes of the values that satisfy a schema. */
  satisfying(place: SchemaPlace): readonly Shape[] {
    const known = this.#ofPlaces.get(place);
    if (known !== undefined) return known;
    const shapes = this.#guarded(place, () => {
      const [first, ...more] = this.#keywordsOf(place);
      const shapes = more.reduce(
        (sofar, { satisfying, pointer }) =>
          this.#inKeyword(pointer, () => intersectShapes(this, sofar, satisfying())),
        first === undefined ? this.intersection([]) : this.#inKeyword(first.pointer, first.satisfying),
      );
      return withUnevaluated(this, place, shapes);
    });
    this.#ofPlaces.set(place, shapes);
    return shapes;
  }

  /** Returns the shapes of the values that violate a schema. */
  excluding(place: SchemaPlace): readonly Shape[] {
    const known = this.#besidePlaces.get(place);
    if (known !== undefined) return known;
    checkNegation(place);
    const shapes = this.#guarded(place, () =>
      this.union(
        this.#keywordsOf(place).map(({ satisfying, excluding, pointer }) =>
          this.#inKeyword(pointer, excluding ?? (() => complementShapes(this, satisfying(), pointer))),
        ),
      ).map((shape) => clearEvaluated(shape)),
    );
    this.#besidePlaces.set(place, shapes);
    return shapes;
  }

  intersection(forms: readonly (readonly Shape[])[]): readonly Shape[] {
    if (forms.length === 0) return allShapes(this.texts.anyBody);
    return forms.reduce((sofar, form) => intersectShapes(this, sofar, form));
  }

  union(forms: readonly (readonly Shape[])[]): readonly Shape[] {
    return simplifyUnion(this, forms.flat());
  }

  /** Runs a computation for a goal. If it exceeds a limit, adds the goal's location to the refusal. */
  at<T>(goal: Goal, read: () => T): T {
    const [literal] = this.goals.literals(goal);
    return readAt(this.compilation.limits, { place: literal?.place.pointer ?? "" }, read);
  }

  #inKeyword<T>(pointer: string, read: () => T): T {
    const keyword = pointer.slice(pointer.lastIndexOf("/") + 1);
    return readAt(this.compilation.limits, { place: pointer, keyword }, read);
  }

  #keywordsOf(place: SchemaPlace): readonly Keyword[] {
    const keywords = this.#keywords.get(place) ?? readKeywords(this, place);
    this.#keywords.set(place, keywords);
    return keywords;
  }

  #guarded(place: SchemaPlace, read: () => readonly Shape[]): readonly Shape[] {
    if (this.#pending.has(place)) throw circularReference(place);
    if (this.#pending.size > this.compilation.limits.nesting)
      throw limitExceeded("nesting", this.compilation.limits.nesting, place.pointer);
    this.#pending.add(place);
    try {
      return read();
    } finally {
      this.#pending.delete(place);
    }
  }
}

function circularReference({ pointer }: SchemaPlace): ConstraintRefusal {
  return new ConstraintRefusal({
    kind: "malformed",
    subject: "$ref",
    place: pointer,
    message: `The schema at ${pointer} refers to itself without a property or an item in between.`,
  });
}
